//! Data that outlives a reboot: records in flash or retained memory, and the config page.

pub mod config_page;
pub mod crc;
#[cfg(feature = "embassy")]
pub mod record_store;
#[cfg(feature = "embassy")]
pub mod retained_store;
