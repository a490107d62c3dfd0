//! Compiles the protobuf file to Rust, and to the descriptors that the reflection service sends.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (file, folder) = ("nakshi/v1/graph.proto", "proto");
    let between_servers = "nakshi/replica/v1/replica.proto";
    println!("cargo:rerun-if-changed={folder}");
    println!("cargo:rustc-check-cfg=cfg(tokio_unstable)");
    let out = std::env::var("OUT_DIR")?;
    let mut compiler = protox::Compiler::new([folder])?;
    let compiler = compiler.include_source_info(true).include_imports(true).open_file(file)?;
    std::fs::write(Path::new(&out).join("graph.bin"), compiler.encode_file_descriptor_set())?;
    compiler.open_file(between_servers)?;
    tonic_prost_build::configure().compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
