//! Intel HEX, which most flash tools and the drives of debug probes read: lines of 16 bytes, each with its address and a
//! checksum.

use std::fmt::Write as _;

const BYTES_PER_LINE: usize = 16;

/// Returns the file for these pieces of flash.
pub(crate) fn encode(pieces: &[(u32, Vec<u8>)]) -> String {
    let mut file = String::new();
    let mut upper = 0;
    for (start, bytes) in pieces {
        let mut address = *start;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            if address >> 16 != upper {
                upper = address >> 16;
                line(&mut file, 0, 4, &(upper as u16).to_be_bytes());
            }
            // No line crosses the end of 64 KiB, where the next address is extended again.
            let count = rest.len().min(BYTES_PER_LINE).min(0x1_0000 - (address as usize & 0xffff));
            let (now, later) = rest.split_at(count);
            line(&mut file, address as u16, 0, now);
            (rest, address) = (later, address + count as u32);
        }
    }
    line(&mut file, 0, 1, &[]);
    file
}

/// Appends a line: length, address, kind, data, and what makes the sum of all its bytes zero.
fn line(file: &mut String, address: u16, kind: u8, data: &[u8]) {
    let [high, low] = address.to_be_bytes();
    let mut bytes = vec![data.len() as u8, high, low, kind];
    bytes.extend_from_slice(data);
    let sum = bytes.iter().fold(0_u8, |sum, &byte| sum.wrapping_add(byte));
    bytes.push(sum.wrapping_neg());
    file.push(':');
    for byte in bytes {
        let _ = write!(file, "{byte:02X}"); // a string takes everything
    }
    file.push('\n');
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn a_line_has_its_address_and_a_checksum() {
        let file = encode(&[(0x0100, vec![0x21, 0x46, 0x01, 0x36, 0x01, 0x21, 0x47, 0x01])]);
        assert_eq!(file, ":080100002146013601214701EF\n:00000001FF\n");
    }

    #[test]
    fn addresses_beyond_64_kib_are_extended_and_no_line_crosses_the_border() {
        let file = encode(&[(0x0800_fff8, (0..24).collect())]);
        let lines: Vec<&str> = file.lines().map(|line| &line[..9]).collect();
        assert_eq!(lines, [":02000004", ":08FFF800", ":02000004", ":10000000", ":00000001"]);
        for line in file.lines() {
            let byte = |at: usize| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
            let sum = (1..line.len()).step_by(2).fold(0_u8, |sum, at| sum.wrapping_add(byte(at)));
            assert_eq!(sum, 0, "{line}");
        }
    }
}
