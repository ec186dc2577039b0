//! Addresses of the board's devices (Arm's application note 385), and access to their registers.

pub(crate) const CLOCK_HZ: u32 = 25_000_000; // clock of all peripherals

const BLOCK_BYTES: usize = 0x1000; // address space of each device

pub(crate) const TIMER0: Block = Block(0x4000_0000); // the free-running counter
pub(crate) const TIMER1: Block = Block(0x4000_1000); // the alarm
pub(crate) const UART0: Block = Block(0x4000_4000); // the serial port of the log
pub(crate) const WATCHDOG: Block = Block(0x4000_8000);
pub(crate) const ETHERNET: Block = Block(0x4020_0000);

/// The registers of one device.
///
/// Values are only made here, so a block is always one of those above.
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

    pub(crate) fn write(self, offset: usize, value: u32) {
        let register = self.register(offset);
        #[expect(unsafe_code, reason = "a device register: aligned, inside the block, and never memory of the program")]
        unsafe {
            register.write_volatile(value);
        }
    }

    /// Every offset gives an aligned register of this device.
    const fn register(self, offset: usize) -> *mut u32 {
        let inside = offset & (BLOCK_BYTES - 1) & !3;
        (self.0 | inside) as *mut u32
    }
}
