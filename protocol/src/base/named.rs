//! Options that are chosen by name.

/// Names the variants of an option enum, for scenarios, command lines and boards.
macro_rules! named {
    ($option:ty: $($variant:ident = $name:literal),+ $(,)?) => {
        impl $option {
            /// The names of all choices.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Returns the name of this choice.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the choice with this name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named;
