//! Log lines about diffusing jobs.

use super::{log_lines, node, numbers, to_u32};
use protocol::NodeId;

/// A report about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobReport {
    /// The node has started a job.
    Started {
        /// Its units.
        units: u32,
    },
    /// A job has terminated.
    Terminated {
        /// The job.
        job: u32,
        /// The node that detected it.
        by: NodeId,
        /// The waves it took.
        waves: u32,
        /// Units this node has done so far, of all jobs.
        units_done: u32,
    },
    /// Termination cannot be detected: messages to or from a member were lost.
    Undetectable,
}

log_lines! { JobReport {
    Self::Started { units } => info "started: units {=u32}", units;
    Self::Terminated { job, by, waves, units_done } =>
        info "terminated: job {=u32} by node {=u32}, waves {=u32}, done {=u32}", job, by.0, waves, units_done;
    Self::Undetectable => warn "undetectable: messages to or from a member were lost";
} }

impl JobReport {
    /// Parses a line; `None` where it is no report about a job.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        match word {
            "started" => {
                let [units] = numbers(rest)?;
                Some(Self::Started { units: to_u32(units)? })
            }
            "terminated" => {
                let [job, by, waves, done] = numbers(rest)?;
                let (job, by, waves, units_done) = (to_u32(job)?, node(by)?, to_u32(waves)?, to_u32(done)?);
                Some(Self::Terminated { job, by, waves, units_done })
            }
            "undetectable" => Some(Self::Undetectable),
            _ => None, // another line of a log
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn formatting_and_parsing_are_inverse() {
        let terminated = JobReport::Terminated { job: 3, by: NodeId(7), waves: 2, units_done: u32::MAX };
        for report in [JobReport::Started { units: 60 }, terminated, JobReport::Undetectable] {
            assert_eq!(JobReport::parse(&report.to_string()), Some(report), "{report}");
        }
        assert_eq!(terminated.to_string(), "terminated: job 3 by node 7, waves 2, done 4294967295");
    }

    #[test]
    fn other_lines_are_no_reports() {
        let too_large = "terminated: job 1 by node 2, waves 3, done 4294967296";
        for line in ["", "started", "started: soon", "terminated: job 1", too_large] {
            assert_eq!(JobReport::parse(line), None, "{line}");
        }
    }
}
