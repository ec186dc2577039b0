//! A message that is one of several.

/// Has an enum of messages travel as whichever message it holds. Kinds tell them apart: the others make nothing of a body
/// that is not theirs.
macro_rules! any_message {
    ([$($generics:tt)*] $any:ty, $($variant:ident($message:ty)),+ $(,)?) => {
        impl<$($generics)*> $crate::wire::Message for $any {
            fn kind(&self) -> $crate::wire::Kind {
                match self { $(Self::$variant(message) => $crate::wire::Message::kind(message),)+ }
            }

            fn delivery(&self) -> $crate::wire::Delivery {
                match self { $(Self::$variant(message) => $crate::wire::Message::delivery(message),)+ }
            }

            fn word(&self) -> &'static str {
                match self { $(Self::$variant(message) => $crate::wire::Message::word(message),)+ }
            }

            fn about(&self) -> u32 {
                match self { $(Self::$variant(message) => $crate::wire::Message::about(message),)+ }
            }

            fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
                match self { $(Self::$variant(message) => $crate::wire::Message::encode(message, buffer),)+ }
            }

            fn decode(kind: $crate::wire::Kind, body: &[u8]) -> Option<Self> {
                None$(.or_else(|| {
                    <$message as $crate::wire::Message>::decode(kind, body).map(Self::$variant)
                }))+
            }
        }
    };
}

pub(crate) use any_message;
