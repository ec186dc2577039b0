//! Registers of the LAN9118, by their names in SMSC's data sheet, as far as the driver uses them.
//!
//! Offsets are in bytes. A range of addresses leads to each FIFO; the first is used.

/// Received frames, a word per read.
pub(super) const RX_DATA_FIFO: usize = 0x00;
/// Frames to send, a word per write.
pub(super) const TX_DATA_FIFO: usize = 0x20;
/// One word about each received frame; reading takes it.
pub(super) const RX_STATUS_FIFO: usize = 0x40;
/// One word about each sent frame; reading takes it.
pub(super) const TX_STATUS_FIFO: usize = 0x48;
/// How the interrupt pin behaves.
pub(super) const IRQ_CFG: usize = 0x54;
/// What has happened; writing ones clears.
pub(super) const INT_STS: usize = 0x58;
/// What of it interrupts.
pub(super) const INT_EN: usize = 0x5c;
/// Always [`BYTE_TEST_PATTERN`], in the host's byte order if the bus is wired right.
pub(super) const BYTE_TEST: usize = 0x64;
/// How full the FIFOs must be to interrupt.
pub(super) const FIFO_INT: usize = 0x68;
/// How received frames are laid out in the FIFO; 0 for words without padding.
pub(super) const RX_CFG: usize = 0x6c;
/// Sending on and off.
pub(super) const TX_CFG: usize = 0x70;
/// Reset, and how memory is shared between the FIFOs.
pub(super) const HW_CFG: usize = 0x74;
/// What waits in the receive FIFOs.
pub(super) const RX_FIFO_INF: usize = 0x7c;
/// What waits in the status FIFO for sending, and the room in the data FIFO.
pub(super) const TX_FIFO_INF: usize = 0x80;
/// Power management; tells when the device is ready.
pub(super) const PMT_CTRL: usize = 0x84;
/// Starts reading or writing a register of the MAC.
pub(super) const MAC_CSR_CMD: usize = 0xa4;
/// The value for it, or from it.
pub(super) const MAC_CSR_DATA: usize = 0xa8;

/// What [`BYTE_TEST`] reads as.
pub(super) const BYTE_TEST_PATTERN: u32 = 0x8765_4321;

/// [`IRQ_CFG`]: the pin is driven at all.
pub(super) const IRQ_CFG_ENABLE: u32 = 1 << 8;
/// [`IRQ_CFG`]: active is high; counts only with [`IRQ_CFG_PUSH_PULL`].
pub(super) const IRQ_CFG_ACTIVE_HIGH: u32 = 1 << 4;
/// [`IRQ_CFG`]: driven both ways. Without it the pin idles high, which this board takes for an interrupt.
pub(super) const IRQ_CFG_PUSH_PULL: u32 = 1;

/// [`INT_STS`], [`INT_EN`]: the PHY has news about the link.
pub(super) const INT_PHY: u32 = 1 << 18;
/// [`INT_STS`], [`INT_EN`]: there is room to send, as much as [`FIFO_INT`] asks for.
pub(super) const INT_TX_ROOM: u32 = 1 << 9;
/// [`INT_STS`], [`INT_EN`]: more frames have come than [`FIFO_INT`] says.
pub(super) const INT_RX_STATUS: u32 = 1 << 3;

/// [`FIFO_INT`]: place of the room to send that interrupts, in units of [`FIFO_INT_TX_ROOM_BYTES`]. The number of
/// frames that do not interrupt yet is in the low bits; the driver wants 0.
pub(super) const FIFO_INT_TX_ROOM_SHIFT: u32 = 24;
/// The unit of it.
pub(super) const FIFO_INT_TX_ROOM_BYTES: u32 = 64;

/// [`TX_CFG`]: frames are sent.
pub(super) const TX_CFG_ON: u32 = 1 << 1;
/// [`TX_CFG`]: sending goes on though nobody reads what became of frames.
pub(super) const TX_CFG_STATUS_MAY_OVERRUN: u32 = 1 << 2;

/// [`HW_CFG`]: reset; reads as 1 until it is done.
pub(super) const HW_CFG_RESET: u32 = 1;
/// [`HW_CFG`]: must be written as one.
pub(super) const HW_CFG_MUST_BE_ONE: u32 = 1 << 20;
/// [`HW_CFG`]: 5 KiB of memory for sending, of which 512 bytes are for status; the rest is for receiving.
pub(super) const HW_CFG_TX_5_KIB: u32 = 5 << 16;

/// [`PMT_CTRL`]: the device is awake.
pub(super) const PMT_CTRL_READY: u32 = 1;

/// [`RX_FIFO_INF`]: how many frames wait.
pub(super) const fn frames_waiting(rx_fifo_inf: u32) -> u32 {
    (rx_fifo_inf >> 16) & 0xff
}

/// [`TX_FIFO_INF`]: how many sent frames have a status to read.
pub(super) const fn statuses_waiting(tx_fifo_inf: u32) -> u32 {
    (tx_fifo_inf >> 16) & 0xff
}

/// [`TX_FIFO_INF`]: bytes of room to send.
pub(super) const fn room_bytes(tx_fifo_inf: u32) -> u32 {
    tx_fifo_inf & 0xffff
}

/// Receive status: bytes of the frame, with its checksum.
pub(super) const fn length_bytes(rx_status: u32) -> u32 {
    (rx_status >> 16) & 0x3fff
}
/// Receive status: the frame is damaged, too short or too long.
pub(super) const RX_STATUS_ERROR: u32 = 1 << 15;
/// Receive status: the frame is for someone else.
pub(super) const RX_STATUS_FILTERED: u32 = 1 << 30;

/// Send status: the frame did not get out.
pub(super) const TX_STATUS_ERROR: u32 = 1 << 15;

/// First command word of a frame to send: this part is its first. Bytes of the part are in the low bits.
pub(super) const TX_FIRST: u32 = 1 << 13;
/// First command word: this part is its last.
pub(super) const TX_LAST: u32 = 1 << 12;

/// [`MAC_CSR_CMD`]: start; reads as 1 until it is done.
pub(super) const MAC_CSR_BUSY: u32 = 1 << 31;
/// [`MAC_CSR_CMD`]: read, not write.
pub(super) const MAC_CSR_READ: u32 = 1 << 30;

/// MAC register: what the MAC does.
pub(super) const MAC_CR: u32 = 1;
/// MAC register: the last two bytes of the hardware address.
pub(super) const MAC_ADDRH: u32 = 2;
/// MAC register: its first four bytes.
pub(super) const MAC_ADDRL: u32 = 3;
/// MAC register: starts reading or writing a register of the PHY.
pub(super) const MAC_MII_ACC: u32 = 6;
/// MAC register: the value for it, or from it.
pub(super) const MAC_MII_DATA: u32 = 7;

/// [`MAC_CR`]: full duplex.
pub(super) const MAC_CR_FULL_DUPLEX: u32 = 1 << 20;
/// [`MAC_CR`]: sends.
pub(super) const MAC_CR_SEND: u32 = 1 << 3;
/// [`MAC_CR`]: receives. All else off: broadcasts and what is addressed to us, undamaged.
pub(super) const MAC_CR_RECEIVE: u32 = 1 << 2;

/// [`MAC_MII_ACC`]: start; reads as 1 until it is done.
pub(super) const MII_BUSY: u32 = 1;
/// [`MAC_MII_ACC`]: write, not read.
pub(super) const MII_WRITE: u32 = 1 << 1;

/// [`MAC_MII_ACC`]: names a register of the PHY inside the device, which has address 1.
pub(super) const fn mii_register(number: u32) -> u32 {
    (1 << 11) | (number << 6)
}

/// PHY register: status. The link bit holds a loss until read.
pub(super) const PHY_STATUS: u32 = 1;
/// [`PHY_STATUS`]: the link is up.
pub(super) const PHY_STATUS_LINK: u32 = 1 << 2;
/// PHY register: what has happened; reading clears.
pub(super) const PHY_EVENTS: u32 = 29;
/// PHY register: what of it interrupts.
pub(super) const PHY_EVENTS_ENABLE: u32 = 30;
/// [`PHY_EVENTS`]: the link is negotiated.
pub(super) const PHY_EVENT_NEGOTIATED: u32 = 1 << 6;
/// [`PHY_EVENTS`]: the link is lost.
pub(super) const PHY_EVENT_LINK_DOWN: u32 = 1 << 4;
