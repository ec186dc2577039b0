//! `conclave dissector`: the script with which Wireshark reads captures.

use crate::nodes::protocol_node::key_of;
use crate::pcap::{changing_group, dissector};
use crate::{Scenario, check};
use clap::Args;
use protocol::NodeId;
use protocol::wire::{Cipher as _, Key};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct DissectorArgs {
    /// Open the frames of these scenarios, too; those of shipped ones are opened in any case.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<PathBuf>,
    /// Open the frames of the group with this name. May be repeated.
    #[arg(long, value_name = "NAME")]
    group: Vec<String>,
    /// Open the frames of the group with this key of 32 hexadecimal digits. May be repeated.
    #[arg(long, value_name = "HEX", value_parser = key)]
    key: Vec<Key>,
    /// The ids of the members of these groups, as their nodes have them; none where their election needs no members, or
    /// where the list of members changes: its frames name the members.
    #[arg(long, value_name = "ID,...", value_delimiter = ',', value_parser = super::id)]
    members: Vec<u32>,
}

pub(super) const EXAMPLES: &str = "Examples:
  conclave dissector > ~/.local/lib/wireshark/plugins/conclave.lua
  conclave run grid64-leader-crash --seed 1 --pcap frames.pcapng
  tshark -r frames.pcapng -Y 'conclave.wireless.elected'
  conclave dissector --group greenhouse --members 1,2,3 > greenhouse.lua";

fn key(digits: &str) -> Result<Key, String> {
    let number = u128::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 32);
    number.map(|number| Key::new(number.to_be_bytes())).ok_or_else(|| "a key has 32 hexadecimal digits".to_owned())
}

/// Prints the script.
pub(super) fn run(args: &DissectorArgs) -> super::Ended {
    let scenarios = args.scenarios.iter().map(|file| Scenario::find(file, check::OF_LOCKS));
    let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
    let members: Vec<NodeId> = args.members.iter().copied().map(NodeId).collect();
    let named = args.group.iter().map(|name| Key::from_name(name)).chain(args.key.iter().cloned());
    let mut groups: Vec<Key> = named.collect();
    let of_groups = groups.iter().map(|key| if members.is_empty() { key.clone() } else { key.for_group(&members) });
    let keys: Vec<Key> = scenarios.iter().map(key_of).chain(of_groups).collect();
    groups.extend(scenarios.iter().filter_map(changing_group));
    super::print_text(&dissector(&keys, &groups));
    Ok(ExitCode::SUCCESS)
}
