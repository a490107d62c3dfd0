//! Removal of the files that a compaction leaves behind when it is killed.

use std::collections::HashSet;
use std::path::Path;

use nakshi_io::write::WriteFs;

use super::PropertyEntry;
use super::log::log_place;
use nakshi_store::{Error, Manifest, Result};

/// First part of the name of the directory in which a compaction works.
const UNFINISHED: &str = ".successor.importing-";

/// Removes the files of generations other than the manifest's, which a killed compaction has left
/// behind. A file that the manifest names stays, whichever section names it, and so do those whose names
/// begin with `spared`, which are being written.
pub(super) fn remove_orphans(
    fs: &dyn WriteFs,
    path: &Path,
    manifest: &Manifest,
    spared: Option<&str>,
) -> Result<()> {
    let entries = std::fs::read_dir(path).map_err(|error| Error::io("list", path, error))?;
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| Error::io("list", path, error))?.file_name();
        found.extend(name.to_str().map(str::to_owned));
    }
    // Manifests are removed first, so that no manifest names a file that is gone.
    found.sort_by_key(|name| !name.starts_with("MANIFEST"));
    let log = PropertyEntry::of(manifest)?.unwrap_or_default().log(manifest.generation);
    let is_kept =
        |name: &str| log_place(name).is_some_and(|(of, n)| of == log.generation && n >= log.kept);
    let named: HashSet<&str> = manifest.files().map(|file| file.name.as_str()).collect();
    for name in found {
        if named.contains(name.strip_suffix(".sum").unwrap_or(&name)) {
            continue;
        }
        if name.starts_with(UNFINISHED) {
            fs.remove_dir_all(&path.join(&name))?;
        }
        let stays = is_kept(&name) || spared.is_some_and(|prefix| name.starts_with(prefix));
        if !stays && generation(&name).is_some_and(|number| number != manifest.generation) {
            fs.remove_file(&path.join(&name))?;
        }
    }
    Ok(())
}

/// The generation in the name of a store's file: `MANIFEST-2`, `out-2.adj`, `log-2.0.wal`. `None`
/// for a name that no store writes.
fn generation(name: &str) -> Option<u64> {
    let (of, rest) = name.strip_suffix(".sum").unwrap_or(name).split_once('-')?;
    let (digits, kind) = rest.split_once('.').unwrap_or((rest, ""));
    let numbered = |kind: &str, before: &str| {
        let number = kind.strip_prefix(before).unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    let ours = match of {
        "MANIFEST" => kind.is_empty(),
        "out" | "in" => {
            let column = kind.strip_suffix(".col").is_some_and(|column| numbered(column, "c"));
            column || ["adj", "idx", "deg", "heads"].contains(&kind)
        }
        "ids" => ["keys", "blocks", "internal", "ranks"].contains(&kind),
        "nodes" | "edges" => kind.strip_suffix(".prop").is_some_and(|shard| numbered(shard, "s")),
        "fragment" => kind.split_once('.').is_some_and(|(id, part)| {
            let id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            id && ["nodes", "names", "edges", "ends", "index", "late"].contains(&part)
        }),
        "properties" => kind == "json",
        "shards" => kind == "map",
        "log" => kind.strip_suffix(".wal").is_some_and(|number| numbered(number, "")),
        _ => false,
    };
    if ours { digits.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::generation;

    #[test]
    fn only_files_of_a_store_have_a_generation() {
        for (name, expected) in [
            ("MANIFEST-12", 12),
            ("nodes-2.s0.prop.sum", 2),
            ("edges-2.s11.prop", 2),
            ("out-4.c1.col", 4),
            ("in-4.heads.sum", 4),
            ("ids-5.internal", 5),
            ("properties-6.json", 6),
            ("shards-7.map.sum", 7),
            ("fragment-8.3.edges.sum", 8),
            ("log-3.1.wal", 3),
        ] {
            assert_eq!(generation(name), Some(expected), "{name}");
        }
        let others =
            ["write.lock", "cache.plan", "notes-2024.txt", "out", "in-x.adj", "in-2024.csv"];
        for other in
            others.iter().chain(&["MANIFEST-1.bak", "log-1.wal", "nodes-1.prop", "out-.adj"])
        {
            assert_eq!(generation(other), None, "{other}");
        }
    }
}
