//! What a board says about jobs that spread over the boards. Other boards link none of it.

use super::{numbers, small};
use core::fmt;
use protocol::NodeId;

/// Something a node says about a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobReport {
    /// It has begun one.
    Begun {
        /// Of how many units.
        units: u32,
    },
    /// It has heard that one is over.
    Terminated {
        /// Which.
        job: u32,
        /// Who found out.
        by: NodeId,
        /// By how many waves.
        waves: u32,
        /// How many units it has done itself, of this and all before.
        done: u32,
    },
    /// Nobody will find out: letters to or from a member were lost.
    Unknowable,
}

const UNKNOWABLE: &str = "unknowable: letters to or from a member were lost";

impl JobReport {
    /// Writes the line to the log.
    #[cfg(feature = "defmt")]
    pub fn log(&self) {
        match *self {
            Self::Begun { units } => defmt::info!("begun: units {=u32}", units),
            Self::Terminated { job, by, waves, done } => {
                defmt::info!(
                    "terminated: job {=u32} by node {=u32}, waves {=u32}, done {=u32}",
                    job,
                    by.0,
                    waves,
                    done
                );
            }
            Self::Unknowable => defmt::warn!("{=str}", UNKNOWABLE),
        }
    }

    /// Reads a line; `None` where it is none of these.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once(": ")?;
        match word {
            "begun" => {
                let [units] = numbers(rest)?;
                Some(Self::Begun { units: small(units)? })
            }
            "terminated" => {
                let [job, by, waves, done] = numbers(rest)?;
                let (job, by, waves, done) = (small(job)?, NodeId(small(by)?), small(waves)?, small(done)?);
                Some(Self::Terminated { job, by, waves, done })
            }
            "unknowable" => Some(Self::Unknowable),
            _ => None, // any other line of a log
        }
    }
}

impl fmt::Display for JobReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Begun { units } => write!(f, "begun: units {units}"),
            Self::Terminated { job, by, waves, done } => {
                write!(f, "terminated: job {job} by node {}, waves {waves}, done {done}", by.0)
            }
            Self::Unknowable => f.write_str(UNKNOWABLE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn every_line_about_a_job_reads_back_as_what_was_said() {
        let over = JobReport::Terminated { job: 3, by: NodeId(7), waves: 2, done: u32::MAX };
        for report in [JobReport::Begun { units: 60 }, over, JobReport::Unknowable] {
            assert_eq!(JobReport::parse(&report.to_string()), Some(report), "{report}");
        }
        assert_eq!(over.to_string(), "terminated: job 3 by node 7, waves 2, done 4294967295");
    }

    #[test]
    fn other_lines_say_nothing_about_a_job() {
        for line in
            ["", "begun", "begun: soon", "terminated: job 1", "terminated: job 1 by node 2, waves 3, done 4294967296"]
        {
            assert_eq!(JobReport::parse(line), None, "{line}");
        }
    }
}
