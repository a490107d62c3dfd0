//! Options and report of an import.

use std::path::PathBuf;

use crate::emit::Duplicates;

/// Input formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Detected by magic bytes, then by the file's name; otherwise an edge list.
    #[default]
    Auto,
    /// One edge a line: source, target, further columns (SNAP, KONECT, CSV, TSV, typed headers).
    EdgeList,
    /// One vertex a line, then the targets of its edges.
    Adjacency,
    /// One vertex a line, then the sources of its edges.
    InAdjacency,
    /// NIST Matrix Market, coordinate form.
    MatrixMarket,
    /// METIS / Chaco graph file.
    Metis,
    /// WebGraph's BVGraph: `NAME.graph`, with `NAME.properties` beside it.
    #[serde(rename = "webgraph")]
    WebGraph,
    /// LDBC Graphalytics: `NAME.e`, with `NAME.v` beside it.
    Graphalytics,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, file or stream.
    Arrow,
}

impl std::str::FromStr for Format {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Self> {
        Ok(match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "auto" => Self::Auto,
            "edge-list" | "edges" | "csv" | "tsv" | "snap" | "konect" | "neo4j" => Self::EdgeList,
            "adjacency" | "out-adjacency" | "adj" => Self::Adjacency,
            "in-adjacency" => Self::InAdjacency,
            "matrix-market" | "mtx" => Self::MatrixMarket,
            "metis" => Self::Metis,
            "webgraph" | "bvgraph" | "bv" => Self::WebGraph,
            "graphalytics" => Self::Graphalytics,
            "parquet" => Self::Parquet,
            "arrow" | "ipc" | "feather" => Self::Arrow,
            _ => {
                return Err(crate::Error::Invalid(format!(
                    "unknown format '{name}'; choose auto, edge-list, adjacency, in-adjacency, matrix-market, \
                     metis, webgraph, graphalytics, parquet or arrow"
                )));
            }
        })
    }
}

/// The treatment of an edge from a vertex to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelfLoops {
    /// The edge is kept (triangles and clustering ignore it).
    #[default]
    Keep,
    /// The edge is dropped; its vertex is kept.
    Drop,
}

/// The order of the vertices on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportLayout {
    /// Original or by degree, whichever makes the lists of a sample of vertices shorter.
    #[default]
    Auto,
    /// Ascending by external id.
    Original,
    /// Descending by the number of the vertex's edges in the input, with duplicates counted; ties
    /// ascending by external id.
    Degree,
    /// Shuffled by a seed.
    Random {
        /// The seed.
        seed: u64,
    },
}

impl ImportLayout {
    /// Returns the name, as in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Original => "original",
            Self::Degree => "degree",
            Self::Random { .. } => "random",
        }
    }
}

impl std::str::FromStr for ImportLayout {
    type Err = crate::Error;

    fn from_str(name: &str) -> crate::Result<Self> {
        match name {
            "auto" => Ok(Self::Auto),
            "original" => Ok(Self::Original),
            "degree" => Ok(Self::Degree),
            "random" => Ok(Self::Random { seed: 0 }),
            _ => Err(crate::Error::Invalid(format!(
                "unknown layout '{name}'; choose auto, original, degree or random"
            ))),
        }
    }
}

/// Options of [`crate::import::import`], shared by Rust, the command line and Python.
#[derive(Clone, Debug)]
pub struct ImportOptions {
    /// True if edges have a direction. Default `true`.
    pub directed: bool,
    /// Format of every input. Default [`Format::Auto`].
    pub format: Format,
    /// Source, target and weight column: names of a header, or numbers counted from 1.
    /// Default: by well-known header names, else the first, second and third.
    pub columns: Option<Vec<String>>,
    /// True if the first line is a header. Default: detected.
    pub header: Option<bool>,
    /// The byte between columns. Default: detected.
    pub separator: Option<u8>,
    /// True to read weights. Default `false`.
    pub weighted: bool,
    /// A file with vertices that may have no edge.
    pub nodes: Option<PathBuf>,
    /// Default [`Duplicates::Drop`].
    pub duplicates: Duplicates,
    /// Default [`SelfLoops::Keep`].
    pub self_loops: SelfLoops,
    /// Default [`ImportLayout::Auto`].
    pub layout: ImportLayout,
    /// Memory that the import may use, in bytes: all that the process takes beyond what it had
    /// before. Default 1 GiB, at least [`crate::import::MINIMUM_MEMORY`].
    pub memory: u64,
    /// Number of threads; 0 stands for those of the machine. Fewer run if memory is short (one for
    /// 16 MiB). Does not change the store.
    pub threads: usize,
    /// Page size of the store in bytes. Default 4096.
    pub page_size: u32,
    /// Encoding of edge lists.
    pub encoding: crate::Encoding,
    /// Further directories over which files are striped.
    pub stripes: Vec<PathBuf>,
    /// Existing directory for temporary files; by default they are beside the store.
    pub scratch: Option<PathBuf>,
    /// Whether inputs without an edge make a store; an error otherwise. Default `false`.
    pub allow_empty: bool,
}

impl Default for ImportOptions {
    fn default() -> Self {
        Self {
            directed: true,
            format: Format::Auto,
            columns: None,
            header: None,
            separator: None,
            weighted: false,
            nodes: None,
            duplicates: Duplicates::Drop,
            self_loops: SelfLoops::Keep,
            layout: ImportLayout::Auto,
            memory: 1 << 30,
            threads: 0,
            page_size: 4096,
            encoding: crate::Encoding::Packed,
            stripes: Vec::new(),
            scratch: None,
            allow_empty: false,
        }
    }
}

/// The report of an import.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// Vertices in the store.
    pub vertices: u64,
    /// Edges in the store; an undirected one counts once.
    pub edges: u64,
    /// Edges of the input.
    pub edges_read: u64,
    /// Duplicates that were dropped or summed into another edge.
    pub duplicates: u64,
    /// Self-loops of the input, kept or not.
    pub self_loops: u64,
    /// Vertices without an edge.
    pub isolated: u64,
    /// Lines that were left out because they begin with `#` or `%`.
    pub comments: u64,
    /// Sentences on what the import guessed or left out, such as columns that it did not read.
    pub notes: Vec<String>,
    /// Bytes of input, decompressed.
    pub bytes_read: u64,
    /// Bytes written to temporary files.
    pub scratch_written: u64,
    /// Most bytes of temporary files that were on the disk at a time.
    pub scratch_peak: u64,
    /// Name of the layout, requested or chosen.
    pub layout: &'static str,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Content hash of the store.
    pub content_hash: String,
}
