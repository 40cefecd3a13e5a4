#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| episodica_fuzz::targets::log_reader(data));
