//! UF2, the file format of USB drive bootloaders: blocks of 512 bytes, each with 256 bytes of flash and their address
//! (<https://github.com/microsoft/uf2>).

use object::{Object, ObjectSegment};

pub(crate) const RP2040: u32 = 0xe48b_ff56;

const BLOCK_BYTES: usize = 512;
const PAYLOAD_BYTES: usize = 256;
const MAGIC: [u32; 2] = [0x0a32_4655, 0x9e5d_5157];
const MAGIC_END: u32 = 0x0ab1_6f30;
/// The family id is present.
const FLAG_FAMILY: u32 = 0x2000;

pub(crate) type Pieces = Vec<(u32, Vec<u8>)>;

/// Returns the flash contents of an image.
pub(crate) fn pieces(elf: &[u8]) -> Result<Pieces, String> {
    let file = object::read::elf::ElfFile32::<object::Endianness>::parse(elf).map_err(|error| error.to_string())?;
    let endian = file.endian();
    let loaded = |segment: &object::read::elf::ElfSegment32<'_, '_>| {
        use object::read::elf::ProgramHeader as _;
        // The load address: initial values are copied from there to RAM.
        let address = segment.elf_program_header().p_paddr(endian);
        let data = segment.data().ok()?;
        (!data.is_empty()).then(|| (address, data.to_vec()))
    };
    Ok(file.segments().filter_map(|segment| loaded(&segment)).collect())
}

/// Returns the file for these pieces.
pub(crate) fn encode(pieces: &[(u32, Vec<u8>)], family: u32) -> Result<Vec<u8>, String> {
    let mut pages = std::collections::BTreeMap::<u32, [u8; PAYLOAD_BYTES]>::new();
    let mut written = std::collections::BTreeSet::new();
    for (address, bytes) in pieces {
        for (at, &byte) in (*address..).zip(bytes) {
            if !written.insert(at) {
                return Err(format!("two pieces of the image want the byte at {at:#x}"));
            }
            let offset = at % PAYLOAD_BYTES as u32;
            pages.entry(at - offset).or_insert([0xff; PAYLOAD_BYTES])[offset as usize] = byte;
        }
    }
    let count = pages.len() as u32;
    let mut file = Vec::with_capacity(pages.len() * BLOCK_BYTES);
    for (number, (address, page)) in (0..).zip(pages) {
        let mut block = Vec::with_capacity(BLOCK_BYTES);
        for word in [MAGIC[0], MAGIC[1], FLAG_FAMILY, address, PAYLOAD_BYTES as u32, number, count, family] {
            block.extend_from_slice(&word.to_le_bytes());
        }
        block.extend_from_slice(&page);
        block.resize(BLOCK_BYTES - size_of_val(&MAGIC_END), 0);
        block.extend_from_slice(&MAGIC_END.to_le_bytes());
        file.extend_from_slice(&block);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::{RP2040, encode};

    fn word(file: &[u8], block: usize, index: usize) -> u32 {
        let at = block * 512 + index * 4;
        u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn blocks_carry_pages_in_order_and_their_total() {
        let file = encode(&[(0x1000_0200, vec![7; 300]), (0x1000_0000, vec![1])], RP2040).unwrap();
        assert_eq!(file.len(), 3 * 512);
        for block in 0..3 {
            assert_eq!([0, 1, 127].map(|index| word(&file, block, index)), [0x0a32_4655, 0x9e5d_5157, 0x0ab1_6f30]);
            assert_eq!([2, 4, 6, 7].map(|index| word(&file, block, index)), [0x2000, 256, 3, 0xe48b_ff56]);
            assert_eq!(word(&file, block, 5), block as u32);
        }
        assert_eq!([0, 1, 2].map(|block| word(&file, block, 3)), [0x1000_0000, 0x1000_0200, 0x1000_0300]);
        assert_eq!(file[32..34], [1, 0xff], "the rest stays erased");
        assert_eq!(file[2 * 512 + 32 + 43..2 * 512 + 32 + 45], [7, 0xff]);
    }

    #[test]
    fn overlapping_pieces_are_refused() {
        assert!(encode(&[(0, vec![1, 2]), (1, vec![3])], RP2040).is_err());
    }
}
