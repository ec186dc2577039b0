//! Registers of the LAN9118 that the driver uses, by their names in SMSC's data sheet.
//!
//! Offsets are in bytes. Each FIFO has a range of addresses, of which the first is used.

pub(super) const RX_DATA_FIFO: usize = 0x00; // received frames, a word per read
pub(super) const TX_DATA_FIFO: usize = 0x20; // frames to send, a word per write
pub(super) const RX_STATUS_FIFO: usize = 0x40; // one word per received frame; reading removes it
pub(super) const TX_STATUS_FIFO: usize = 0x48; // one word per sent frame; reading removes it
pub(super) const IRQ_CFG: usize = 0x54; // configuration of the interrupt pin
pub(super) const INT_STS: usize = 0x58; // events that have fired; writing ones clears
pub(super) const INT_EN: usize = 0x5c; // events that interrupt
pub(super) const BYTE_TEST: usize = 0x64; // always `BYTE_TEST_PATTERN`, on a bus of the right byte order
pub(super) const FIFO_INT: usize = 0x68; // levels of the FIFOs that interrupt
pub(super) const RX_CFG: usize = 0x6c; // layout of received frames in the FIFO; 0 for words without padding
pub(super) const TX_CFG: usize = 0x70; // enables sending
pub(super) const HW_CFG: usize = 0x74; // reset, and sizes of the FIFOs
pub(super) const RX_FIFO_INF: usize = 0x7c; // levels of the receive FIFOs
pub(super) const TX_FIFO_INF: usize = 0x80; // level of the send status FIFO, and room in the send data FIFO
pub(super) const PMT_CTRL: usize = 0x84; // power management, and whether the device is ready
pub(super) const MAC_CSR_CMD: usize = 0xa4; // starts reading or writing a register of the MAC
pub(super) const MAC_CSR_DATA: usize = 0xa8; // the value written or read

pub(super) const BYTE_TEST_PATTERN: u32 = 0x8765_4321; // value of `BYTE_TEST`

pub(super) const IRQ_CFG_ENABLE: u32 = 1 << 8; // `IRQ_CFG`: the pin is driven
pub(super) const IRQ_CFG_ACTIVE_HIGH: u32 = 1 << 4; // `IRQ_CFG`: active high; only with `IRQ_CFG_PUSH_PULL`
/// [`IRQ_CFG`]: push-pull. Otherwise the pin idles high, an interrupt on this board.
pub(super) const IRQ_CFG_PUSH_PULL: u32 = 1;

pub(super) const INT_PHY: u32 = 1 << 18; // `INT_STS`, `INT_EN`: the PHY's link has changed
/// [`INT_STS`], [`INT_EN`]: there is as much room to send as [`FIFO_INT`] demands.
pub(super) const INT_TX_ROOM: u32 = 1 << 9;
pub(super) const INT_RX_STATUS: u32 = 1 << 3; // `INT_STS`, `INT_EN`: more frames are received than `FIFO_INT` allows

/// [`FIFO_INT`]: position of the room to send that interrupts, in units of [`FIFO_INT_TX_ROOM_BYTES`]. The low bits are
/// the number of received frames that do not interrupt, here 0.
pub(super) const FIFO_INT_TX_ROOM_SHIFT: u32 = 24;
pub(super) const FIFO_INT_TX_ROOM_BYTES: u32 = 64; // unit of the room to send

pub(super) const TX_CFG_ON: u32 = 1 << 1; // `TX_CFG`: enables sending
pub(super) const TX_CFG_STATUS_MAY_OVERRUN: u32 = 1 << 2; // `TX_CFG`: sending continues while the status FIFO is full

pub(super) const HW_CFG_RESET: u32 = 1; // `HW_CFG`: reset; reads as 1 until complete
pub(super) const HW_CFG_MUST_BE_ONE: u32 = 1 << 20; // `HW_CFG`: must be written as 1
/// [`HW_CFG`]: 5 KiB of memory for sending, of which 512 bytes are for status; the rest is for receiving.
pub(super) const HW_CFG_TX_5_KIB: u32 = 5 << 16;

pub(super) const PMT_CTRL_READY: u32 = 1; // `PMT_CTRL`: the device is ready

/// [`RX_FIFO_INF`]: received frames.
pub(super) const fn frames_waiting(rx_fifo_inf: u32) -> u32 {
    (rx_fifo_inf >> 16) & 0xff
}

/// [`TX_FIFO_INF`]: send statuses.
pub(super) const fn statuses_waiting(tx_fifo_inf: u32) -> u32 {
    (tx_fifo_inf >> 16) & 0xff
}

/// [`TX_FIFO_INF`]: bytes of room to send.
pub(super) const fn room_bytes(tx_fifo_inf: u32) -> u32 {
    tx_fifo_inf & 0xffff
}

/// Receive status: length of the frame, with its checksum.
pub(super) const fn length_bytes(rx_status: u32) -> u32 {
    (rx_status >> 16) & 0x3fff
}
pub(super) const RX_STATUS_ERROR: u32 = 1 << 15; // receive status: the frame is damaged, too short or too long
pub(super) const RX_STATUS_FILTERED: u32 = 1 << 30; // receive status: the frame is for another station

pub(super) const TX_STATUS_ERROR: u32 = 1 << 15; // send status: the frame was not sent

/// First command word of a frame: first segment. The low bits are the length of the segment.
pub(super) const TX_FIRST: u32 = 1 << 13;
pub(super) const TX_LAST: u32 = 1 << 12; // first command word: last segment

pub(super) const MAC_CSR_BUSY: u32 = 1 << 31; // `MAC_CSR_CMD`: start; reads as 1 until complete
pub(super) const MAC_CSR_READ: u32 = 1 << 30; // `MAC_CSR_CMD`: read, not write

pub(super) const MAC_CR: u32 = 1; // MAC register: control
pub(super) const MAC_ADDRH: u32 = 2; // MAC register: the last two bytes of the MAC address
pub(super) const MAC_ADDRL: u32 = 3; // MAC register: its first four bytes
pub(super) const MAC_MII_ACC: u32 = 6; // MAC register: starts reading or writing a register of the PHY
pub(super) const MAC_MII_DATA: u32 = 7; // MAC register: the value written or read

pub(super) const MAC_CR_FULL_DUPLEX: u32 = 1 << 20; // `MAC_CR`: full duplex
pub(super) const MAC_CR_SEND: u32 = 1 << 3; // `MAC_CR`: enables sending
/// [`MAC_CR`]: enables receiving of undamaged broadcasts and frames to this address.
pub(super) const MAC_CR_RECEIVE: u32 = 1 << 2;

pub(super) const MII_BUSY: u32 = 1; // `MAC_MII_ACC`: start; reads as 1 until complete
pub(super) const MII_WRITE: u32 = 1 << 1; // `MAC_MII_ACC`: write, not read

/// [`MAC_MII_ACC`]: a register of the internal PHY, which has address 1.
pub(super) const fn mii_register(number: u32) -> u32 {
    (1 << 11) | (number << 6)
}

pub(super) const PHY_STATUS: u32 = 1; // PHY register: status. The link bit latches a loss until read
pub(super) const PHY_STATUS_LINK: u32 = 1 << 2; // `PHY_STATUS`: the link is up
pub(super) const PHY_EVENTS: u32 = 29; // PHY register: events that have fired; reading clears
pub(super) const PHY_EVENTS_ENABLE: u32 = 30; // PHY register: events that interrupt
pub(super) const PHY_EVENT_NEGOTIATED: u32 = 1 << 6; // `PHY_EVENTS`: the link is negotiated
pub(super) const PHY_EVENT_LINK_DOWN: u32 = 1 << 4; // `PHY_EVENTS`: the link is lost
