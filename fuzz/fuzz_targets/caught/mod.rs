//! Panics inside the Arrow libraries are caught by the readers and become errors; libFuzzer's own
//! hook would end the process before that. Panics of ours still do.

use std::sync::Once;

/// Lets the readers catch what they catch.
pub fn let_libraries_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let end = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let file = panic.location().map_or("", |location| location.file());
            if !file.contains("/arrow-") && !file.contains("/parquet-") {
                end(panic);
            }
        }));
    });
}
