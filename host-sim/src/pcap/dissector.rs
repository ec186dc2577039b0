//! The dissector for Wireshark: a script in Lua, with the shapes of this program's own messages.

use super::PAN;
use super::shape::{Shape, trace};
use crate::base::ethernet::PORT;
use crate::nodes::protocol_node::key_of;
use crate::scenario::shipped::SHIPPED;
use crate::{Scenario, check};
use protocol::link::Acks;
use protocol::members;
use protocol::peers::detector::Heartbeat;
use protocol::peers::table::Hello;
use protocol::service::demo::{counter, diffusing, tokens};
use protocol::service::termination::{dijkstra_scholten, wave};
use protocol::service::{clock_sync, commit, requests, sequencer, snapshot};
use protocol::wire::{Key, Kind, Kinded};
use protocol::{election, lease, mutex, registry};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::{self, Write as _};
use std::iter::once;
use std::path::Path;

/// Visits the type of every message, with its kind.
pub(super) trait Visit {
    fn visit<T: Serialize + DeserializeOwned>(&mut self, kind: Kind);
}

macro_rules! visit_algorithms {
    ($visitor:ident, $layer:ident: $($name:ident in $module:ident = $kind:literal: $word:literal, $about:literal;)+) => {
        $($visitor.visit::<$layer::$module::Message>(<$layer::$module::Message as Kinded>::KIND);)+
    };
}

macro_rules! visit_services {
    ($visitor:ident: $($message:ty),+) => { $($visitor.visit::<$message>(<$message as Kinded>::KIND);)+ };
}

/// Visits all messages of the registry.
pub(super) fn each_message(visitor: &mut impl Visit) {
    visitor.visit::<Hello>(Kind::HELLO);
    visitor.visit::<Acks>(Kind::ACK);
    visitor.visit::<Heartbeat>(Kind::HEARTBEAT);
    protocol::for_each_election! { visit_algorithms visitor, election: }
    protocol::for_each_mutex! { visit_algorithms visitor, mutex: }
    visit_services!(visitor: lease::Message, tokens::Give, diffusing::Work, snapshot::Message, wave::Message);
    visit_services!(visitor: dijkstra_scholten::Message, clock_sync::Message, counter::Message, requests::Message);
    visit_services!(visitor: sequencer::Message, commit::Message);
}

/// The keys that the script has by itself: of every shipped scenario, of swarms, and of boards and desktop nodes that were
/// given no name of a group.
fn usual_keys() -> impl Iterator<Item = Key> {
    shipped().map(|scenario| key_of(&scenario)).chain(["swarm", "conclave"].map(Key::from_name))
}

fn shipped() -> impl Iterator<Item = Scenario> {
    SHIPPED.iter().filter_map(|(name, _)| Scenario::find(Path::new(name), check::OF_LOCKS).ok())
}

/// Returns the key of a scenario's group, if its list of members changes: the keys of its lists are derived from it.
pub(crate) fn changing_group(scenario: &Scenario) -> Option<Key> {
    scenario.members.map(|_| Key::from_name(&scenario.name))
}

/// Returns keys as the script has them, each once.
fn digits(keys: impl Iterator<Item = Key>) -> String {
    let mut lines: Vec<String> = Vec::new();
    for key in keys {
        let line = format!("    \"{:032x}\",\n", u128::from_be_bytes(key.bytes()));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.concat()
}

/// Returns the script, which opens frames with these keys and the usual ones, and those of groups whose list of members
/// may change.
pub(crate) fn dissector(keys: &[Key], groups: &[Key]) -> String {
    struct Shapes(String);

    impl Visit for Shapes {
        fn visit<T: Serialize + DeserializeOwned>(&mut self, kind: Kind) {
            let kinds = registry::kinds().chain(once((members::Message::KIND, "members")));
            let word = kinds.into_iter().find(|(listed, _)| *listed == kind).map_or("unknown", |(_, word)| word);
            let shape = Lua(&trace::<T>(|_| {})).to_string();
            let _ = writeln!(self.0, "[{}] = {{ \"{word}\", {shape} }},", kind.byte());
        }
    }

    let mut shapes = Shapes(String::new());
    each_message(&mut shapes);
    shapes.visit::<members::Message>(members::Message::KIND);
    let script = include_str!("dissector.lua");
    let script = script.replace("--[[PAN]]0", &format!("0x{PAN:04x}")).replace("--[[PORT]]0", &PORT.to_string());
    let keys = digits(keys.iter().cloned().chain(usual_keys()));
    let groups = digits(groups.iter().cloned().chain(shipped().filter_map(|scenario| changing_group(&scenario))));
    let script = script.replace("--[[CIPHER]]\n", include_str!("ascon.lua"));
    let script = script.replace("--[[KEYS]]\n", &keys).replace("--[[GROUPS]]\n", &groups);
    script.replace("--[[KINDS]]\n", &shapes.0)
}

/// A shape as an expression of the script.
struct Lua<'a>(&'a Shape);

impl fmt::Display for Lua<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = |f: &mut fmt::Formatter<'_>, word: &str, fields: &[(&str, Shape)]| {
            write!(f, "{word} {{ ")?;
            fields.iter().try_for_each(|(name, shape)| write!(f, "{{ \"{}\", {} }}, ", snake(name), Lua(shape)))?;
            f.write_str("}")
        };
        match self.0 {
            Shape::Unseen | Shape::Unit => f.write_str("UNIT"),
            Shape::Bool => f.write_str("BOOL"),
            Shape::Byte => f.write_str("BYTE"),
            Shape::Unsigned => f.write_str("UNSIGNED"),
            Shape::Signed => f.write_str("SIGNED"),
            Shape::Named(name, inner) => write!(f, "named(\"{name}\", {})", Lua(inner)),
            Shape::Maybe(inner) => write!(f, "maybe({})", Lua(inner)),
            Shape::List(inner) if **inner == Shape::Byte => f.write_str("BYTES"),
            Shape::List(inner) => write!(f, "list({})", Lua(inner)),
            Shape::Tuple(parts) => {
                f.write_str("tuple { ")?;
                parts.iter().try_for_each(|part| write!(f, "{}, ", Lua(part)))?;
                f.write_str("}")
            }
            Shape::Struct(named) => fields(f, "struct", named),
            Shape::Enum(named) if named.iter().all(|(_, shape)| *shape == Shape::Unit) => fields(f, "choice", named),
            Shape::Enum(named) => fields(f, "enum", named),
        }
    }
}

/// Returns a name in the form of a filter's: `RaiseTerm` is `raise_term`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests;
