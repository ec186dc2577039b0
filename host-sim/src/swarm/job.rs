//! Check of diffusing jobs: the end of each is announced to all boards, and not before all work is done, by their logs.
//!
//! A board logs how many units it has done when it is notified that a job is over. If a board still worked, or work
//! was in flight, the boards would have done fewer units than were begun.

use super::report::NodeReport;
use crate::base::Micros;
use crate::check::Finding;
use firmware::demo::schedule::JOB_UNITS;
use firmware::report::JobReport;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Jobs {
    /// The starts of jobs: node and time.
    pub begun: Vec<(u32, Micros)>,
    /// The jobs whose end was announced, by number.
    pub ended: BTreeMap<u32, Job>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Job {
    pub by: u32,
    pub waves: u32,
    /// When the first node was notified.
    pub at: Micros,
    /// The units that each notified node had done by then, of this job and those before.
    pub done: BTreeMap<u32, u32>,
}

impl Job {
    fn units(&self) -> u32 {
        self.done.values().sum()
    }
}

/// Collects the jobs from the logs and checks them. A power loss loses work: lines after the first are not checked.
pub(super) fn check(nodes: &[NodeReport], first_crash: Micros, now: Micros, findings: &mut Vec<Finding>) -> Jobs {
    let mut find = |at, checker, text| findings.push(Finding { at, checker, text });
    let mut jobs = Jobs::default();
    for node in nodes {
        for entry in node.log.iter().filter(|entry| entry.at < first_crash) {
            match JobReport::parse(&entry.text) {
                Some(JobReport::Started { .. }) => jobs.begun.push((node.node, entry.at)),
                Some(JobReport::Terminated { job, by, waves, units_done: done }) => {
                    let first = || Job { by: by.0, waves, at: entry.at, done: BTreeMap::new() };
                    let job = jobs.ended.entry(job).or_insert_with(first);
                    job.at = job.at.min(entry.at);
                    job.done.insert(node.node, done);
                }
                Some(JobReport::Undetectable) => {
                    let text = format!("node {} cannot detect the end of the job", node.node);
                    find(entry.at, "termination-announced", text);
                }
                None => {} // another line
            }
        }
    }
    jobs.begun.sort_by_key(|&(_, at)| at);
    for (number, job) in &jobs.ended {
        let missing: Vec<String> =
            nodes.iter().filter(|node| !job.done.contains_key(&node.node)).map(|node| node.node.to_string()).collect();
        if !missing.is_empty() && first_crash < Micros::MAX {
            continue; // the others may have been notified later
        }
        if !missing.is_empty() {
            find(
                job.at,
                "termination-announced",
                format!("node {} was never notified that job {number} is over", missing.join(", ")),
            );
        } else if !job.units().is_multiple_of(JOB_UNITS) {
            let text = format!(
                "the end of job {number} was announced after {} units, which is not a multiple of {JOB_UNITS}",
                job.units()
            );
            find(job.at, "no-early-end", text);
        }
    }
    let (begun, done) = (jobs.units(), jobs.ended.values().last().map_or(0, Job::units));
    if jobs.ended.is_empty() {
        find(
            now,
            "termination-announced",
            format!("{} jobs were begun, and the end of none was announced", jobs.begun.len()),
        );
    } else if done != begun && first_crash == Micros::MAX {
        find(now, "no-work-is-lost", format!("{begun} units of work were begun, and {done} were done"));
    }
    jobs
}

impl Jobs {
    #[must_use]
    pub fn units(&self) -> u32 {
        self.begun.len() as u32 * JOB_UNITS
    }
}

impl fmt::Display for Jobs {
    /// The starts, the ends with the units of each node, and the sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for &(node, at) in &self.begun {
            writeln!(f, "{:>8.3} s  node {node} begins a job of {JOB_UNITS} units", at as f64 / 1e6)?;
        }
        let mut before: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, job) in &self.ended {
            let Job { by, waves, at, done } = job;
            let plural = if *waves == 1 { "" } else { "s" };
            let seconds = *at as f64 / 1e6;
            writeln!(f, "\n{seconds:>8.3} s  job {number} is over: node {by} detected it by {waves} wave{plural}")?;
            let shares: Vec<String> = done
                .iter()
                .map(|(node, done)| format!("node {node} did {}", done.saturating_sub(*before.get(node).unwrap_or(&0))))
                .collect();
            writeln!(f, "            {}", shares.join(", "))?;
            before.clone_from(done);
        }
        let done = self.ended.values().last().map_or(0, Job::units);
        write!(f, "\n{} units of work were begun, and {done} were done at the last end", self.units())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swarm::report::tests::{found, log};
    use protocol::NodeId;

    fn over(job: u32, done: u32) -> String {
        JobReport::Terminated { job, by: NodeId(0), waves: 2, units_done: done }.to_string()
    }

    /// Checks two boards with these logs, one line per second; the first begins all jobs.
    fn checked(begun: usize, logs: [&[String]; 2], first_crash: Micros) -> (Jobs, Vec<&'static str>) {
        let mut lines = vec![JobReport::Started { units: JOB_UNITS }.to_string(); begun];
        lines.extend_from_slice(logs[0]);
        let nodes = [(0, &lines[..]), (1, logs[1])].map(|(node, lines)| {
            log(node, (0..).step_by(1_000_000).zip(lines).map(|(at, line)| (at, at, line.clone())))
        });
        found(|findings| check(&nodes, first_crash, 9_000_000, findings))
    }

    #[test]
    fn jobs_whose_end_is_announced_to_all_when_all_work_is_done_pass() {
        let (jobs, found) = checked(2, [&[over(1, 20), over(2, 30)], &[over(1, 40), over(2, 90)]], Micros::MAX);
        assert_eq!((jobs.units(), found), (120, vec![]));
        let text = jobs.to_string();
        assert!(
            text.contains("job 2 is over: node 0 detected it by 2 waves\n            node 0 did 10, node 1 did 50"),
            "{text}"
        );
        assert!(text.ends_with("120 units of work were begun, and 120 were done at the last end"), "{text}");
    }

    #[test]
    fn an_end_that_is_announced_too_early_or_not_to_all_or_never_is_found() {
        assert_eq!(checked(1, [&[over(1, 20)], &[over(1, 39)]], Micros::MAX).1, ["no-early-end", "no-work-is-lost"]);
        assert_eq!(checked(1, [&[over(1, 60)], &[]], Micros::MAX).1, ["termination-announced"]);
        assert_eq!(checked(1, [&[], &[]], Micros::MAX).1, ["termination-announced"]);
        assert_eq!(checked(2, [&[over(1, 20)], &[over(1, 40)]], Micros::MAX).1, ["no-work-is-lost"]);
        assert_eq!(
            checked(0, [&[JobReport::Undetectable.to_string()], &[]], Micros::MAX).1[0],
            "termination-announced"
        );
    }

    #[test]
    fn lines_after_a_power_loss_are_not_checked() {
        // The first board was notified of the second end after two seconds: whether all were in time is unknown.
        let (jobs, found) = checked(1, [&[over(1, 20), over(2, 20)], &[over(1, 40), over(2, 7)]], 1_500_000);
        assert_eq!((jobs.ended[&2].done.len(), found), (1, vec![]));
    }
}
