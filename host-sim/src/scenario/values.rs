//! The forms of values in a scenario: `"250ms"`, `"10%"`, `5`, `"leader"`, `["1ms", "5ms"]`.
//!
//! Each form is validated while it is read, so that an error carries the value's own line.

use crate::base::Micros;
use serde::Deserialize;
use std::ops::Range;
use toml::Value;

/// A duration: `"250ms"`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value")]
pub(super) struct Time(pub(super) Micros);

/// A share: `"10%"`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub(super) struct Share(pub(super) f64);

/// A whole number between two bounds, both included.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value")]
pub(super) struct Whole<const LOW: i64, const HIGH: i64>(pub(super) i64);

/// A length in metres or a speed: above zero.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(try_from = "Value")]
pub(super) struct Positive(pub(super) f64);

/// One value for both ends of a range, or `[low, high]`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value", bound = "T: Copy + TryFrom<Value, Error = String>")]
pub(super) struct Between<T> {
    pub(super) low: T,
    pub(super) high: T,
}

/// Seeds: `100` for the first hundred, or `"50..60"`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value")]
pub(super) struct Seeds(pub(super) Range<u64>);

/// Nodes: `5`, `[1, 2]`, `"3..7"`, `"leader"`, `"holder"`, `"random"`, `"last"` or `"all"`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value")]
pub(super) enum Nodes {
    Listed(Vec<u32>),
    Leader,
    Holder,
    Random,
    Last,
    All,
}

/// A capacity, or `"unfit"`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(try_from = "Value")]
pub(super) struct CapacityValue(pub(super) Option<u16>);

/// The longest run, and so the longest time in a scenario: thirty days.
const TIME_MAX: Micros = 30 * 24 * 3_600_000_000;

const UNITS: [(&str, u64); 5] = [("us", 1), ("ms", 1_000), ("s", 1_000_000), ("m", 60_000_000), ("h", 3_600_000_000)];

fn parse_time(text: &str) -> Option<Micros> {
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

fn parse_share(text: &str) -> Option<f64> {
    let percent: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

fn parse_range(text: &str) -> Option<Range<u64>> {
    let (start, end) = text.split_once("..")?;
    let range = start.parse().ok()?..end.parse().ok()?;
    (range.start < range.end).then_some(range)
}

/// Returns a value as it is written in a file.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{text}\""),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        other => format!("this {}", other.type_str()),
    }
}

fn is_not(value: &Value, expected: &str) -> String {
    format!("{} is not {expected}", written(value))
}

fn out_of_range(value: &Value, range: &str) -> String {
    format!("{} is out of range: it must be {range}", written(value))
}

impl TryFrom<Value> for Time {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let expected = "a time such as \"250ms\", \"3s\" or \"1h\" (at most 30 days)";
        value.as_str().and_then(parse_time).map(Self).ok_or_else(|| is_not(&value, expected))
    }
}

impl TryFrom<Value> for Share {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let share = value.as_str().and_then(parse_share);
        share.map(Self).ok_or_else(|| is_not(&value, "a share from \"0%\" to \"100%\""))
    }
}

impl<const LOW: i64, const HIGH: i64> TryFrom<Value> for Whole<LOW, HIGH> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value.as_integer() {
            Some(number) if (LOW..=HIGH).contains(&number) => Ok(Self(number)),
            Some(_) => Err(out_of_range(&value, &format!("from {LOW} to {HIGH}"))),
            None => Err(is_not(&value, &format!("a whole number from {LOW} to {HIGH}"))),
        }
    }
}

impl TryFrom<Value> for Positive {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        // Ten thousand kilometres are large enough for a simulated world, and floats are exact in it.
        match value.as_float().or(value.as_integer().map(|number| number as f64)) {
            Some(number) if number > 0.0 && number <= 1e7 => Ok(Self(number)),
            Some(_) => Err(out_of_range(&value, "above 0 and at most 10000000")),
            None => Err(is_not(&value, "a number above 0")),
        }
    }
}

impl<T: Copy + TryFrom<Value, Error = String>> TryFrom<Value> for Between<T> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::Array(list) => match <[Value; 2]>::try_from(list) {
                Ok([low, high]) => Ok(Self { low: T::try_from(low)?, high: T::try_from(high)? }),
                Err(_) => Err("a range is two values, as [low, high]".to_owned()),
            },
            one => T::try_from(one).map(|both| Self { low: both, high: both }),
        }
    }
}

impl TryFrom<Value> for Seeds {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::Integer(count @ 1..=1_000_000) => Ok(Self(0..count.cast_unsigned())),
            Value::Integer(_) => Err(out_of_range(&value, "from 1 to 1000000")),
            Value::String(text) => {
                parse_range(text).map(Self).ok_or_else(|| is_not(&value, "a range such as \"50..60\""))
            }
            _ => Err(is_not(&value, "a number of seeds (100), or a range (\"50..60\")")),
        }
    }
}

impl TryFrom<Value> for Nodes {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let id = |value: &Value| {
            let id = value.as_integer().and_then(|number| u32::try_from(number).ok());
            id.ok_or_else(|| is_not(value, "the number of a node"))
        };
        match &value {
            Value::Integer(_) => Ok(Self::Listed(vec![id(&value)?])),
            Value::Array(list) => list.iter().map(id).collect::<Result<_, _>>().map(Self::Listed),
            _ => match value.as_str() {
                Some("leader") => Ok(Self::Leader),
                Some("holder") => Ok(Self::Holder),
                Some("random") => Ok(Self::Random),
                Some("last") => Ok(Self::Last),
                Some("all") => Ok(Self::All),
                text => {
                    let range = text.and_then(parse_range).filter(|range| u32::try_from(range.end).is_ok());
                    let expected = "a node, a range of nodes, \"leader\", \"holder\", \"random\", \"last\" or \"all\"";
                    let range = range.ok_or_else(|| is_not(&value, expected))?;
                    Ok(Self::Listed(range.map(|node| node as u32).collect()))
                }
            },
        }
    }
}

impl TryFrom<Value> for CapacityValue {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::Integer(number @ 0..=10_000) => Ok(Self(Some(*number as u16))),
            Value::Integer(_) => Err(out_of_range(&value, "from 0 to 10000")),
            Value::String(text) if text == "unfit" => Ok(Self(None)),
            _ => Err(is_not(&value, "a capacity from 0 to 10000, or \"unfit\"")),
        }
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
