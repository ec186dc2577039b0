#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| conclave_fuzz::scenario(bytes));
