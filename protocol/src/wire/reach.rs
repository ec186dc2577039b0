//! The highest numbers a message says, whatever its type: it is written to a serializer that keeps nothing else.

use core::fmt::{self, Display};
use serde::ser::{self, Impossible, Serialize};

/// The highest term and the highest Lamport time in a message; 0 where it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Of terms, and of rounds, which become terms.
    pub term: u32,
    /// Of Lamport times.
    pub time: u64,
    within: Within,
}

/// What the numbers mean that come next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Within {
    #[default]
    Other,
    Term,
    Time,
}

impl Reach {
    /// Reads a message; `None` where its type has an encoding of its own that cannot be read.
    pub fn of(message: &impl Serialize) -> Option<Self> {
        let mut reach = Self::default();
        message.serialize(&mut reach).ok()?;
        Some(reach)
    }

    /// Of a message that says one term and no Lamport time.
    pub(crate) const fn of_term(term: u32) -> Self {
        Self { term, time: 0, within: Within::Other }
    }

    fn read<T: Serialize + ?Sized>(&mut self, within: Within, value: &T) -> Result<(), Unreadable> {
        let outer = core::mem::replace(&mut self.within, within);
        let result = value.serialize(&mut *self);
        self.within = outer;
        result
    }

    fn read_field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Unreadable> {
        self.read(if name == "round" { Within::Term } else { self.within }, value)
    }
}

/// The type has an encoding of its own.
#[derive(Debug)]
pub struct Unreadable;

impl Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a message")
    }
}

impl core::error::Error for Unreadable {}

impl ser::Error for Unreadable {
    fn custom<T: Display>(_: T) -> Self {
        Self
    }
}

/// Values that are neither terms nor times.
macro_rules! skip {
    ($($method:ident: $value:ty),+ $(,)?) => {
        $(fn $method(self, _: $value) -> Result<(), Unreadable> {
            Ok(())
        })+
    };
}

impl<'r> ser::Serializer for &'r mut Reach {
    type Ok = ();
    type Error = Unreadable;
    type SerializeSeq = &'r mut Reach;
    type SerializeTuple = &'r mut Reach;
    type SerializeTupleStruct = &'r mut Reach;
    type SerializeTupleVariant = &'r mut Reach;
    type SerializeMap = Impossible<(), Unreadable>;
    type SerializeStruct = Outer<'r>;
    type SerializeStructVariant = Outer<'r>;

    skip! {
        serialize_bool: bool, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_unit_struct: &'static str,
    }

    fn serialize_u32(self, value: u32) -> Result<(), Unreadable> {
        if self.within == Within::Term {
            self.term = self.term.max(value);
        }
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Unreadable> {
        if self.within == Within::Time {
            self.time = self.time.max(value);
        }
        Ok(())
    }

    fn serialize_f32(self, _: f32) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_f64(self, _: f64) -> Result<(), Unreadable> {
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, _: &T) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unreadable> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Unreadable> {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, name: &'static str, value: &T) -> Result<(), Unreadable> {
        self.read(if name == "LamportTime" { Within::Time } else { Within::Other }, value)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unreadable> {
        self.read(Within::Other, value)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Unreadable> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unreadable> {
        Err(Unreadable)
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Outer<'r>, Unreadable> {
        let within = if name == "Term" { Within::Term } else { Within::Other };
        let outer = core::mem::replace(&mut self.within, within);
        Ok(Outer { reach: self, outer })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Outer<'r>, Unreadable> {
        let outer = self.within;
        Ok(Outer { reach: self, outer })
    }
}

/// A struct that is read, and what it is within.
pub struct Outer<'r> {
    reach: &'r mut Reach,
    outer: Within,
}

impl ser::SerializeStruct for Outer<'_> {
    type Ok = ();
    type Error = Unreadable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unreadable> {
        self.reach.read_field(name, value)
    }

    fn end(self) -> Result<(), Unreadable> {
        self.reach.within = self.outer;
        Ok(())
    }
}

impl ser::SerializeStructVariant for Outer<'_> {
    type Ok = ();
    type Error = Unreadable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unreadable> {
        self.reach.read_field(name, value)
    }

    fn end(self) -> Result<(), Unreadable> {
        Ok(())
    }
}

/// Sequences and tuples.
macro_rules! elements {
    ($($sequence:ident: $method:ident),+ $(,)?) => {
        $(impl ser::$sequence for &mut Reach {
            type Ok = ();
            type Error = Unreadable;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unreadable> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Unreadable> {
                Ok(())
            }
        })+
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::NodeId;
    use crate::base::lamport::LamportTime;
    use crate::base::term::Term;
    use heapless::Vec;

    #[derive(serde::Serialize)]
    enum Said {
        Plain { number: u32, wide: u64 },
        Leads { term: Term, count: u32 },
        Joins { round: u32, then: Option<Vec<(u8, LamportTime), 2>> },
        Wraps(Term),
    }

    fn reach(said: &Said) -> (u32, u64) {
        let reach = Reach::of(said).unwrap();
        (reach.term, reach.time)
    }

    #[test]
    fn terms_rounds_and_times_are_found_wherever_they_stand_and_nothing_else() {
        let term = Term { number: 5, by: NodeId(900) };
        assert_eq!(reach(&Said::Plain { number: 7, wide: 8 }), (0, 0));
        assert_eq!(reach(&Said::Leads { term, count: 1_000 }), (5, 0));
        let then = Some(Vec::from_array([(1, LamportTime(30)), (2, LamportTime(20))]));
        assert_eq!(reach(&Said::Joins { round: 6, then }), (6, 30));
        assert_eq!(reach(&Said::Wraps(term)), (5, 0));
    }
}
