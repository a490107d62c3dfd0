//! Functions that make, check and copy stores: `build`, `generate`, `check`, `export`, `backup`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use nakshi::store::Store;
use nakshi::store::export::ExportOptions;
use nakshi::store::generate::{
    Generator, Grid, Hyperbolic, Kronecker, LogNormal, NodeTexts, PowerLaw, affordable_threads,
    write, write_tables,
};
use nakshi::store::import::{self, Hooks, ImportOptions, Input, Ints, Numbers, Progress};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::arrays;
use crate::arrow_stream;
use crate::call::{Call, Meter, long, long_json};
use crate::errors::Failure;
use crate::values::parsed;

/// A stream of tables for an import, which can be read once.
#[pyclass(frozen, module = "nakshi._core")]
pub struct Batches(Mutex<Option<arrow_stream::BatchStream>>);

impl Batches {
    fn new(stream: arrow_stream::BatchStream) -> Self {
        Self(Mutex::new(Some(stream)))
    }

    pub(crate) fn take(&self) -> Option<arrow_stream::BatchStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl Batches {
    /// A stream of any object with `__arrow_c_stream__`.
    #[staticmethod]
    fn from_stream(table: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(arrow_stream::import(table)?))
    }

    /// A stream of arrays, or lists of `str`, of equal length, by name.
    #[staticmethod]
    fn from_arrays(columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<Self> {
        Ok(Self::new(arrays::import(&columns)?))
    }
}

/// Options of an import, as the Python package writes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ImportSettings {
    directed: bool,
    weighted: bool,
    format: String,
    columns: Option<Vec<String>>,
    separator: Option<char>,
    header: Option<bool>,
    layout: String,
    seed: Option<u64>,
    duplicates: import::Duplicates,
    self_loops: import::SelfLoops,
    encoding: nakshi::store::Encoding,
    page_size: Option<u32>,
    memory: Option<u64>,
    threads: Option<usize>,
    nodes: Option<PathBuf>,
    stripes: Option<Vec<PathBuf>>,
    scratch: Option<PathBuf>,
    #[serde(default)]
    allow_empty: bool,
}

impl ImportSettings {
    fn parse(text: &str) -> Result<ImportOptions, Failure> {
        let given: ImportSettings = serde_json::from_str(text)?;
        let defaults = ImportOptions::default();
        Ok(ImportOptions {
            directed: given.directed,
            weighted: given.weighted,
            format: given.format.parse()?,
            columns: given.columns,
            separator: separator(given.separator)?,
            header: given.header,
            layout: layout(&given.layout, given.seed)?,
            duplicates: given.duplicates,
            self_loops: given.self_loops,
            encoding: given.encoding,
            page_size: given.page_size.unwrap_or(defaults.page_size),
            memory: given.memory.unwrap_or(defaults.memory),
            threads: given.threads.unwrap_or(defaults.threads),
            nodes: given.nodes,
            stripes: given.stripes.unwrap_or_default(),
            scratch: given.scratch,
            allow_empty: given.allow_empty,
        })
    }
}

/// Parses the name of a layout.
pub(crate) fn layout(name: &str, seed: Option<u64>) -> Result<import::ImportLayout, Failure> {
    let mut layout = name.parse()?;
    if let (import::ImportLayout::Random { seed }, Some(given)) = (&mut layout, seed) {
        *seed = given;
    }
    Ok(layout)
}

/// Checks a separator of columns.
pub(crate) fn separator(given: Option<char>) -> Result<Option<u8>, Failure> {
    given
        .map(u8::try_from)
        .transpose()
        .map_err(|_| Failure::Other("separator: give one ASCII character, such as , or ;".into()))
}

pub(crate) fn hooks(call: &Call) -> Hooks {
    let meter: Arc<Meter> = call.meter.clone();
    Hooks {
        cancel: call.cancel.clone(),
        progress: Some(Arc::new(move |now: Progress| {
            let unit = match now.phase {
                "read" | "scratch" | "copy" => "bytes",
                "layout" | "cost" => "",
                _ => "edges",
            };
            meter.note(now.phase, now.done, now.total.unwrap_or(0), unit);
        })),
    }
}

/// A NumPy array that is locked against writing while it is imported.
enum Locked<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

impl<'py> Locked<'py> {
    fn new(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        macro_rules! try_types {
            ($($variant:ident: $type:ty),*) => {$(
                if let Ok(array) = object.cast::<PyArray1<$type>>() {
                    let guard = array.try_readonly().map_err(|_| {
                        PyValueError::new_err("an array is being written while it is imported")
                    })?;
                    return Ok(Self::$variant(guard));
                }
            )*};
        }
        try_types!(I32: i32, I64: i64, F32: f32, F64: f64);
        Err(PyTypeError::new_err("a sparse matrix has int32 or int64 indices, and numbers"))
    }

    fn numbers(&self) -> PyResult<Numbers<'_>> {
        Ok(match self {
            Self::I32(array) => Numbers::Ints(Ints::I32(array.as_slice()?)),
            Self::I64(array) => Numbers::Ints(Ints::I64(array.as_slice()?)),
            Self::F32(array) => Numbers::F32(array.as_slice()?),
            Self::F64(array) => Numbers::F64(array.as_slice()?),
        })
    }

    fn ints(&self) -> PyResult<Ints<'_>> {
        match self.numbers()? {
            Numbers::Ints(ints) => Ok(ints),
            _ => Err(PyTypeError::new_err("indices of a sparse matrix must be integers")),
        }
    }
}

/// Row pointers, columns and weights of a sparse matrix.
type Csr<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Imports edges into a new store and returns the report as JSON.
///
/// The edges are those of `paths`, `batches` and `csr` (row pointers, columns, weights).
#[pyfunction]
#[pyo3(signature = (path, paths, options, *, batches = None, csr = None, progress = None))]
pub fn build(
    py: Python<'_>,
    path: PathBuf,
    paths: Vec<PathBuf>,
    options: &str,
    batches: Option<Bound<'_, Batches>>,
    csr: Option<Csr<'_>>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let options = ImportSettings::parse(options)?;
    let matrix = match &csr {
        None => None,
        Some((rows, columns, weights)) => Some((
            Locked::new(rows)?,
            Locked::new(columns)?,
            weights.as_ref().map(Locked::new).transpose()?,
        )),
    };
    let mut inputs: Vec<Input<'_>> = paths.into_iter().map(Input::Path).collect();
    if let Some(batches) = batches {
        inputs.extend(batches.get().take().map(Input::Batches));
    }
    if let Some((rows, columns, weights)) = &matrix {
        let weight = weights.as_ref().map(Locked::numbers).transpose()?;
        inputs.push(Input::Csr { indptr: rows.ints()?, indices: columns.ints()?, weight });
    }
    long_json(py, progress, |call| Ok(import::import(inputs, &path, &options, &hooks(call))?))
}

/// Parameters of the generators; a parameter of another generator is refused.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Recipe {
    Kronecker {
        scale: u32,
        edge_factor: Option<u64>,
        seed: Option<u64>,
    },
    PowerLaw {
        vertices: u64,
        edges: Option<u64>,
        exponent: Option<f64>,
        seed: Option<u64>,
    },
    LogNormal {
        vertices: u64,
        mu: Option<f64>,
        sigma: Option<f64>,
        cap: Option<u32>,
        seed: Option<u64>,
    },
    Hyperbolic {
        vertices: u64,
        degree: Option<f64>,
        exponent: Option<f64>,
        shuffle: Option<bool>,
        seed: Option<u64>,
    },
    Path {
        vertices: u64,
        shuffle: Option<bool>,
        seed: Option<u64>,
    },
    Grid {
        vertices: u64,
        width: Option<u64>,
        shuffle: Option<bool>,
        seed: Option<u64>,
    },
}

impl Recipe {
    fn seed(&self) -> u64 {
        match self {
            Recipe::Kronecker { seed, .. }
            | Recipe::PowerLaw { seed, .. }
            | Recipe::LogNormal { seed, .. }
            | Recipe::Hyperbolic { seed, .. }
            | Recipe::Path { seed, .. }
            | Recipe::Grid { seed, .. } => seed.unwrap_or(1),
        }
    }

    fn generator(self) -> Box<dyn Generator> {
        let first = self.seed();
        let shuffled = |shuffle: Option<bool>| shuffle.unwrap_or(false).then_some(first);
        match self {
            Recipe::Path { vertices, shuffle, .. } => {
                Box::new(Grid { shuffle: shuffled(shuffle), ..Grid::path(vertices) })
            }
            Recipe::Grid { vertices, width, shuffle, .. } => {
                let d = Grid::square(vertices);
                let width = width.unwrap_or(d.width);
                Box::new(Grid { width, shuffle: shuffled(shuffle), ..d })
            }
            Recipe::Kronecker { scale, edge_factor, seed } => {
                let d = Kronecker::new(scale);
                Box::new(Kronecker {
                    edge_factor: edge_factor.unwrap_or(d.edge_factor),
                    seed: seed.unwrap_or(d.seed),
                    ..d
                })
            }
            Recipe::PowerLaw { vertices, edges, exponent, seed } => Box::new(PowerLaw {
                vertices,
                edges: edges.unwrap_or_else(|| vertices.saturating_mul(16)),
                exponent: exponent.unwrap_or(2.5),
                seed: seed.unwrap_or(1),
            }),
            Recipe::Hyperbolic { vertices, degree, exponent, shuffle, .. } => {
                let d = Hyperbolic::new(vertices, degree.unwrap_or(16.0), exponent.unwrap_or(2.5));
                Box::new(d.with_seed(first).with_shuffle(shuffle.unwrap_or(false)))
            }
            Recipe::LogNormal { vertices, mu, sigma, cap, seed } => {
                let d = LogNormal::new(vertices);
                Box::new(LogNormal {
                    mu: mu.unwrap_or(d.mu),
                    sigma: sigma.unwrap_or(d.sigma),
                    cap: cap.unwrap_or(d.cap),
                    seed: seed.unwrap_or(d.seed),
                    ..d
                })
            }
        }
    }
}

/// Writes the edges of a random graph to a file; `recipe` is a JSON object with `kind` and the
/// generator's parameters. With a file of `nodes`, both are tables with properties, whose texts are
/// `unique` or repeat. Returns the number of edges.
#[pyfunction]
#[pyo3(signature = (path, recipe, *, nodes = None, unique = false, memory = None, threads = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
pub fn generate(
    py: Python<'_>,
    path: PathBuf,
    recipe: &str,
    nodes: Option<PathBuf>,
    unique: bool,
    memory: Option<u64>,
    threads: Option<usize>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    let recipe: Recipe = parsed(recipe)?;
    let seed = recipe.seed();
    let generator = recipe.generator();
    let threads = threads.unwrap_or_else(|| nakshi::engine::Context::new().threads());
    long(py, progress, |call| {
        if let Some(nodes) = &nodes {
            let texts = if unique { NodeTexts::Unique } else { NodeTexts::Repeated };
            let files = [nodes.as_path(), &path];
            return Ok(write_tables(generator.as_ref(), seed, texts, files, &hooks(call))?.1);
        }
        let threads = affordable_threads(generator.as_ref(), threads, memory)?;
        Ok(write(generator.as_ref(), &path, threads, &hooks(call))?)
    })
}

/// Reads all of a store and returns a report of all damage, as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, memory = None, progress = None))]
pub fn check(
    py: Python<'_>,
    path: PathBuf,
    memory: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    long_json(py, progress, |call| {
        let mut told = |done, total| call.meter.note("check", done, total, "bytes");
        Ok(nakshi::store::check(&path, &call.opening(memory), &mut told)?)
    })
}

/// Writes a store to files, or to a directory for Neo4j. Returns the numbers of rows written, as
/// JSON.
#[pyfunction]
#[pyo3(signature = (store, path, *, format = "auto", weight = None, nodes = None, plain = false, memory = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "one for each argument in Python")]
pub fn export(
    py: Python<'_>,
    store: PathBuf,
    path: PathBuf,
    format: &str,
    weight: Option<String>,
    nodes: Option<PathBuf>,
    plain: bool,
    memory: Option<u64>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let format = serde_json::from_value(format.into()).map_err(Failure::from)?;
    let options = ExportOptions { format, weight, nodes, plain, memory };
    long_json(py, progress, |call| {
        let store = Store::open(&store, &call.opening(None))?;
        Ok(nakshi::store::export::export(&store, &path, &options, &hooks(call))?)
    })
}

/// Copies a store, which may be in use, and returns the report as JSON.
#[pyfunction]
#[pyo3(signature = (source, destination, *, progress = None))]
pub fn backup(
    py: Python<'_>,
    source: PathBuf,
    destination: PathBuf,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    long_json(py, progress, |call| {
        let fs = nakshi::io::write::default_fs();
        Ok(nakshi::store::backup(&fs, &source, &destination, &hooks(call))?)
    })
}
