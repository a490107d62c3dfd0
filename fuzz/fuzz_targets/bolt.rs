#![no_main]

use std::time::Duration;

/// Time after which a client that hears nothing leaves.
const QUIET: Duration = Duration::from_millis(2);

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(nakshi_server::fuzzing::bolt(bytes, QUIET)));
