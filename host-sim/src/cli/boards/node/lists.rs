//! The list of members beside a desktop node, in mode *quorum* with a file of records: its log, its frames, and the boots of
//! the node from one list into the next.

use super::records_file::{StoredLog, load_list, save_list};
use super::{Desktop, DesktopNode, NodeArgs, Origin};
use protocol::base::quorum::Mode;
use protocol::election::Command;
use protocol::members::{Change, List, Members, Notice, Refusal, Stored};
use protocol::mutex::Mutex;
use protocol::node::Input;
use protocol::service::Service;
use protocol::wire::{FRAME_MAX, Keyring};
use protocol::{Instant, NodeId};
use serde_json::{Value, json};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;
use std::path::PathBuf;

/// Why a list cannot change.
pub(super) const FIXED: &str = "the list of this node's group is fixed: it changes in mode quorum alone, with --members or --join, and --records FILE";

/// What a node does about its list.
pub(super) struct Lists {
    me: NodeId,
    members: Members<Keyring>,
    /// The epoch of the list that the node was booted with, if it was told yet.
    epoch: Option<u32>,
    records: PathBuf,
}

/// What the host of a node has to do after a step of it.
pub(super) enum Task {
    /// Print this.
    Say(Value),
    /// Boot the node with the present list, or run none where it is on none.
    Boot,
    /// Hand this to the node.
    Yield,
}

impl Lists {
    /// The list of a node; `None` where it is fixed.
    ///
    /// # Errors
    /// A sentence, where the list or its log cannot be used.
    pub(super) fn start(args: &NodeArgs, key: &Keyring, now: Instant) -> io::Result<Option<Self>> {
        let listed = args.join || !args.members.is_empty();
        let Some(records) = args.records.as_ref().filter(|_| listed && args.mode == Mode::Quorum) else {
            return if args.join {
                Err(io::Error::other("--join needs --mode quorum and --records FILE, to store the list"))
            } else {
                Ok(None)
            };
        };
        let ids: Vec<NodeId> = args.members.iter().copied().map(NodeId).collect();
        let first = if args.join { Some(List::NONE) } else { List::first(&ids) };
        let first =
            first.ok_or_else(|| io::Error::other("--members names a member twice, or more than fit a frame"))?;
        let log = load_list(records)?;
        let stored = match &log {
            StoredLog::Intact(log) => Stored::Log(log),
            StoredLog::Nothing if args.new => Stored::Nothing,
            StoredLog::Nothing | StoredLog::Damaged => Stored::Lost,
        };
        let seed = RandomState::new().hash_one(args.id);
        let me = NodeId(args.id);
        let members = Members::new(me, key, args.timing(), first, stored, now, seed);
        Ok(Some(Self { me, members, epoch: None, records: records.clone() }))
    }

    /// The list that the node is booted with.
    pub(super) fn list(&self) -> &List {
        self.members.list()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.members.deadline()
    }

    /// Takes in a frame, if it is one about the list.
    pub(super) fn takes(&mut self, now: Instant, frame: &[u8]) -> bool {
        let is_one = Members::<Keyring>::is_frame(frame);
        if is_one {
            self.members.on_frame(now, frame);
        }
        is_one
    }

    /// Begins a change, as the user told; a notice says what becomes of it.
    pub(super) fn change<M: Mutex, S: Service>(
        &mut self,
        now: Instant,
        node: Option<&DesktopNode<M, S>>,
        change: Change,
    ) {
        self.members.change(now, node.and_then(|node| node.acting_term(now)), change);
    }

    /// The next frame about the list.
    pub(super) fn poll_transmit<'b>(&mut self, now: Instant, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        self.members.poll_transmit(now, buffer)
    }

    /// Stores the log, and returns the next thing to do.
    ///
    /// # Errors
    /// Where the log cannot be stored.
    pub(super) fn poll_task<M: Mutex, S: Service>(
        &mut self,
        now: Instant,
        node: Option<&DesktopNode<M, S>>,
    ) -> io::Result<Option<Task>> {
        self.members.on_leader(now, node.and_then(|node| node.acting_term(now)));
        let mut buffer = [0; FRAME_MAX + Members::<Keyring>::LOG_MAX];
        if let Some(log) = self.members.poll_log(&mut buffer) {
            save_list(&self.records, log)?;
        }
        let epoch = self.list().epoch();
        if self.epoch != Some(epoch) {
            self.epoch = Some(epoch);
            return Ok(Some(Task::Boot));
        }
        let leader = node.and_then(DesktopNode::leader).map(|(leader, _)| leader);
        Ok(self.members.poll_notice().and_then(|notice| match notice {
            Notice::Changed { .. } => None, // it is printed as the node boots
            Notice::Yield => Some(Task::Yield),
            Notice::Decided { change } => Some(Task::Say(line("member-decided", change))),
            Notice::Unknown { change } => {
                let mut line = line("member-unknown", change);
                line["reason"] = "this node leads no more; the next list shows whether it was decided".into();
                Some(Task::Say(line))
            }
            Notice::Refused { change, reason } => {
                let mut line = line("member-refused", change);
                line["reason"] = self.why(change, reason, leader).into();
                Some(Task::Say(line))
            }
        }))
    }

    /// Why a change was refused, and what to do about it.
    fn why(&self, change: Change, reason: Refusal, leader: Option<NodeId>) -> String {
        let (Change::Add(id) | Change::Remove(id)) = change;
        match (reason, leader) {
            (Refusal::NotLeader, _) if !self.members.is_member() => "this node is no member".to_owned(),
            (Refusal::NotLeader, Some(leader)) if leader != self.me => {
                format!("node {} leads: type it there", leader.0)
            }
            (Refusal::NotLeader, _) => "no node leads with a majority; wait until one does".to_owned(),
            (Refusal::Open, _) => match self.members.open() {
                Some(Change::Add(id)) => format!("another change is open: node {} is added", id.0),
                Some(Change::Remove(id)) => format!("another change is open: node {} is removed", id.0),
                None => "another change was begun just now".to_owned(),
            },
            (Refusal::NoChange, _) => match change {
                Change::Add(_) => format!("node {} is a member already", id.0),
                Change::Remove(_) => format!("node {} is no member", id.0),
            },
            (Refusal::Leader, _) => "this node leads: appoint another, and remove this one there".to_owned(),
            (Refusal::NoAnswer, _) => match change {
                Change::Add(_) => format!("node {} does not answer, or too few members do", id.0),
                Change::Remove(_) => "too few members answer".to_owned(),
            },
            (Refusal::LostLog | Refusal::Full, _) => reason.description().to_owned(),
        }
    }

    /// What there is to say of the present list.
    fn present(&self) -> Value {
        let list = self.list();
        let ids: Vec<u32> = list.members().iter().map(|id| id.0).collect();
        let mut line = json!({ "event": "members", "epoch": list.epoch(), "members": ids });
        if self.members.forgot() {
            line["waits"] = "the log of the list is missing or damaged: a leader has to remove this node and add it \
                             again; --new says that it never had one"
                .into();
        } else if !self.members.is_member() {
            line["waits"] = "this node is on no list yet, or no longer: a leader has to add it".into();
        }
        line
    }
}

/// A change as JSON.
fn line(event: &str, change: Change) -> Value {
    match change {
        Change::Add(id) => json!({ "event": event, "change": "add", "member": id.0 }),
        Change::Remove(id) => json!({ "event": event, "change": "remove", "member": id.0 }),
    }
}

impl Desktop<'_> {
    /// Does what the list asks for, and sends its frames. The list's log is stored before anything leaves.
    pub(super) fn look_after_list<M: Mutex, S: Service>(
        &mut self,
        lists: &mut Lists,
        node: &mut Option<DesktopNode<M, S>>,
        boot: impl Fn(&Self, &List, Origin) -> io::Result<DesktopNode<M, S>>,
    ) -> io::Result<()> {
        while let Some(task) = lists.poll_task(self.now(), node.as_ref())? {
            match task {
                Task::Say(line) => self.say(line)?,
                Task::Yield => {
                    let now = self.now();
                    if let Some(node) = node {
                        node.handle(now, Input::Election(Command::Yield));
                    }
                }
                Task::Boot => {
                    let now = self.now();
                    let before = node.take();
                    let origin = before.map_or(Origin::Stored, |node| Origin::List(node.succession(now)));
                    self.say(lists.present())?;
                    if lists.members.is_member() {
                        *node = Some(boot(self, lists.list(), origin)?);
                    }
                }
            }
        }
        let mut buffer = [0; FRAME_MAX];
        while let Some(frame) = lists.poll_transmit(self.now(), &mut buffer) {
            self.transmit(frame)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_line_for_programs() {
        let expected = json!({ "event": "member-decided", "change": "remove", "member": 7 });
        assert_eq!(line("member-decided", Change::Remove(NodeId(7))), expected);
    }
}
