//! Images for emulated boards, and the share of the machine that builds and swarms may use.

use host_sim::boards::{Parts, toolchain};
use host_sim::swarm::Image;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// Builds and swarms at one time use at most this many units. A swarm of idle boards needs one.
const UNITS_MAX: u32 = 6;
/// The units of a build.
const BUILD: u32 = 4;

/// Returns the image with the default parts; `None` if this machine cannot build it.
pub(crate) fn image() -> Option<Image> {
    static IMAGE: OnceLock<Option<Image>> = OnceLock::new();
    IMAGE.get_or_init(|| image_with(&Parts::default())).clone()
}

/// Returns the image with these parts; `None` if this machine cannot build it, which is a failure under `CI=true`.
pub(crate) fn image_with(parts: &Parts) -> Option<Image> {
    // One build at a time: all write to one path.
    static BUILDING: Mutex<()> = Mutex::new(());
    let _building = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let _share = Share::take(BUILD);
    match toolchain::prepare().and_then(|toolchain| Image::build(parts, toolchain)) {
        Ok(image) => Some(image),
        Err(error) => {
            assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "no boards in CI: {error}");
            eprintln!("\n*** SKIPPED, NOTHING IS TESTED: {error} ***\n");
            None
        }
    }
}

/// A share of the machine.
pub(crate) struct Share(u32);

fn units() -> (MutexGuard<'static, u32>, &'static Condvar) {
    static USED: Mutex<u32> = Mutex::new(0);
    static FREED: Condvar = Condvar::new();
    (USED.lock().unwrap_or_else(PoisonError::into_inner), &FREED)
}

impl Share {
    /// Waits until so many units are free, and takes them.
    pub(crate) fn take(share: u32) -> Self {
        let (used, freed) = units();
        let used = freed.wait_while(used, |used| *used + share > UNITS_MAX);
        *used.unwrap_or_else(PoisonError::into_inner) += share;
        Self(share)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let (mut used, freed) = units();
        *used -= self.0;
        freed.notify_all();
    }
}
