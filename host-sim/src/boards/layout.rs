//! Memory maps, parsed from linker scripts: the part of the language that the boards' maps use.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region {
    pub name: String,
    pub origin: u64,
    pub bytes: u64,
}

impl Region {
    pub(crate) fn holds(&self, address: u64, bytes: u64) -> bool {
        address >= self.origin && address.saturating_add(bytes) <= self.origin + self.bytes
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub regions: Vec<Region>,
}

impl Layout {
    /// Parses the `MEMORY` block of a linker script; `None` if there is none or its syntax is not supported.
    pub(crate) fn parse(script: &str) -> Option<Self> {
        let (_, rest) = script.split_once("MEMORY")?;
        let (body, _) = rest.split_once('{')?.1.split_once('}')?;
        let regions = body.lines().map(str::trim).filter(|line| !line.is_empty()).map(region).collect::<Option<_>>()?;
        Some(Self { regions })
    }

    pub(crate) fn region(&self, name: &str) -> Option<&Region> {
        self.regions.iter().find(|region| region.name == name)
    }
}

/// Parses `NAME : ORIGIN = number, LENGTH = sum`.
fn region(line: &str) -> Option<Region> {
    let (name, rest) = line.split_once(':')?;
    let (origin, length) = rest.split_once(',')?;
    let origin = origin.trim().strip_prefix("ORIGIN")?.trim().strip_prefix('=')?;
    let length = length.trim().strip_prefix("LENGTH")?.trim().strip_prefix('=')?;
    Some(Region { name: name.trim().to_owned(), origin: sum(origin)?, bytes: sum(length)? })
}

/// Parses a difference: the first number less the others.
fn sum(text: &str) -> Option<u64> {
    let mut numbers = text.split('-').map(number);
    let first = numbers.next()??;
    numbers.try_fold(first, |left, next| left.checked_sub(next?))
}

/// Parses a number of a linker script: hexadecimal after `0x`, or with the suffix `K` or `M`.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let units = [('K', 1024), ('M', 1024 * 1024)];
    let unit = units.into_iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, unit)));
    let (digits, unit) = unit.unwrap_or((text, 1));
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::{Layout, Region};

    #[test]
    fn a_map_is_parsed_as_the_linker_parses_it() {
        let script = "/* words */\nMEMORY\n{\n  A : ORIGIN = 0x100, LENGTH = 2M - 0x100 - 4K\n  B : ORIGIN = 16, LENGTH = 1\n}\n";
        let regions = vec![
            Region { name: "A".into(), origin: 0x100, bytes: 2 * 1024 * 1024 - 0x100 - 4096 },
            Region { name: "B".into(), origin: 16, bytes: 1 },
        ];
        assert_eq!(Layout::parse(script), Some(Layout { regions }));
    }

    #[test]
    fn unsupported_syntax_is_refused() {
        for script in ["", "MEMORY {\n A : ORIGIN = 0, LENGTH = 4K + 1\n}", "MEMORY {\n A : ORIGIN = x, LENGTH = 1\n}"]
        {
            assert_eq!(Layout::parse(script), None, "{script}");
        }
    }

    #[test]
    fn a_region_contains_a_range_up_to_its_end() {
        let region = Region { name: String::new(), origin: 100, bytes: 10 };
        assert!(region.holds(100, 10) && region.holds(110, 0) && region.holds(105, 5));
        assert!(!region.holds(99, 1) && !region.holds(100, 11) && !region.holds(u64::MAX, 1));
    }
}
