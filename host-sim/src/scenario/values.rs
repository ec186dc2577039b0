//! The forms a value can have in a scenario: `"250ms"`, `"10%"`, `5`, `"leader"`, `["1ms", "5ms"]`.
//!
//! Each form refuses what it cannot be while it is read, so that the complaint carries the value's own line.

use crate::queue::Micros;
use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

/// A length of time: `"250ms"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Time(pub(super) Micros);

/// A share: `"10%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Share(pub(super) f64);

/// A whole number between two bounds, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whole<const LOW: i64, const HIGH: i64>(pub(super) i64);

/// A length in metres or a speed: above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Positive(pub(super) f64);

/// One value for both ends of a range, or `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Between<T> {
    pub(super) low: T,
    pub(super) high: T,
}

/// Seeds: `100` for the first hundred, or `"50..60"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seeds(pub(super) Range<u64>);

/// Nodes: `5`, `[1, 2]`, `"3..7"`, `"leader"`, `"holder"`, `"random"`, `"last"` or `"all"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    Listed(Vec<u32>),
    Leader,
    Holder,
    Random,
    Last,
    All,
}

/// A capacity, or `"unfit"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Worth(pub(super) Option<u16>);

/// The longest run, and so the longest time in a scenario: thirty days.
const TIME_MAX: Micros = 30 * 24 * 3_600_000_000;

const UNITS: [(&str, u64); 5] = [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

pub(super) fn parse_time(text: &str) -> Option<Micros> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = UNITS.iter().find(|(name, _)| *name == &text[digits.len()..])?.1;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |part: &str| !part.is_empty() && part.len() <= 15 && part.bytes().all(|byte| byte.is_ascii_digit());
    if !plain(whole) || !plain(fraction) {
        return None;
    }
    let fraction_unit = 10_u64.pow(fraction.len() as u32);
    let fraction = u128::from(fraction.parse::<u64>().ok()?) * u128::from(unit) / u128::from(fraction_unit);
    let total = u128::from(whole.parse::<u64>().ok()?) * u128::from(unit) + fraction;
    u64::try_from(total).ok().filter(|&micros| micros <= TIME_MAX)
}

fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once("..")?;
    let range = start.parse().ok()?..end.parse().ok()?;
    (range.start < range.end).then_some(range)
}

/// Reads a string by a rule that says what it expects.
struct Text<T, F> {
    expects: &'static str,
    read: F,
    made: PhantomData<T>,
}

impl<T, F: FnOnce(&str) -> Option<T>> Visitor<'_> for Text<T, F> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expects)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).ok_or_else(|| E::custom(format_args!("\"{text}\" is not {}", self.expects)))
    }
}

fn text<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    expects: &'static str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Text { expects, read, made: PhantomData })
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer, "a time such as \"250ms\", \"3s\" or \"1h\" (at most 30 days)", |text| {
            parse_time(text).map(Self)
        })
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer, "a share from \"0%\" to \"100%\"", |text| {
            let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
            (0.0..=100.0).contains(&percent).then_some(Self(percent / 100.0))
        })
    }
}

impl<'de, const LOW: i64, const HIGH: i64> Deserialize<'de> for Whole<LOW, HIGH> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number<const LOW: i64, const HIGH: i64>;
        impl<const LOW: i64, const HIGH: i64> Visitor<'_> for Number<LOW, HIGH> {
            type Value = Whole<LOW, HIGH>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {LOW} to {HIGH}")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Self::Value, E> {
                if (LOW..=HIGH).contains(&number) {
                    return Ok(Whole(number));
                }
                Err(E::custom(format_args!("{number} is out of range: it must be from {LOW} to {HIGH}")))
            }
        }
        deserializer.deserialize_i64(Number)
    }
}

impl<'de> Deserialize<'de> for Positive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Positive;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number above 0")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Positive, E> {
                // A simulated world of ten thousand kilometres is large enough, and floats are exact in it.
                if number > 0.0 && number <= 1e7 {
                    return Ok(Positive(number));
                }
                Err(E::custom(format_args!("{number} is out of range: it must be above 0 and at most 10000000")))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Positive, E> {
                self.visit_f64(number as f64)
            }
        }
        deserializer.deserialize_f64(Number)
    }
}

impl<'de, T: Deserialize<'de> + Copy> Deserialize<'de> for Between<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrTwo<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Copy> Visitor<'de> for OneOrTwo<T> {
            type Value = Between<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value, or two as [low, high]")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Between<T>, A::Error> {
                match *Vec::<T>::deserialize(SeqAccessDeserializer::new(list))? {
                    [low, high] => Ok(Between { low, high }),
                    _ => Err(A::Error::custom("a range is two values, as [low, high]")),
                }
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Between<T>, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(text))
                    .map(|both| Between { low: both, high: both })
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Between<T>, E> {
                T::deserialize(serde::de::value::F64Deserializer::new(number))
                    .map(|both| Between { low: both, high: both })
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Between<T>, E> {
                T::deserialize(serde::de::value::I64Deserializer::new(number))
                    .map(|both| Between { low: both, high: both })
            }
        }
        deserializer.deserialize_any(OneOrTwo(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountOrRange;
        impl Visitor<'_> for CountOrRange {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("how many seeds (100), or which (\"50..60\")")
            }
            fn visit_i64<E: Error>(self, count: i64) -> Result<Seeds, E> {
                match u64::try_from(count) {
                    Ok(count @ 1..=1_000_000) => Ok(Seeds(0..count)),
                    _ => Err(E::custom(format_args!("{count} is out of range: it must be from 1 to 1000000"))),
                }
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Seeds, E> {
                let range = parse_range(text).map(Seeds);
                range.ok_or_else(|| E::custom(format_args!("\"{text}\" is not a range such as \"50..60\"")))
            }
        }
        deserializer.deserialize_any(CountOrRange)
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;
        impl<'de> Visitor<'de> for Choice {
            type Value = Nodes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a node (5), nodes ([1, 2] or \"3..7\"), \"leader\", \"holder\", \"random\", \"last\" or \"all\"",
                )
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Nodes, E> {
                let node = u32::try_from(number);
                node.map(|node| Nodes::Listed(vec![node]))
                    .map_err(|_| E::custom(format_args!("{number} is not the number of a node")))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Nodes, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Nodes::Listed)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Nodes, E> {
                Ok(match text {
                    "leader" => Nodes::Leader,
                    "holder" => Nodes::Holder,
                    "random" => Nodes::Random,
                    "last" => Nodes::Last,
                    "all" => Nodes::All,
                    _ => {
                        let range = parse_range(text).filter(|range| u32::try_from(range.end).is_ok());
                        let range = range.ok_or_else(|| {
                            let expected =
                                "a node, a range of nodes, \"leader\", \"holder\", \"random\", \"last\" or \"all\"";
                            E::custom(format_args!("\"{text}\" is not {expected}"))
                        })?;
                        Nodes::Listed(range.map(|node| node as u32).collect())
                    }
                })
            }
        }
        deserializer.deserialize_any(Choice)
    }
}

impl<'de> Deserialize<'de> for Worth {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrUnfit;
        impl Visitor<'_> for NumberOrUnfit {
            type Value = Worth;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a capacity from 0 to 10000, or \"unfit\"")
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Worth, E> {
                match u16::try_from(number) {
                    Ok(worth @ 0..=10_000) => Ok(Worth(Some(worth))),
                    _ => Err(E::custom(format_args!("{number} is out of range: it must be from 0 to 10000"))),
                }
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Worth, E> {
                if text == "unfit" {
                    return Ok(Worth(None));
                }
                Err(E::custom(format_args!("\"{text}\" is not a capacity from 0 to 10000, or \"unfit\"")))
            }
        }
        deserializer.deserialize_any(NumberOrUnfit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_exactly() {
        let cases = [("250ms", 250_000), ("3s", 3_000_000), ("1.5s", 1_500_000), ("7us", 7), ("2m", 120_000_000)];
        for (text, micros) in cases {
            assert_eq!(parse_time(text), Some(micros), "{text}");
        }
        for text in ["", "s", "3", "3 s", "-3s", "3sec", "1.s", ".5s", "31d", "721h", "99999999999999999h"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }
}
