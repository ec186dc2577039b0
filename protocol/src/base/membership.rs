//! Whether a node belongs to a group, as a type.
//!
//! A node's membership is decided once, when it is built: [`NoGroup`] links nothing that only groups need (failure
//! detector, leader lease, views), [`Group`] is a list of members that was checked, `Option<Group>` leaves the choice
//! to run time. A group algorithm in a node without a group is a [`ConfigError`].

use super::config::ConfigError;
use super::ids::{NodeId, SLOTS_MAX};
use core::array::from_fn;
use core::fmt::Debug;
use heapless::{Vec, VecView};

/// How many messages of its own a node without a group queues.
const QUEUE_ALONE: usize = 10;
/// How many messages of its own a member queues: an answer for each of 15 others, and what it sends besides.
const QUEUE_GROUPED: usize = 24;

/// Which roster an algorithm works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The nodes in radio range, as they come and go; different at every node.
    Neighbours,
    /// The configured group, the same at every node.
    Group,
    /// None: it exchanges no messages.
    Nobody,
}

/// What a node knows of its group when it is built.
pub trait Membership {
    /// Whether the node may belong to a group at all.
    const GROUPED: bool = true;

    /// Something for each of at most `N` members; nothing where there is no group.
    type PerMember<T: Clone + Debug, const N: usize>: AsRef<[T]> + AsMut<[T]> + Clone + Debug;

    /// The same thing for each member.
    fn per_member<T: Clone + Debug, const N: usize>(thing: T) -> Self::PerMember<T, N>;

    /// The node's queue of own messages.
    type Queue<T: Clone>: Queue<T>;

    /// The members, in the order that all of them share; empty for a node without a group.
    fn members(&self) -> &[NodeId];
}

/// A list of bounded length.
pub trait Queue<T>: Clone {
    /// The empty list.
    const EMPTY: Self;

    /// What it holds.
    fn list(&self) -> &VecView<T, u8>;

    /// What it holds, to be changed.
    fn list_mut(&mut self) -> &mut VecView<T, u8>;
}

impl<T: Clone, const LENGTH: usize> Queue<T> for Vec<T, LENGTH, u8> {
    const EMPTY: Self = Self::new();

    fn list(&self) -> &VecView<T, u8> {
        self
    }

    fn list_mut(&mut self) -> &mut VecView<T, u8> {
        self
    }
}

/// No group: the node deals with its radio neighbours only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoGroup;

impl Membership for NoGroup {
    const GROUPED: bool = false;

    type PerMember<T: Clone + Debug, const N: usize> = [T; 0];

    fn per_member<T: Clone + Debug, const N: usize>(_: T) -> [T; 0] {
        []
    }

    type Queue<T: Clone> = Vec<T, QUEUE_ALONE, u8>;

    fn members(&self) -> &[NodeId] {
        &[]
    }
}

/// A group: its members, in the order that all of them share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group(Vec<NodeId, SLOTS_MAX>);

impl Group {
    /// The group of these members.
    ///
    /// ```
    /// use protocol::NodeId;
    /// use protocol::base::{config::ConfigError, membership::Group};
    ///
    /// assert!(Group::of(&[NodeId(1), NodeId(2), NodeId(3)]).is_ok());
    /// assert_eq!(Group::of(&[NodeId(1), NodeId(1)]).err(), Some(ConfigError::RepeatedMember));
    /// ```
    ///
    /// # Errors
    /// [`ConfigError::NoGroup`] where there are none, [`ConfigError::LargeGroup`] where they are more than a set can
    /// hold, [`ConfigError::RepeatedMember`] where one stands twice in the list.
    pub fn of(members: &[NodeId]) -> Result<Self, ConfigError> {
        if members.is_empty() {
            return Err(ConfigError::NoGroup);
        }
        let mut list = Vec::new();
        for &member in members {
            if list.contains(&member) {
                return Err(ConfigError::RepeatedMember);
            }
            list.push(member).map_err(|_| ConfigError::LargeGroup)?;
        }
        Ok(Self(list))
    }
}

impl Membership for Group {
    type PerMember<T: Clone + Debug, const N: usize> = [T; N];

    fn per_member<T: Clone + Debug, const N: usize>(thing: T) -> [T; N] {
        from_fn(|_| thing.clone())
    }

    type Queue<T: Clone> = Vec<T, QUEUE_GROUPED, u8>;

    fn members(&self) -> &[NodeId] {
        &self.0
    }
}

impl Membership for Option<Group> {
    type PerMember<T: Clone + Debug, const N: usize> = [T; N];

    fn per_member<T: Clone + Debug, const N: usize>(thing: T) -> [T; N] {
        from_fn(|_| thing.clone())
    }

    type Queue<T: Clone> = Vec<T, QUEUE_GROUPED, u8>;

    fn members(&self) -> &[NodeId] {
        self.as_ref().map_or(&[], Group::members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_has_members_each_of_them_once_and_no_more_than_a_set_holds() {
        assert_eq!(Group::of(&[]), Err(ConfigError::NoGroup));
        assert_eq!(Group::of(&[NodeId(3), NodeId(3)]), Err(ConfigError::RepeatedMember));
        let many: std::vec::Vec<_> = (0..=64).map(NodeId).collect();
        assert_eq!(Group::of(&many), Err(ConfigError::LargeGroup));
        assert_eq!(Group::of(&many[..64]).map(|group| group.members().len()), Ok(64));
    }
}
