//! Boots of a desktop node.

use super::records_file::{Stored, load, load_log};
use super::{AppArg, Desktop, DesktopNode};
use firmware::report::{RecordsAtBoot, Report};
use protocol::base::capacity::Capacity;
use protocol::base::membership::Group;
use protocol::members::List;
use protocol::mutex::Mutex;
use protocol::node::{Boot, Stages, Succession};
use protocol::registry::AnyElection;
use protocol::service::Service;
use protocol::{Config, Node, NodeId};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::io;

/// What a node boots with.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// Its file of records.
    Stored,
    /// What the node before it hands on, which had another list; nothing where that waited for its quarantine to end.
    List(Option<Succession>),
}

impl Desktop<'_> {
    /// Boots the node with this list of members, or with that of the command line.
    pub(super) fn boot<M: Mutex, S: Service>(
        &self,
        (mutex, mut service): (M, S),
        fit: bool,
        list: Option<&List>,
        origin: Origin,
    ) -> io::Result<DesktopNode<M, S>> {
        let args = self.args;
        if let Some(log) = args.records.as_deref().map_or(Ok(None), load_log)? {
            service.restore(&log);
        }
        let stored = args.records.as_deref().map_or(Ok(Stored::Nothing), load)?;
        let unknown = stored == Stored::Nothing && !args.new;
        let (at_boot, records) = match origin {
            Origin::Stored => stored.at_boot(args.new),
            Origin::List(Some(succession)) => (RecordsAtBoot::Kept, Some(succession.records())),
            Origin::List(None) => (RecordsAtBoot::Lost, None),
        };
        let config = Config {
            me: NodeId(args.id),
            key: self.key.keyring(),
            hops: args.hops,
            // A node of an uplink without a broker of its own has nothing to lead with.
            may_lead: !args.never_leads && (args.mqtt.is_some() || !matches!(args.app, Some(AppArg::Uplink))),
            mode: args.mode,
            timing: args.timing(),
        };
        self.log(&Report::Starting { node: config.me, capacity: args.capacity, records: at_boot })?;
        if unknown {
            eprintln!("without records this node stays out of elections for a while; --new says that it has never run");
        }
        // The standard library's source of a number that differs in every process.
        let seed = RandomState::new().hash_one(args.id);
        let refused = |error: protocol::base::config::ConfigError| io::Error::other(error.to_string());
        let fixed = || args.members.iter().copied().map(NodeId).collect();
        let members: Vec<NodeId> = list.map_or_else(fixed, |list| list.members().to_vec());
        let group = if members.is_empty() { None } else { Some(Group::of(&members).map_err(refused)?) };
        let election = AnyElection::by_name(&args.election).ok_or_else(|| io::Error::other("no such election"))?;
        let stages = Stages { election, mutex, service };
        let boot = Boot { records, capacity: fit.then_some(Capacity::new(args.capacity)), seed };
        let mut node = Node::new(config, &group, boot, self.now(), stages).map_err(refused)?;
        if let Origin::List(Some(succession)) = origin {
            node.succeed(succession);
        }
        Ok(node)
    }
}
