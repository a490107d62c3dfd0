#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nakshi_server::fuzzing::statement(bytes));
