//! From the text of a file to its tables.
//!
//! The TOML crate parses; its own reader of parsed files would be a sixth of the page's module, because it is compiled again
//! for every type of value. This one knows what scenarios have, and borrows what was parsed.

use serde::de::value::{StrDeserializer, UsizeDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

type Parsed<'a> = toml::Spanned<DeValue<'a>>;

/// Reads the tables of a file.
pub(super) fn read<T: DeserializeOwned>(source: &str) -> Result<T, ReadError> {
    let parsed = DeTable::parse(source).map_err(|error| ReadError::of_toml(&error))?;
    let span = parsed.span();
    T::deserialize(Value(&toml::Spanned::new(span, DeValue::Table(parsed.into_inner()))))
}

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct ReadError {
    pub(super) text: String,
    pub(super) span: Option<Range<usize>>,
}

impl ReadError {
    fn of_toml(error: &toml::de::Error) -> Self {
        Self { text: error.message().to_owned(), span: error.span() }
    }

    /// Adds a place, unless a closer one is known.
    fn or_at(self, span: Range<usize>) -> Self {
        Self { span: self.span.or(Some(span)), ..self }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self { text: text.to_string(), span: None }
    }
}

/// A value with its place in the file.
pub(super) struct Spanned<T> {
    span: Range<usize>,
    value: T,
}

impl<T> Spanned<T> {
    /// What this type calls itself to the deserializer, which then gives the place as well.
    const NAME: &'static str = "a value and its place";

    pub(super) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(super) fn get_ref(&self) -> &T {
        &self.value
    }

    pub(super) fn into_inner(self) -> T {
        self.value
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Parts<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
            type Value = Spanned<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Spanned::<T>::NAME)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Spanned<T>, A::Error> {
                let missing = || A::Error::custom("a value has no place");
                let start = parts.next_element()?.ok_or_else(missing)?;
                let end = parts.next_element()?.ok_or_else(missing)?;
                Ok(Spanned { span: start..end, value: parts.next_element()?.ok_or_else(missing)? })
            }
        }

        deserializer.deserialize_newtype_struct(Self::NAME, Parts(PhantomData))
    }
}

/// A parsed value to be read.
#[derive(Clone, Copy)]
struct Value<'a>(&'a Parsed<'a>);

impl<'de> Deserializer<'de> for Value<'de> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.0.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Integer(number) => integer(number).and_then(|number| visitor.visit_i64(number)),
            DeValue::Float(number) => match number.as_str().parse() {
                Ok(number) => visitor.visit_f64(number),
                Err(_) => Err(ReadError::custom("this number cannot be read")),
            },
            DeValue::Boolean(value) => visitor.visit_bool(*value),
            DeValue::Datetime(_) => Err(ReadError::custom("a scenario has no dates")),
            DeValue::Array(items) => visitor.visit_seq(Items(items.iter())),
            DeValue::Table(table) => visitor.visit_map(Entries { table: table.iter(), value: None }),
        };
        read.map_err(|error| error.or_at(self.0.span()))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        if name == Spanned::<()>::NAME {
            visitor.visit_seq(Placed { value: self, given: 0 })
        } else {
            visitor.visit_newtype_struct(self)
        }
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 char str string seq bytes byte_buf map unit ignored_any unit_struct
        tuple_struct tuple identifier struct enum
    }
}

/// Numbers are written in decimal, or after `0x`, `0o` and `0b`, which the parser has taken away.
fn integer(number: &DeInteger<'_>) -> Result<i64, ReadError> {
    i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| ReadError::custom("this number is too large"))
}

/// The start of a value, its end, and the value.
struct Placed<'a> {
    value: Value<'a>,
    given: u8,
}

impl<'de> SeqAccess<'de> for Placed<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Range { start, end } = self.value.0.span();
        self.given += 1;
        match self.given {
            1 => seed.deserialize(UsizeDeserializer::new(start)).map(Some),
            2 => seed.deserialize(UsizeDeserializer::new(end)).map(Some),
            _ => seed.deserialize(self.value).map(Some),
        }
    }
}

struct Items<'a>(std::slice::Iter<'a, Parsed<'a>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        self.0.next().map(|item| seed.deserialize(Value(item))).transpose()
    }
}

struct Entries<'a> {
    table: toml::map::Iter<'a, toml::Spanned<DeString<'a>>, Parsed<'a>>,
    /// The value of the key that was read last.
    value: Option<&'a Parsed<'a>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        let Some((key, value)) = self.table.next() else { return Ok(None) };
        self.value = Some(value);
        let name = StrDeserializer::<ReadError>::new(key.get_ref());
        seed.deserialize(name).map(Some).map_err(|error| error.or_at(key.span()))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let value = self.value.take().ok_or_else(|| ReadError::custom("a key comes before its value"))?;
        seed.deserialize(Value(value)).map_err(|error| error.or_at(value.span()))
    }
}
