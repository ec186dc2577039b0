//! The LAN9118 below the network driver: start, MAC, PHY and FIFOs.
//!
//! Every wait is bounded. Features whose emulation differs from the data sheet are not used: peeking at a receive
//! status, skipping a frame with the fast-forward bit, and padding the end of sent frames.

use super::registers as reg;
use crate::peripherals::ETHERNET;

/// The longest Ethernet frame, without its checksum.
pub(super) const FRAME_BYTES_MAX: usize = 1514;
/// The shortest frame: two addresses and a type.
const FRAME_BYTES_MIN: usize = 14;
/// Every received frame ends with its checksum.
const CHECKSUM_BYTES: usize = 4;
const WORD_BYTES: usize = 4;

/// A buffer holds a frame with its checksum, in whole words.
const BUFFER_BYTES: usize = (FRAME_BYTES_MAX + CHECKSUM_BYTES).next_multiple_of(WORD_BYTES);
/// A buffer between the network stack and a FIFO.
pub(super) type Buffer = [u8; BUFFER_BYTES];
pub(super) const BUFFER: Buffer = [0; BUFFER_BYTES];

/// FIFO room for any frame: two command words and the frame.
#[expect(clippy::cast_possible_truncation, reason = "some 1,500 bytes")]
const SEND_ROOM_BYTES: u32 = (2 * WORD_BYTES + FRAME_BYTES_MAX.next_multiple_of(WORD_BYTES)) as u32;

/// How often a busy bit is read before the device counts as stuck. A PHY access, the slowest, takes some 25 us.
const BUSY_POLLS_MAX: u32 = 10_000;
/// The most send statuses read at once.
const STATUSES_MAX: u32 = 16;

/// The device did not answer in time.
#[derive(Clone, Copy)]
pub(super) struct Stuck;

/// Why the Ethernet controller did not start.
#[derive(Clone, Copy, defmt::Format)]
pub(crate) enum StartError {
    /// The test pattern reads as this: no controller, or a wrong byte order.
    Bus(u32),
    /// It does not become ready.
    Asleep,
    /// It does not come out of reset.
    Reset,
    /// Its MAC or PHY does not answer.
    Mac,
}

/// Resets the device, sets its address, and enables receiving and sending. All interrupts stay masked.
pub(super) fn start(address: [u8; 6]) -> Result<(), StartError> {
    let pattern = ETHERNET.read(reg::BYTE_TEST);
    if pattern != reg::BYTE_TEST_PATTERN {
        return Err(StartError::Bus(pattern));
    }
    wait_until(|| ETHERNET.read(reg::PMT_CTRL) & reg::PMT_CTRL_READY != 0).map_err(|_| StartError::Asleep)?;
    ETHERNET.write(reg::HW_CFG, reg::HW_CFG_RESET);
    wait_until(|| ETHERNET.read(reg::HW_CFG) & reg::HW_CFG_RESET == 0).map_err(|_| StartError::Reset)?;

    ETHERNET.write(reg::HW_CFG, reg::HW_CFG_TX_5_KIB | reg::HW_CFG_MUST_BE_ONE);
    ETHERNET.write(reg::INT_EN, 0);
    ETHERNET.write(reg::INT_STS, u32::MAX);
    let room = SEND_ROOM_BYTES.div_ceil(reg::FIFO_INT_TX_ROOM_BYTES);
    ETHERNET.write(reg::FIFO_INT, room << reg::FIFO_INT_TX_ROOM_SHIFT);
    start_mac(address).map_err(|_| StartError::Mac)?;
    ETHERNET.write(reg::IRQ_CFG, reg::IRQ_CFG_ENABLE | reg::IRQ_CFG_ACTIVE_HIGH | reg::IRQ_CFG_PUSH_PULL);
    Ok(())
}

fn start_mac(address: [u8; 6]) -> Result<(), Stuck> {
    let [low @ .., fifth, sixth] = address;
    write_mac(reg::MAC_ADDRL, u32::from_le_bytes(low))?;
    write_mac(reg::MAC_ADDRH, u32::from_le_bytes([fifth, sixth, 0, 0]))?;
    write_phy(reg::PHY_EVENTS_ENABLE, reg::PHY_EVENT_NEGOTIATED | reg::PHY_EVENT_LINK_DOWN)?;
    ETHERNET.write(reg::RX_CFG, 0);
    ETHERNET.write(reg::TX_CFG, reg::TX_CFG_ON | reg::TX_CFG_STATUS_MAY_OVERRUN);
    write_mac(reg::MAC_CR, reg::MAC_CR_FULL_DUPLEX | reg::MAC_CR_SEND | reg::MAC_CR_RECEIVE)
}

/// Clears and unmasks `events`: check for earlier ones after this.
pub(super) fn unmask(events: u32) {
    critical_section::with(|_| {
        ETHERNET.write(reg::INT_STS, events);
        ETHERNET.write(reg::INT_EN, ETHERNET.read(reg::INT_EN) | events);
    });
}

/// Returns and masks the events that have fired.
pub(super) fn take_interrupts() -> u32 {
    let enabled = ETHERNET.read(reg::INT_EN);
    let fired = ETHERNET.read(reg::INT_STS) & enabled;
    ETHERNET.write(reg::INT_EN, enabled & !fired);
    fired
}

pub(super) fn has_frame() -> bool {
    reg::frames_waiting(ETHERNET.read(reg::RX_FIFO_INF)) > 0
}

/// Returns whether there is room for any frame.
pub(super) fn has_room() -> bool {
    reg::room_bytes(ETHERNET.read(reg::TX_FIFO_INF)) >= SEND_ROOM_BYTES
}

/// Reads the next frame into `buffer` and returns its length; `None` where it is damaged, too short or too long.
pub(super) fn take_frame(buffer: &mut Buffer) -> Option<usize> {
    let status = ETHERNET.read(reg::RX_STATUS_FIFO);
    let bytes = usize::try_from(reg::length_bytes(status)).ok()?;
    // Words that do not fit the buffer are read too: the next frame follows them.
    let (words, _) = buffer.as_chunks_mut();
    let mut words = words.iter_mut();
    for _ in 0..bytes.div_ceil(WORD_BYTES) {
        let word = ETHERNET.read(reg::RX_DATA_FIFO);
        if let Some(target) = words.next() {
            *target = word.to_le_bytes();
        }
    }
    let length = bytes.checked_sub(CHECKSUM_BYTES)?;
    let good = status & (reg::RX_STATUS_ERROR | reg::RX_STATUS_FILTERED) == 0;
    (good && (FRAME_BYTES_MIN..=FRAME_BYTES_MAX).contains(&length)).then_some(length)
}

/// Sends the first `length` bytes of `buffer`; there must be room. Returns how many earlier frames failed.
pub(super) fn send_frame(buffer: &Buffer, length: usize) -> u32 {
    let length = length.min(FRAME_BYTES_MAX);
    let Ok(bytes) = u32::try_from(length) else {
        return 0;
    };
    ETHERNET.write(reg::TX_DATA_FIFO, reg::TX_FIRST | reg::TX_LAST | bytes);
    ETHERNET.write(reg::TX_DATA_FIFO, bytes);
    let (words, _) = buffer.as_chunks();
    for word in words.iter().take(length.div_ceil(WORD_BYTES)) {
        ETHERNET.write(reg::TX_DATA_FIFO, u32::from_le_bytes(*word));
    }
    let statuses = reg::statuses_waiting(ETHERNET.read(reg::TX_FIFO_INF)).min(STATUSES_MAX);
    (0..statuses).map(|_| u32::from(ETHERNET.read(reg::TX_STATUS_FIFO) & reg::TX_STATUS_ERROR != 0)).sum()
}

/// Returns whether the link is up. Changes are unmasked before it is read, so that none is missed.
pub(super) fn is_link_up() -> Result<bool, Stuck> {
    read_phy(reg::PHY_EVENTS)?;
    unmask(reg::INT_PHY);
    // The first read clears a latched loss.
    read_phy(reg::PHY_STATUS)?;
    Ok(read_phy(reg::PHY_STATUS)? & reg::PHY_STATUS_LINK != 0)
}

fn read_phy(register: u32) -> Result<u32, Stuck> {
    access_phy(register, 0)?;
    read_mac(reg::MAC_MII_DATA)
}

fn write_phy(register: u32, value: u32) -> Result<(), Stuck> {
    write_mac(reg::MAC_MII_DATA, value)?;
    access_phy(register, reg::MII_WRITE)
}

fn access_phy(register: u32, direction: u32) -> Result<(), Stuck> {
    write_mac(reg::MAC_MII_ACC, reg::mii_register(register) | direction | reg::MII_BUSY)?;
    for _ in 0..BUSY_POLLS_MAX {
        if read_mac(reg::MAC_MII_ACC)? & reg::MII_BUSY == 0 {
            return Ok(());
        }
    }
    Err(Stuck)
}

fn read_mac(register: u32) -> Result<u32, Stuck> {
    access_mac(register, reg::MAC_CSR_READ)?;
    Ok(ETHERNET.read(reg::MAC_CSR_DATA))
}

fn write_mac(register: u32, value: u32) -> Result<(), Stuck> {
    ETHERNET.write(reg::MAC_CSR_DATA, value);
    access_mac(register, 0)
}

fn access_mac(register: u32, direction: u32) -> Result<(), Stuck> {
    ETHERNET.write(reg::MAC_CSR_CMD, register | direction | reg::MAC_CSR_BUSY);
    wait_until(|| ETHERNET.read(reg::MAC_CSR_CMD) & reg::MAC_CSR_BUSY == 0)
}

fn wait_until(mut done: impl FnMut() -> bool) -> Result<(), Stuck> {
    if (0..BUSY_POLLS_MAX).any(|_| done()) { Ok(()) } else { Err(Stuck) }
}
