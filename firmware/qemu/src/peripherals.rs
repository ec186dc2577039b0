//! Where the board's devices are, from Arm's application note 385, and the one way to touch their registers.

/// Frequency of the clock that all peripherals run on.
pub(crate) const CLOCK_HZ: u32 = 25_000_000;

/// Bytes of address space each device has.
const BLOCK_BYTES: usize = 0x1000;

/// The counter that time is read from.
pub(crate) const TIMER0: Block = Block(0x4000_0000);
/// The timer that wakes the board.
pub(crate) const TIMER1: Block = Block(0x4000_1000);
/// The serial port the log goes to.
pub(crate) const UART0: Block = Block(0x4000_4000);
/// The watchdog.
pub(crate) const WATCHDOG: Block = Block(0x4000_8000);
/// The Ethernet controller.
pub(crate) const ETHERNET: Block = Block(0x4020_0000);

/// The registers of one device.
///
/// The type is only made here, so a block is always one of the pages above.
#[derive(Clone, Copy)]
pub(crate) struct Block(usize);

impl Block {
    /// Reads the register at `offset` bytes.
    pub(crate) fn read(self, offset: usize) -> u32 {
        let register = self.register(offset);
        #[expect(unsafe_code, reason = "a device register: aligned, inside the block, and never memory of the program")]
        unsafe {
            register.read_volatile()
        }
    }

    /// Writes the register at `offset` bytes.
    pub(crate) fn write(self, offset: usize, value: u32) {
        let register = self.register(offset);
        #[expect(unsafe_code, reason = "a device register: aligned, inside the block, and never memory of the program")]
        unsafe {
            register.write_volatile(value);
        }
    }

    /// Any offset gives a whole register of this device, so a wrong one can do no harm elsewhere.
    const fn register(self, offset: usize) -> *mut u32 {
        let inside = offset & (BLOCK_BYTES - 1) & !3;
        (self.0 | inside) as *mut u32
    }
}
