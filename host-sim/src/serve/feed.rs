//! What happens in a swarm, for every page that follows it, and what its readers do to it.

use crate::base::Micros;
use crate::trace::{EventKind, Observer, TraceEvent};
use serde_json::{Value, json};
use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// How many messages wait for a page; one that reads slower is cut off.
const QUEUE_MAX: usize = 20_000;
/// How many pages follow at once.
const READERS_MAX: usize = 8;
/// How many messages a page gets of what was before it came; the first are dropped.
const HISTORY_MAX: usize = 50_000;

/// A message for the pages: JSON.
pub(super) type Message = Arc<str>;

/// A fault that a reader asks for, and where to answer.
pub(crate) struct Act {
    /// The keys of a table `[[faults]]` but for its moment.
    pub(crate) fault: String,
    /// Takes the moment of the fault, or why there is none.
    pub(crate) answer: SyncSender<Result<Micros, String>>,
}

/// The messages to all pages.
pub(crate) struct Feed {
    /// What every page gets first.
    about: Message,
    state: Mutex<State>,
    acts: Mutex<Sender<Act>>,
}

#[derive(Default)]
struct State {
    /// All that was, but for frames and maps.
    history: Vec<Message>,
    /// Where nodes are now, and which of them are connected.
    map: Option<Message>,
    readers: Vec<SyncSender<Message>>,
}

impl Feed {
    /// `about` describes the swarm; acts are sent to `acts`.
    pub(crate) fn new(about: &Value, acts: Sender<Act>) -> Self {
        Self { about: about.to_string().into(), state: Mutex::default(), acts: Mutex::new(acts) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner) // every change of it is whole
    }

    /// Returns all messages from the beginning on; `None` where there are too many readers.
    pub(super) fn read(&self) -> Option<(Vec<Message>, Receiver<Message>)> {
        let mut state = self.state();
        if state.readers.len() >= READERS_MAX {
            return None;
        }
        let (sender, receiver) = sync_channel(QUEUE_MAX);
        state.readers.push(sender);
        let before = std::iter::once(&self.about).chain(&state.history).chain(&state.map).cloned().collect();
        Some((before, receiver))
    }

    /// Asks for a fault; returns its moment, or why there is none.
    pub(super) fn act(&self, fault: &str) -> Result<Micros, String> {
        let (answer, answered) = sync_channel(1);
        let act = Act { fault: fault.to_owned(), answer };
        let ended = || "the swarm has ended".to_owned();
        self.acts.lock().unwrap_or_else(PoisonError::into_inner).send(act).map_err(|_| ended())?;
        answered.recv().map_err(|_| ended())?
    }

    fn send(&self, message: &Value, keep: bool) {
        let message: Message = message.to_string().into();
        let mut state = self.state();
        state.readers.retain(|reader| reader.try_send(Arc::clone(&message)).is_ok());
        if keep {
            if state.history.len() >= HISTORY_MAX {
                state.history.drain(..HISTORY_MAX / 2);
            }
            state.history.push(message);
        }
    }

    /// Sends where nodes are and which of them are connected: `nodes` and `links` are those of a look at a run. A page
    /// that comes late gets the last of these messages only.
    pub(crate) fn map(&self, at: Micros, nodes: &[Value], links: &[(u32, u32, u8)]) {
        let message = json!({ "at": at, "node": null, "event": "map", "nodes": nodes, "links": links });
        self.send(&message, false);
        self.state().map = Some(message.to_string().into());
    }

    /// Sends a line of a board's log.
    pub(crate) fn log(&self, at: Micros, node: u32, text: &str) {
        self.send(&json!({ "at": at, "node": node, "event": "log", "text": text }), true);
    }

    /// Sends the time, so that pages know that nothing happened.
    pub(crate) fn time(&self, at: Micros) {
        self.send(&json!({ "at": at, "node": null, "event": "time" }), false);
    }

    /// Sends that the swarm has ended, and how.
    pub(crate) fn end(&self, text: &str) {
        self.send(&json!({ "event": "ended", "text": text }), true);
    }
}

impl Observer for &Feed {
    fn observe(&mut self, event: &TraceEvent) {
        let frame =
            matches!(event.kind, EventKind::Sent { .. } | EventKind::Received { .. } | EventKind::Missed { .. });
        self.send(&serde_json::to_value(event).unwrap_or_default(), !frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    fn sent(at: Micros) -> TraceEvent {
        TraceEvent { at, node: Some(1), kind: EventKind::Sent { kind: "hello", bytes: 20 } }
    }

    #[test]
    fn a_page_that_comes_late_gets_all_but_the_frames_and_a_slow_one_is_cut_off() {
        let (acts, _receiver) = channel();
        let feed = Feed::new(&json!({ "event": "swarm" }), acts);
        let mut observer = &feed;
        let (before, slow) = feed.read().unwrap();
        assert_eq!(before.len(), 1);
        observer.observe(&TraceEvent { at: 1, node: Some(1), kind: EventKind::Crash });
        observer.observe(&sent(2));
        feed.log(3, 1, "hi");
        let (before, _late) = feed.read().unwrap();
        let texts: Vec<&str> = before.iter().map(|message| &**message).collect();
        assert_eq!(texts[..2], [r#"{"event":"swarm"}"#, r#"{"at":1,"event":"crash","node":1}"#]);
        assert_eq!(texts[2], r#"{"at":3,"event":"log","node":1,"text":"hi"}"#);
        (0..QUEUE_MAX as u64).for_each(|at| observer.observe(&sent(at)));
        assert_eq!(feed.state().readers.len(), 1, "the late one reads from after the first two");
        assert_eq!(slow.try_iter().count(), QUEUE_MAX);
        let more: Vec<_> = std::iter::from_fn(|| feed.read()).collect();
        assert_eq!(more.len(), READERS_MAX - 1);
    }

    #[test]
    fn a_page_that_comes_late_gets_the_last_map_alone() {
        let (acts, _receiver) = channel();
        let feed = Feed::new(&json!({ "event": "swarm" }), acts);
        let (_, early) = feed.read().unwrap();
        feed.map(1, &[json!([0, 0])], &[(0, 1, 255)]);
        feed.map(2, &[json!([5, 0])], &[]);
        assert_eq!(early.try_iter().count(), 2);
        let (before, _late) = feed.read().unwrap();
        assert_eq!(&*before[1], r#"{"at":2,"event":"map","links":[],"node":null,"nodes":[[5,0]]}"#);
        assert_eq!(before.len(), 2);
    }

    #[test]
    fn an_act_is_answered_by_the_swarm_and_refused_after_its_end() {
        let (acts, swarm) = channel::<Act>();
        let feed = Feed::new(&json!({}), acts);
        std::thread::scope(|scope| {
            let asked = scope.spawn(|| feed.act("do = \"heal\""));
            let act = swarm.recv().unwrap();
            assert_eq!(act.fault, "do = \"heal\"");
            act.answer.send(Ok(7)).unwrap();
            assert_eq!(asked.join().unwrap(), Ok(7));
        });
        drop(swarm);
        assert_eq!(feed.act(""), Err("the swarm has ended".to_owned()));
    }
}
