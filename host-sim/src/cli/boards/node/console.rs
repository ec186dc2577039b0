//! What the user of a desktop node types, a line at a time, and what its lock and its service answer.

use protocol::base::term::Term;
use protocol::members;
use protocol::mutex::{self, LockId};
use protocol::service::commit::{self, Change, Commit, TransactionId};
use protocol::service::sequencer::{self, Payload};
use protocol::service::{NoService, Sequencer, Service, clock_sync, clock_sync::ClockSync};
use protocol::{Duration, Instant, NodeId};
use serde_json::{Value, json};
use std::io::BufRead as _;
use std::sync::mpsc::{Receiver, channel};

/// A line, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Call,
    Yield,
    Appoint,
    Release,
    Member(members::Change),
    Lock(mutex::Command),
    Service(ServiceWord),
}

/// What is typed to the service, or to what runs beside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServiceWord {
    Submit(String),
    Propose(String),
    Vote { yes: bool },
}

/// What can be typed.
pub(super) const HELP: &str = "call, yield, appoint, release, member add ID, member remove ID, lock NAME, within SECONDS NAME, try NAME, renew NAME, unlock NAME, cancel NAME, \
     submit TEXT, propose TEXT, yes, no";

impl Word {
    /// Reads a line; locks are asked for `lease`.
    pub(super) fn read(line: &str, lease: Duration) -> Option<Self> {
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let lock = || (!rest.is_empty()).then(|| LockId::from_name(rest));
        Some(match word {
            "call" => Self::Call,
            "yield" => Self::Yield,
            "appoint" => Self::Appoint,
            "release" => Self::Release,
            "member" => {
                let (change, id) = rest.split_once(' ')?;
                let id = NodeId(id.trim().parse().ok()?);
                match change {
                    "add" => Self::Member(members::Change::Add(id)),
                    "remove" => Self::Member(members::Change::Remove(id)),
                    _ => return None,
                }
            }
            "lock" => Self::Lock(mutex::Command::Acquire { lock: lock()?, lease }),
            "within" => {
                let (seconds, name) = rest.split_once(' ').filter(|(_, name)| !name.is_empty())?;
                let wait = Duration::from_secs(seconds.parse::<u8>().ok()?.into());
                Self::Lock(mutex::Command::AcquireWithin { lock: LockId::from_name(name), lease, wait })
            }
            "try" => Self::Lock(mutex::Command::Try { lock: lock()?, lease }),
            "renew" => Self::Lock(mutex::Command::Renew { lock: lock()?, lease }),
            "unlock" => Self::Lock(mutex::Command::Release { lock: lock()? }),
            "cancel" => Self::Lock(mutex::Command::Cancel { lock: lock()? }),
            "submit" => Self::Service(ServiceWord::Submit(rest.to_owned())),
            "propose" => Self::Service(ServiceWord::Propose(rest.to_owned())),
            "yes" => Self::Service(ServiceWord::Vote { yes: true }),
            "no" => Self::Service(ServiceWord::Vote { yes: false }),
            _ => return None,
        })
    }
}

/// Reads lines in the background, until there are no more.
pub(super) fn lines() -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns a notice of the lock as JSON.
pub(super) fn lock_notice(notice: mutex::Notice) -> Value {
    match notice {
        mutex::Notice::Acquired { lock, fence, until } => json!({
            "event": "acquired", "lock": lock.number(), "until_us": until.as_micros(),
            "fence": [u64::from(fence.term.number), u64::from(fence.term.by.0), fence.count.0]
        }),
        mutex::Notice::Waiting { lock, ahead } => {
            json!({ "event": "waiting", "lock": lock.number(), "ahead": ahead })
        }
        mutex::Notice::Refused { lock, reason } => {
            json!({ "event": "refused", "lock": lock.number(), "reason": reason.description() })
        }
        mutex::Notice::Expiring { lock, .. } => json!({ "event": "expiring", "lock": lock.number() }),
        mutex::Notice::Lost { lock } => json!({ "event": "lost", "lock": lock.number() }),
        mutex::Notice::Released { lock } => json!({ "event": "released", "lock": lock.number() }),
    }
}

/// What runs beside a node and its service: the application of a desktop.
pub(super) trait Beside<S: Service> {
    /// Whether it does things by itself, so that the node looks at it often.
    const WATCHED: bool = false;

    /// Takes in a notice of the service; returns what to print of it.
    fn on_notice(&mut self, now: Instant, notice: S::Notice) -> Option<Value>;

    /// Takes in what the user types; returns the command for it, if it is to be given at once.
    ///
    /// # Errors
    /// A sentence, where it takes no such word.
    fn command(&mut self, service: &S, word: &ServiceWord) -> Result<Option<S::Command>, String>;

    /// Returns the next command to the service; the node acts as leader in the term `acting`.
    fn poll_command(&mut self, _now: Instant, _acting: Option<Term>) -> Option<S::Command> {
        None
    }

    /// Returns something to print.
    fn poll_line(&mut self, _now: Instant) -> Option<Value> {
        None
    }

    /// Returns when to poll again at the latest.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Returns whether the node is fit to lead, where that has changed.
    fn fitness(&mut self, _now: Instant) -> Option<bool> {
        None
    }

    /// Returns whether the node is fit to lead now.
    fn is_fit_at_boot(&self) -> bool {
        true
    }
}

/// A service that needs nothing beside it.
pub(super) trait DesktopService: Service {
    /// Returns the command for what was typed; `None` where the service has none for it.
    fn command(&self, _word: &ServiceWord) -> Option<Self::Command> {
        None
    }

    /// Returns a notice as JSON.
    fn notice(notice: Self::Notice) -> Value;
}

/// Nothing beside a service: its notices are printed.
pub(super) struct Nothing;

impl<S: DesktopService> Beside<S> for Nothing {
    fn on_notice(&mut self, _: Instant, notice: S::Notice) -> Option<Value> {
        Some(S::notice(notice))
    }

    fn command(&mut self, service: &S, word: &ServiceWord) -> Result<Option<S::Command>, String> {
        let refused = || match word {
            ServiceWord::Submit(_) => {
                "this node submits nothing so long, or has no --app sequencer or --mqtt to submit to"
            }
            ServiceWord::Propose(_) => "this node proposes nothing so long, or has no --app commit to propose it to",
            ServiceWord::Vote { .. } => "nobody asked this node for its vote",
        };
        service.command(word).map(Some).ok_or_else(|| refused().to_owned())
    }
}

impl DesktopService for NoService {
    fn notice(notice: Self::Notice) -> Value {
        match notice {}
    }
}

impl<const N: usize> DesktopService for ClockSync<N> {
    fn notice(notice: clock_sync::Notice) -> Value {
        match notice {
            clock_sync::Notice::Set => json!({ "event": "clock-set" }),
            clock_sync::Notice::Adjusted { by } => json!({ "event": "clock-adjusted", "by_us": by }),
        }
    }
}

impl<const N: usize> DesktopService for Sequencer<N> {
    fn command(&self, word: &ServiceWord) -> Option<sequencer::Command> {
        let ServiceWord::Submit(text) = word else { return None };
        Payload::from_slice(text.as_bytes()).ok().map(sequencer::Command::Submit)
    }

    fn notice(notice: sequencer::Notice) -> Value {
        match notice {
            sequencer::Notice::Accepted { number } => json!({ "event": "accepted", "number": number }),
            sequencer::Notice::Refused { .. } => json!({ "event": "refused", "reason": "busy" }),
            sequencer::Notice::Delivered { number, id, payload } => json!({
                "event": "delivered", "era": number.era, "count": number.count, "from": id.initiator.0,
                "text": String::from_utf8_lossy(&payload)
            }),
            sequencer::Notice::Missed { through } => {
                json!({ "event": "missed", "era": through.era, "count": through.count })
            }
            sequencer::Notice::Unknown { number } => json!({ "event": "unknown", "number": number }),
        }
    }
}

/// A transaction as JSON.
fn transaction(event: &str, id: TransactionId, change: Option<&Change>) -> Value {
    let mut value = json!({ "event": event, "term": id.term.number, "by": id.term.by.0, "number": id.number });
    if let Some(change) = change {
        value["text"] = String::from_utf8_lossy(change).into();
    }
    value
}

impl DesktopService for Commit {
    fn command(&self, word: &ServiceWord) -> Option<commit::Command> {
        match word {
            ServiceWord::Propose(text) => Change::from_slice(text.as_bytes()).ok().map(commit::Command::Propose),
            ServiceWord::Vote { yes } => Some(commit::Command::Vote { id: self.asked()?.id, yes: *yes }),
            ServiceWord::Submit(_) => None, // of other services
        }
    }

    fn notice(notice: commit::Notice) -> Value {
        match notice {
            commit::Notice::Proposed { id } => transaction("proposed", id, None),
            commit::Notice::Refused { reason } => json!({ "event": "refused", "reason": reason.description() }),
            commit::Notice::Prepare { transaction: of } => transaction("vote", of.id, Some(&of.change)),
            commit::Notice::Blocked { transaction: of } => transaction("blocked", of.id, Some(&of.change)),
            commit::Notice::Committed { transaction: of } => transaction("committed", of.id, Some(&of.change)),
            commit::Notice::Restored { transaction: of } => transaction("restored", of.id, Some(&of.change)),
            commit::Notice::Aborted { id, .. } => transaction("aborted", id, None),
            commit::Notice::Completed { id } => transaction("completed", id, None),
        }
    }
}

/// Returns a notice as a line for people: the event, then its fields.
pub(in crate::cli::boards) fn as_text(notice: &Value) -> String {
    let fields = notice.as_object().into_iter().flatten().filter(|(key, _)| *key != "event" && *key != "at_us");
    let fields: Vec<String> = fields.map(|(key, value)| format!("{key} {value}")).collect();
    format!("{}: {}", notice["event"].as_str().unwrap_or("notice"), fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_word_and_what_it_is_about() {
        let lease = Duration::from_secs(2);
        let lock = LockId::from_name("front door");
        let acquire = Word::Lock(mutex::Command::Acquire { lock, lease });
        assert_eq!(Word::read("lock front door", lease), Some(acquire));
        assert_eq!(Word::read(" appoint ", lease), Some(Word::Appoint));
        let submit = Word::Service(ServiceWord::Submit("a text".to_owned()));
        assert_eq!(Word::read("submit a text", lease), Some(submit));
        let propose = Word::Service(ServiceWord::Propose("open".to_owned()));
        assert_eq!(Word::read("propose open", lease), Some(propose));
        assert_eq!(Word::read("no", lease), Some(Word::Service(ServiceWord::Vote { yes: false })));
        let [add, remove] =
            [members::Change::Add, members::Change::Remove].map(|change| Word::Member(change(NodeId(7))));
        assert_eq!(Word::read("member add 7", lease), Some(add));
        assert_eq!(Word::read("member remove 7", lease), Some(remove));
        for wrong in ["lock", "open door", "member add", "member add seven", "member 7", ""] {
            assert_eq!(Word::read(wrong, lease), None, "{wrong}");
        }
        assert!(["lock NAME", "appoint", "submit TEXT", "propose TEXT"].iter().all(|word| HELP.contains(word)));
    }

    #[test]
    fn a_text_is_submitted_where_there_is_something_to_submit_it_to_and_it_is_short_enough() {
        let text = |text: &str| ServiceWord::Submit(text.to_owned());
        let sequencer = |word| Nothing.command(&Sequencer::<4>::new(), &word);
        assert!(matches!(sequencer(text("a text")), Ok(Some(sequencer::Command::Submit(_)))));
        assert!(sequencer(text("a text that is far too long")).unwrap_err().contains("so long"));
        assert!(sequencer(ServiceWord::Propose("open".to_owned())).unwrap_err().contains("--app commit"));
        assert!(Nothing.command(&NoService, &text("a")).unwrap_err().contains("--mqtt"));
        assert!(
            Nothing.command(&Commit::new(), &ServiceWord::Vote { yes: true }).unwrap_err().contains("nobody asked")
        );
    }

    #[test]
    fn a_notice_is_a_line_for_people_and_for_programs() {
        let notice = lock_notice(mutex::Notice::Waiting { lock: LockId::from_number(7), ahead: 2 });
        assert_eq!(as_text(&notice), "waiting: ahead 2, lock 7");
    }
}
