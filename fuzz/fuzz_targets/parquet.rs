#![no_main]

mod caught;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    caught::let_libraries_panic();
    nakshi_store::fuzzing::parquet(bytes)
});
