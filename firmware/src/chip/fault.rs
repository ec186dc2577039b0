//! A panic is logged, and the board starts over: the others are built to survive that.

use core::panic::PanicInfo;

#[panic_handler]
fn on_panic(info: &PanicInfo<'_>) -> ! {
    if let Some(place) = info.location() {
        defmt::error!("panic at {=str}:{=u32}; resetting", place.file(), place.line());
    } else {
        defmt::error!("panic; resetting");
    }
    defmt::flush();
    super::start_over()
}
