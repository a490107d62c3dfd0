//! Archives of the shared data, for tests of several crates.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The files of an archive by their paths in it, or `None` with a reason on standard error.
pub fn files(archive: &str) -> Option<BTreeMap<String, Vec<u8>>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("NAKSHI_DATA").map_or(beside, PathBuf::from);
    let path = folder.join(archive);
    let Ok(file) = std::fs::File::open(&path) else {
        eprintln!("skipped: {} is not there; set NAKSHI_DATA to its folder", path.display());
        return None;
    };
    let mut tar = Vec::new();
    zstd::stream::read::Decoder::new(file).unwrap().read_to_end(&mut tar).unwrap();
    Some(untar(&tar))
}

/// Regular files of a tar archive with short names.
fn untar(mut tar: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let text = |bytes: &[u8]| {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8(bytes[..end].to_vec()).unwrap()
    };
    while tar.len() >= 512 && tar[0] != 0 {
        let (header, rest) = tar.split_at(512);
        let size = usize::from_str_radix(text(&header[124..136]).trim(), 8).unwrap();
        if header[156] == b'0' {
            let name = text(&header[..100]);
            let name = name.split_once('/').map_or(name.clone(), |(_, name)| name.to_owned());
            files.insert(name, rest[..size].to_vec());
        }
        tar = &rest[size.div_ceil(512) * 512..];
    }
    files
}
