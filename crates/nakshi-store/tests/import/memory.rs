//! The memory of a build, to the byte, on one thread.

use std::sync::Arc;

use nakshi_io::write::RealFs;
use nakshi_store::{BuildOptions, StoreBuilder};

use crate::hostile::peak;

/// The order of the vertices goes to disk, and its inverse is made in passes.
///
/// Seen red with each of the two held in memory.
#[test]
fn an_order_is_not_held() {
    let vertices: u32 = 1 << 22;
    let dir = tempfile::tempdir().unwrap();
    let options =
        BuildOptions { vertices: vertices.into(), memory: 256 << 10, ..BuildOptions::default() };
    let used = peak(|| {
        let fs = Arc::new(RealFs::new());
        let mut builder = StoreBuilder::create(fs, &dir.path().join("s"), options).unwrap();
        builder.begin_order().unwrap();
        (0..vertices).rev().for_each(|v| builder.push_order(v).unwrap());
        builder.set_dense_ids(0, None).unwrap();
    });
    assert!(used < 6 << 20, "{used} bytes for an order of 16 MiB");
}
