//! Reliable messages of the nodes' stages, as the stages send and receive them: the link below decides how often one
//! arrives. They are no events of the trace, and not part of its hash.

/// A reliable message from one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReliableMessage {
    /// The id of the sender.
    pub from: u32,
    /// The id of the receiver.
    pub to: u32,
    /// The Lamport time of the step that sent it.
    pub sent_at: u64,
    /// A digest of its kind and its bytes.
    pub digest: u64,
    /// Its name.
    pub name: &'static str,
}

/// What a stage does with a reliable message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageEvent {
    /// It gives the message to its link, once for each receiver.
    Sends(ReliableMessage),
    /// Its link delivers the message.
    Receives(ReliableMessage),
}
