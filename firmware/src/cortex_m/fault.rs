//! The panic handler of a board without its own: log and reset, a crash and recovery as the algorithms tolerate.

use core::panic::PanicInfo;

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    super::log_panic(info);
    defmt::flush();
    super::reset()
}
