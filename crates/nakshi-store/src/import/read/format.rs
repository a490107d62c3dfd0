//! Detection of a file's format, and properties of formats.

use std::path::{Path, PathBuf};

use super::webgraph::properties_beside;
use crate::import::Format;

/// Chooses a format by the first bytes, then by the name without `.gz` or `.zst`.
pub(crate) fn detect(path: &Path, head: &[u8]) -> Format {
    if head.starts_with(b"PAR1") {
        return Format::Parquet;
    }
    if head.starts_with(b"ARROW1") || head.starts_with(&[0xff, 0xff, 0xff, 0xff]) {
        return Format::Arrow;
    }
    if head.get(..14).is_some_and(|banner| banner.eq_ignore_ascii_case(b"%%MatrixMarket")) {
        return Format::MatrixMarket;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("mtx") => Format::MatrixMarket,
        Some("graph") if properties_beside(path).is_some() => Format::WebGraph,
        Some("metis" | "graph") => Format::Metis,
        Some("adj" | "adjlist") => Format::Adjacency,
        Some("parquet" | "pq") => Format::Parquet,
        Some("arrow" | "arrows" | "feather" | "ipc") => Format::Arrow,
        Some("e") if graphalytics_vertices(path).is_some() => Format::Graphalytics,
        _ => Format::EdgeList,
    }
}

/// Returns the `.v` file beside a Graphalytics `.e` file, compressed or not.
pub(crate) fn graphalytics_vertices(edges: &Path) -> Option<PathBuf> {
    let name = edges.file_name()?.to_str()?;
    let stem = [".e", ".e.gz", ".e.zst"].iter().find_map(|end| name.strip_suffix(end))?;
    let beside =
        [".v", ".v.gz", ".v.zst"].iter().map(|end| edges.with_file_name(format!("{stem}{end}")));
    beside.into_iter().find(|path| path.is_file())
}

/// Returns true if a share of a file in this format is a range of its bytes.
pub(crate) fn has_lines(format: Format) -> bool {
    matches!(
        format,
        Format::EdgeList | Format::Graphalytics | Format::Adjacency | Format::InAdjacency
    )
}
