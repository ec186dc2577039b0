//! The shape of a message, traced from its type: every field and every variant by name.
//!
//! A type that can be decoded visits a deserializer field by field. [`Tracer`] is one that reads no bytes: it writes down
//! what it is asked for, and answers with sample values. An enum or an option is asked for again until every variant was
//! seen, so the samples cover them all.

use serde::de::value::U32Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, SeqAccess};
use serde::de::{VariantAccess, Visitor};
use std::fmt;

/// The shape of a value, as far as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shape {
    #[default]
    Unseen,
    Unit,
    Bool,
    /// One byte, whatever its value.
    Byte,
    /// A varint.
    Unsigned,
    /// A varint after zigzag.
    Signed,
    /// A type of one field: its name says what the number means.
    Named(&'static str, Box<Shape>),
    Maybe(Box<Shape>),
    /// A length, then so many values.
    List(Box<Shape>),
    /// Values one after the other.
    Tuple(Vec<Shape>),
    Struct(Vec<(&'static str, Shape)>),
    Enum(Vec<(&'static str, Shape)>),
}

impl Shape {
    /// Adds what another sample of the same type has shown.
    fn merge(&mut self, other: Self) {
        match (self, other) {
            (this @ Self::Unseen, other) => *this = other,
            (_, Self::Unseen) => {}
            (Self::Named(_, this) | Self::Maybe(this) | Self::List(this), other) => {
                if let Self::Named(_, other) | Self::Maybe(other) | Self::List(other) = other {
                    this.merge(*other);
                }
            }
            (Self::Tuple(these), Self::Tuple(others)) => {
                these.iter_mut().zip(others).for_each(|(this, other)| this.merge(other));
            }
            (Self::Struct(these), Self::Struct(others)) | (Self::Enum(these), Self::Enum(others)) => {
                these.iter_mut().zip(others).for_each(|((_, this), (_, other))| this.merge(other));
            }
            _ => {} // a value without parts
        }
    }
}

/// Returns the shape of `T`; `sample` is called with values that have every variant between them.
pub(crate) fn trace<T: DeserializeOwned>(mut sample: impl FnMut(&T)) -> Shape {
    let mut shape = Shape::default();
    let mut choices = Choices::default();
    loop {
        choices.at = 0;
        let mut seen = Shape::default();
        let value = T::deserialize(Tracer { choices: &mut choices, shape: &mut seen });
        let value = value.expect("a message of the protocol decodes whatever its numbers are");
        shape.merge(seen);
        sample(&value);
        if !choices.advance() {
            return shape;
        }
    }
}

/// The variants chosen in one pass, in the order of the questions; each pass differs from all before.
#[derive(Default)]
struct Choices {
    made: Vec<(u32, u32)>,
    at: usize,
}

impl Choices {
    /// Chooses one of so many.
    fn choose(&mut self, count: u32) -> u32 {
        if self.at == self.made.len() {
            self.made.push((0, count));
        }
        self.at += 1;
        self.made[self.at - 1].0
    }

    /// Moves on to the next combination; returns whether there is one.
    fn advance(&mut self) -> bool {
        while let Some((chosen, count)) = self.made.pop() {
            if chosen + 1 < count {
                self.made.push((chosen + 1, count));
                return true;
            }
        }
        false
    }

    /// Answers with so many values, one after the other.
    fn parts<'de, V: Visitor<'de>>(&mut self, len: usize, visitor: V) -> Result<(Vec<Shape>, V::Value), Untraceable> {
        let mut parts = Parts { choices: self, seen: Vec::new(), len };
        let value = visitor.visit_seq(&mut parts)?;
        Ok((parts.seen, value))
    }
}

/// Why a type cannot be traced: it is none that postcard can decode.
#[derive(Debug)]
pub(super) struct Untraceable(String);

impl fmt::Display for Untraceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Untraceable {}

impl serde::de::Error for Untraceable {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self(text.to_string())
    }
}

struct Tracer<'a> {
    choices: &'a mut Choices,
    shape: &'a mut Shape,
}

/// A number that takes more than one byte.
const SAMPLE: u16 = 300;

/// Answers questions for a number.
macro_rules! numbers {
    ($($method:ident, $visit:ident: $shape:ident = $sample:expr;)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untraceable> {
            *self.shape = Shape::$shape;
            visitor.$visit($sample)
        })+
    };
}

/// Refuses questions that postcard does not answer, or no message asks.
macro_rules! refused {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Untraceable> {
            Err(Untraceable(concat!("no message is read by ", stringify!($method)).to_owned()))
        })+
    };
}

impl<'de> Deserializer<'de> for Tracer<'_> {
    type Error = Untraceable;

    numbers! {
        deserialize_bool, visit_bool: Bool = true;
        deserialize_u8, visit_u8: Byte = 200;
        deserialize_u16, visit_u16: Unsigned = SAMPLE;
        deserialize_u32, visit_u32: Unsigned = SAMPLE.into();
        deserialize_u64, visit_u64: Unsigned = SAMPLE.into();
        deserialize_i16, visit_i16: Signed = -300;
        deserialize_i32, visit_i32: Signed = -300;
        deserialize_i64, visit_i64: Signed = -300;
    }

    refused! {
        deserialize_any deserialize_i8 deserialize_f32 deserialize_f64 deserialize_char deserialize_str
        deserialize_string deserialize_bytes deserialize_byte_buf deserialize_map deserialize_identifier
        deserialize_ignored_any
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untraceable> {
        *self.shape = Shape::Unit;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Untraceable> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untraceable> {
        let mut inner = Shape::default();
        let chosen = self.choices.choose(2);
        let value = match chosen {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(Tracer { choices: self.choices, shape: &mut inner }),
        };
        *self.shape = Shape::Maybe(Box::new(inner));
        value
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Untraceable> {
        let mut inner = Shape::default();
        let value = visitor.visit_newtype_struct(Tracer { choices: self.choices, shape: &mut inner });
        *self.shape = Shape::Named(name, Box::new(inner));
        value
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Untraceable> {
        let (items, value) = self.choices.parts(1, visitor)?;
        *self.shape = Shape::List(Box::new(items.into_iter().next().unwrap_or_default()));
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Untraceable> {
        let (items, value) = self.choices.parts(len, visitor)?;
        *self.shape = Shape::Tuple(items);
        Ok(value)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, Untraceable> {
        self.deserialize_tuple(len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Untraceable> {
        let (items, value) = self.choices.parts(fields.len(), visitor)?;
        *self.shape = Shape::Struct(fields.iter().copied().zip(items).collect());
        Ok(value)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Untraceable> {
        let chosen = self.choices.choose(variants.len() as u32);
        let mut inner = Shape::default();
        let value = visitor.visit_enum(Variant { chosen, choices: self.choices, shape: &mut inner });
        let mut shapes: Vec<_> = variants.iter().map(|&name| (name, Shape::Unseen)).collect();
        shapes[chosen as usize].1 = inner;
        *self.shape = Shape::Enum(shapes);
        value
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

struct Parts<'a> {
    choices: &'a mut Choices,
    seen: Vec<Shape>,
    len: usize,
}

impl<'de> SeqAccess<'de> for &mut Parts<'_> {
    type Error = Untraceable;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Untraceable> {
        if self.seen.len() == self.len {
            return Ok(None);
        }
        let mut shape = Shape::default();
        let value = seed.deserialize(Tracer { choices: self.choices, shape: &mut shape })?;
        self.seen.push(shape);
        Ok(Some(value))
    }
}

struct Variant<'a> {
    chosen: u32,
    choices: &'a mut Choices,
    shape: &'a mut Shape,
}

impl<'a, 'de> EnumAccess<'de> for Variant<'a> {
    type Error = Untraceable;
    type Variant = Tracer<'a>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Tracer<'a>), Untraceable> {
        let index: U32Deserializer<Untraceable> = self.chosen.into_deserializer();
        Ok((seed.deserialize(index)?, Tracer { choices: self.choices, shape: self.shape }))
    }
}

impl<'de> VariantAccess<'de> for Tracer<'_> {
    type Error = Untraceable;

    fn unit_variant(self) -> Result<(), Untraceable> {
        *self.shape = Shape::Unit;
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Untraceable> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Untraceable> {
        self.deserialize_tuple(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Untraceable> {
        self.deserialize_struct("", fields, visitor)
    }
}
