#![no_main]

use nakshi_server::fuzzing::{QUIET, bolt};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(bolt(bytes, QUIET)));
