//! Messages as data: what is serialised, under which kind, and how it travels.

use super::{Kind, Reach, decode, encode};
use serde::{Serialize, de::DeserializeOwned};

/// How a message travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Once, to the nodes in range: not acknowledged, not ordered.
    Unreliable,
    /// As [`Delivery::Unreliable`], but after a random delay, because many nodes are about to send.
    Jittered,
    /// By the link: acknowledged, in order, exactly once per pair of boots, over several hops where the group has them.
    Reliable,
    /// As [`Delivery::Reliable`], but superseded by the next message of the same name and topic to the same node, and
    /// dropped where the link has no room.
    ReliableLatest,
}

/// Gives a type of messages its kind on the wire: the registry does for those of this crate, so that a type which was
/// not listed there is no [`Message`]; an application of one's own takes one of [`Kind::application`].
pub trait Kinded {
    /// The kind of its frames.
    const KIND: Kind;
}

/// A message of one kind. [`Payload`] provides its encoding.
///
/// ```
/// use protocol::wire::{Kind, Kinded, Message};
///
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Reading { celsius: i16 }
///
/// impl Kinded for Reading {
///     const KIND: Kind = Kind::application::<0>();
/// }
///
/// impl Message for Reading {
///     fn name(&self) -> &'static str { "reading" }
/// }
/// ```
pub trait Message: Kinded + Clone + Serialize + DeserializeOwned {
    /// How it travels: reliably, unless a message says otherwise.
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    /// Its name, for counts and logs.
    fn name(&self) -> &'static str;

    /// Which of several things it is about, where there are several.
    fn topic(&self) -> u32 {
        0
    }

    /// The highest numbers it says; `None` where they cannot be read.
    fn reach(&self) -> Option<Reach> {
        Reach::of(self)
    }
}

/// What the body of a frame can hold: a [`Message`], or one of several.
pub trait Payload: Clone {
    /// The kind of its frame.
    fn kind(&self) -> Kind;

    /// How it travels.
    fn delivery(&self) -> Delivery;

    /// Its name, for counts and logs.
    fn name(&self) -> &'static str;

    /// Which of several things it is about, where there are several.
    fn topic(&self) -> u32;

    /// Writes the body; `None` where it does not fit.
    fn encode(&self, buffer: &mut [u8]) -> Option<usize>;

    /// Reads a body of `kind`; `None` where it is no such message.
    fn decode(kind: Kind, body: &[u8]) -> Option<Self>;

    /// The highest numbers it says; `None` where they cannot be read.
    fn reach(&self) -> Option<Reach>;
}

impl<M: Message> Payload for M {
    fn kind(&self) -> Kind {
        M::KIND
    }

    fn delivery(&self) -> Delivery {
        Message::delivery(self)
    }

    fn name(&self) -> &'static str {
        Message::name(self)
    }

    fn topic(&self) -> u32 {
        Message::topic(self)
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == M::KIND { decode(body) } else { None }
    }

    fn reach(&self) -> Option<Reach> {
        Message::reach(self)
    }
}

/// Makes an enum a [`Payload`]: each variant holds one. Kinds tell them apart.
macro_rules! one_of_payloads {
    ([$($generics:tt)*] $any:ty, $($variant:ident($payload:ty)),+ $(,)?) => {
        impl<$($generics)*> $crate::wire::Payload for $any {
            fn kind(&self) -> $crate::wire::Kind {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::kind(payload),)+ }
            }

            fn delivery(&self) -> $crate::wire::Delivery {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::delivery(payload),)+ }
            }

            fn name(&self) -> &'static str {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::name(payload),)+ }
            }

            fn topic(&self) -> u32 {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::topic(payload),)+ }
            }

            fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::encode(payload, buffer),)+ }
            }

            fn decode(kind: $crate::wire::Kind, body: &[u8]) -> Option<Self> {
                None$(.or_else(|| {
                    <$payload as $crate::wire::Payload>::decode(kind, body).map(Self::$variant)
                }))+
            }

            fn reach(&self) -> Option<$crate::wire::Reach> {
                match self { $(Self::$variant(payload) => $crate::wire::Payload::reach(payload),)+ }
            }
        }
    };
}

pub(crate) use one_of_payloads;

/// Implements [`Message`](crate::wire::Message) for `Message` from a table: the names of its messages, grouped by how they travel. A
/// variant without a name wraps messages that several algorithms share, which have names of their own; in the group `_`
/// they also know themselves how they travel.
macro_rules! impl_message {
    (
        $($delivery:ident: $($variant:ident $(= $name:literal)? $(($messages:ident))?),+;)+
        $(_: $shared:ident($shared_messages:ident);)?
        $({ $($topic:tt)+ })?
    ) => {
        impl $crate::wire::Message for Message {
            fn delivery(&self) -> $crate::wire::Delivery {
                match self {
                    $($(Self::$variant { .. })|+ => $crate::wire::Delivery::$delivery,)+
                    $(Self::$shared(message) => message.delivery(),)?
                }
            }

            fn name(&self) -> &'static str {
                match self {
                    $($(
                        $(Self::$variant { .. } => $name,)?
                        $(Self::$variant(message) => $messages::name(message),)?
                    )+)+
                    $(Self::$shared(message) => message.name(),)?
                }
            }

            $($($topic)+)?
        }

        $($($(impl From<$messages> for Message {
            fn from(message: $messages) -> Self {
                Self::$variant(message)
            }
        })?)+)+

        $(impl From<$shared_messages> for Message {
            fn from(message: $shared_messages) -> Self {
                Self::$shared(message)
            }
        })?
    };
}

pub(crate) use impl_message;

/// The messages of a stage that has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NoMessage {}

impl Payload for NoMessage {
    fn kind(&self) -> Kind {
        match *self {}
    }

    fn delivery(&self) -> Delivery {
        match *self {}
    }

    fn name(&self) -> &'static str {
        match *self {}
    }

    fn topic(&self) -> u32 {
        match *self {}
    }

    fn encode(&self, _: &mut [u8]) -> Option<usize> {
        match *self {}
    }

    fn decode(_: Kind, _: &[u8]) -> Option<Self> {
        None
    }

    fn reach(&self) -> Option<Reach> {
        match *self {}
    }
}
