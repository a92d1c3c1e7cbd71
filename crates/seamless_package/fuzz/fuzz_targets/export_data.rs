#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bodies::export_data(bytes));
