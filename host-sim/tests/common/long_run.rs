//! The switch between a usual test run and the long one.

/// Returns whether the long run is wanted: `CONCLAVE_STORMS=full`.
pub(crate) fn is_full() -> bool {
    std::env::var("CONCLAVE_STORMS").is_ok_and(|storms| storms == "full")
}
