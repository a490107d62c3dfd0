//! Look-ups on any store: lists, degrees, edges, samples and paths of named vertices.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{Field, Schema};
use nakshi::engine::lookup::Sampling;
use nakshi::engine::{Context, Direction};
use nakshi::lookup::{
    EdgeTable, IdBatch, IdValues, Neighborhoods, Similarity, VertexLookup, Walking,
};
use nakshi::property::{Along, PropertyGraph};
use nakshi::store::import::ImportOptions;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyString};

use crate::arrays;
use crate::arrow_stream::{self, BatchStream};
use crate::builders::hooks;
use crate::call::{long, long_json};
use crate::errors::Failure;
use crate::property::PyProperties;
use crate::store::{Store, context, mode, within};
use crate::values::id_of;

/// Engine, memory in bytes, threads and seconds of a call.
type Limits = (String, Option<u64>, Option<usize>, Option<f64>);

/// The store of a look-up, its limits, and the properties whose changes count.
type Handle<'py> = (PyRef<'py, Store>, Limits, Option<PyRef<'py, PyProperties>>);

/// Lists that a search may read: so many that Ctrl-C stops it.
const SEARCH: usize = 1 << 16;

/// The ids of a request: a NumPy array of 64-bit integers, or an iterable of int, str and bytes.
fn id_batch(object: &Bound<'_, PyAny>) -> PyResult<IdBatch> {
    let torn = |_| PyValueError::new_err("an array of ids must be contiguous");
    if let Ok(array) = object.cast::<PyArray1<i64>>() {
        return Ok(IdBatch::Signed(array.try_readonly()?.as_slice().map_err(torn)?.to_vec()));
    }
    if let Ok(array) = object.cast::<PyArray1<u64>>() {
        return Ok(IdBatch::Unsigned(array.try_readonly()?.as_slice().map_err(torn)?.to_vec()));
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Ok(IdBatch::Any(vec![id_of(object)?]));
    }
    let ids = object.try_iter()?.map(|item| id_of(&item?));
    Ok(IdBatch::Any(ids.collect::<PyResult<_>>()?))
}

fn along(direction: &str) -> PyResult<Along> {
    Ok(match direction {
        "out" => Along::Out,
        "in" => Along::In,
        "both" => Along::Both,
        other => return Err(PyValueError::new_err(format!("no direction '{other}'"))),
    })
}

fn directions(along: Along) -> &'static [Direction] {
    match along {
        Along::Out => &[Direction::Out],
        Along::In => &[Direction::In],
        Along::Both => &[Direction::Out, Direction::In],
    }
}

/// A request to a store: the lists that it reads, and how many of them.
struct Wanted {
    directions: &'static [Direction],
    column: Option<String>,
    requests: usize,
}

impl Wanted {
    fn new(along: Along, requests: usize) -> Self {
        Wanted { directions: directions(along), column: None, requests }
    }
}

/// A look-up on a store, which sees the last commit of the properties.
struct LookupCall<'py> {
    py: Python<'py>,
    store: PyRef<'py, Store>,
    latest: Option<PropertyGraph>,
    context: Context,
}

impl<'py> LookupCall<'py> {
    fn new(py: Python<'py>, handle: Handle<'py>) -> PyResult<Self> {
        let (store, (engine, memory, threads, timeout), properties) = handle;
        let context = within(context(memory, threads).with_mode(mode(&engine)?), timeout)?;
        let latest = properties.map(|properties| properties.graph()).transpose()?;
        Ok(LookupCall { py, store, latest, context })
    }

    /// The graph, if it has changes that the files do not have.
    fn changed(&self) -> Option<&PropertyGraph> {
        self.latest.as_ref().filter(|graph| graph.has_changes())
    }

    /// The look-up that the last call has opened, or a new one if that one does not serve this call.
    fn opened(&self, wanted: &Wanted) -> PyResult<Arc<VertexLookup>> {
        let LookupCall { py, store, latest, context } = self;
        let Wanted { directions, column, requests } = wanted;
        let (opened, known) = store.opened_for(latest.as_ref())?;
        let serves = |known: &Arc<VertexLookup>| {
            known.serves(directions, column.as_deref(), *requests, context)
        };
        let known = match known {
            Some(known) if serves(&known) => return Ok(known),
            known => known,
        };
        let mut all = directions.to_vec();
        let others = known.iter().flat_map(|known| known.directions());
        all.extend(others.filter(|d| !directions.contains(d)));
        // The memory of the old one goes before the new one takes as much.
        let replaced = store.keep_lookup(None);
        py.detach(|| drop((known, replaced)));
        let lookup = Arc::new(long(*py, None, |call| {
            let context = context.clone().with_cancel(call.cancel.clone());
            Ok(VertexLookup::open(&opened, &all, column.clone(), *requests, &context)?)
        })?);
        let replaced = store.keep_lookup(Some(Arc::clone(&lookup)));
        py.detach(|| drop(replaced));
        Ok(lookup)
    }

    /// Runs `work` on what is open, or is opened for it, and on the changed graph.
    fn answer<T: Send>(
        &self,
        wanted: &Wanted,
        work: impl FnOnce(&VertexLookup, Option<&PropertyGraph>, &Context) -> nakshi::Result<T> + Send,
    ) -> PyResult<T> {
        let lookup = self.opened(wanted)?;
        let (context, latest) = (&self.context, self.changed());
        if lookup.is_brief(wanted.requests) {
            let found = self.py.detach(|| work(&lookup, latest, context));
            return Ok(found.map_err(Failure::from)?);
        }
        long(self.py, None, |call| {
            let context = context.clone().with_cancel(call.cancel.clone());
            Ok(work(&lookup, latest, &context)?)
        })
    }
}

/// The neighbours of some vertices.
#[pyclass(frozen, module = "nakshi._core")]
pub struct Neighborhood {
    offsets: Py<PyArray1<i64>>,
    sources: IdValues,
    targets: Column,
}

/// Ids as an array that Python has, or as they came.
enum Column {
    Signed(Py<PyArray1<i64>>),
    Unsigned(Py<PyArray1<u64>>),
    Texts(ArrayRef, Field),
}

impl Column {
    fn new(py: Python<'_>, ids: IdValues) -> Self {
        let field = ids.field("id");
        match ids {
            IdValues::Signed(ids) => Column::Signed(PyArray1::from_vec(py, ids).unbind()),
            IdValues::Unsigned(ids) => Column::Unsigned(PyArray1::from_vec(py, ids).unbind()),
            IdValues::Texts(ids, _) => Column::Texts(ids, field),
        }
    }

    fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Column::Signed(ids) => Ok(ids.bind(py).clone().into_any()),
            Column::Unsigned(ids) => Ok(ids.bind(py).clone().into_any()),
            Column::Texts(ids, field) => {
                let schema = Arc::new(Schema::new(vec![field.clone()]));
                let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::clone(ids)]);
                let batches: BatchStream = Box::new(RecordBatchIterator::new([batch], schema));
                Ok(arrays::export(py, batches, ids.len())?.0)
            }
        }
    }

    /// The ids as they are now, for an export.
    fn values(&self, py: Python<'_>) -> PyResult<IdValues> {
        Ok(match self {
            Column::Signed(ids) => IdValues::Signed(ids.bind(py).to_vec()?),
            Column::Unsigned(ids) => IdValues::Unsigned(ids.bind(py).to_vec()?),
            Column::Texts(ids, field) => {
                IdValues::Texts(Arc::clone(ids), !field.metadata().is_empty())
            }
        })
    }
}

impl Neighborhood {
    /// The lists of `ids` along `along` that `find` yields, with the ids of their vertices.
    fn of(
        call: &LookupCall<'_>,
        along: Along,
        ids: &IdBatch,
        find: impl FnOnce(
            &VertexLookup,
            Option<&PropertyGraph>,
            &Context,
        ) -> nakshi::Result<Neighborhoods>
        + Send,
    ) -> PyResult<Self> {
        let wanted = Wanted::new(along, ids.len());
        let (found, sources) = call.answer(&wanted, |lookup, latest, cx| {
            let found = find(lookup, latest, cx)?;
            let sources = lookup.sources(ids, &found.vertices, latest)?;
            Ok((found, sources))
        })?;
        let offsets = PyArray1::from_vec(call.py, found.offsets).unbind();
        Ok(Neighborhood { offsets, sources, targets: Column::new(call.py, found.targets) })
    }
}

#[pymethods]
impl Neighborhood {
    /// Where the neighbours of each vertex begin.
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.offsets.bind(py).clone()
    }

    /// The neighbours.
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.targets.numpy(py)
    }

    /// A table of pairs as an Arrow C stream.
    #[pyo3(signature = () -> "object")]
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let offsets = self.offsets.bind(py).to_vec()?;
        let targets = self.targets.values(py)?;
        let failed = |error: arrow_schema::ArrowError| PyValueError::new_err(error.to_string());
        let sources = self.sources.repeated(&offsets).array();
        let fields = vec![self.sources.field("source"), targets.field("target")];
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![sources, targets.array()]);
        let batch = batch.map_err(failed)?;
        arrow_stream::export(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }
}

/// A look-up of vertices along a direction, as Python asks for it.
fn asked<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    ids: &Bound<'_, PyAny>,
    direction: &str,
) -> PyResult<(LookupCall<'py>, IdBatch, Along)> {
    let (ids, along) = (id_batch(ids)?, along(direction)?);
    Ok((LookupCall::new(py, handle)?, ids, along))
}

/// The neighbours of vertices along `direction`: `out`, `in` or `both`; with `sampling`, which is a
/// count, a seed and whether one may come twice, some of those along `out` or `in`.
#[pyfunction]
#[pyo3(signature = (handle, ids, direction, sampling = None))]
pub fn neighbors(
    py: Python<'_>,
    handle: Handle<'_>,
    ids: &Bound<'_, PyAny>,
    direction: &str,
    sampling: Option<(usize, u64, bool)>,
) -> PyResult<Neighborhood> {
    let (call, ids, along) = asked(py, handle, ids, direction)?;
    Neighborhood::of(&call, along, &ids, |lookup, latest, cx| match sampling {
        None => lookup.neighbors(&ids, along, latest, cx),
        Some((count, seed, replace)) => {
            lookup.sample(&ids, along, Sampling { count, seed, replace }, latest, cx)
        }
    })
}

/// Number of neighbours of each vertex.
#[pyfunction]
pub fn degrees<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    ids: &Bound<'_, PyAny>,
    direction: &str,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (call, ids, along) = asked(py, handle, ids, direction)?;
    let wanted = Wanted::new(along, ids.len());
    let found =
        call.answer(&wanted, |lookup, latest, cx| lookup.degrees(&ids, along, latest, cx))?;
    let signed = found.into_iter().map(|degree| i64::try_from(degree).unwrap_or(i64::MAX));
    Ok(PyArray1::from_vec(py, signed.collect()))
}

/// For each pair of a source and a target, whether there is an edge.
#[pyfunction]
pub fn has_edges<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    sources: &Bound<'_, PyAny>,
    targets: &Bound<'_, PyAny>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let call = LookupCall::new(py, handle)?;
    let (sources, targets) = (id_batch(sources)?, id_batch(targets)?);
    let wanted = Wanted::new(Along::Out, sources.len());
    let found = call
        .answer(&wanted, |lookup, latest, cx| lookup.has_edges(&sources, &targets, latest, cx))?;
    Ok(PyArray1::from_vec(py, found.into_iter().map(|found| found == 1).collect()))
}

/// For each pair of a source and a target, how similar they are.
#[pyfunction]
pub fn similarities<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    measure: &str,
    sources: &Bound<'_, PyAny>,
    targets: &Bound<'_, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let measure: Similarity = serde_json::from_value(measure.into()).map_err(Failure::from)?;
    let call = LookupCall::new(py, handle)?;
    let pairs = (id_batch(sources)?, id_batch(targets)?);
    let wanted = Wanted::new(Along::Out, 2 * pairs.0.len());
    let found = call.answer(&wanted, |lookup, latest, cx| {
        lookup.similarities(measure, (&pairs.0, &pairs.1), latest, cx)
    })?;
    Ok(PyArray1::from_vec(py, found))
}

/// Random walks from vertices, or from all: their ids, one walk after the other.
#[pyfunction]
pub fn walks<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    starts: Option<&Bound<'_, PyAny>>,
    numbers: (usize, usize, u64),
    biases: (f64, f64),
) -> PyResult<Bound<'py, PyAny>> {
    let call = LookupCall::new(py, handle)?;
    let starts = starts.map(id_batch).transpose()?;
    let ((walks, length, seed), (p, q)) = (numbers, biases);
    let walking = Walking { walks, length, p, q, seed };
    let requests = starts.as_ref().map_or(usize::MAX, IdBatch::len);
    let wanted = Wanted::new(Along::Out, requests.saturating_mul(walks));
    let found = call
        .answer(&wanted, |lookup, latest, cx| lookup.walks(starts.as_ref(), walking, latest, cx))?;
    Column::new(py, found).numpy(py)
}

/// For each id, whether the graph has it.
#[pyfunction]
pub fn contains<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    ids: &Bound<'_, PyAny>,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let (call, ids) = (LookupCall::new(py, handle)?, id_batch(ids)?);
    let wanted = Wanted::new(Along::Out, 0);
    let found = call.answer(&wanted, |lookup, latest, cx| lookup.contains(&ids, latest, cx))?;
    Ok(PyArray1::from_vec(py, found))
}

/// The ids of a shortest path, and its length; by weights if a column is named. `None` without a path.
#[pyfunction]
pub fn shortest_path<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    weight: Option<String>,
) -> PyResult<Option<(Bound<'py, PyAny>, f64)>> {
    let ends = IdBatch::Any(vec![id_of(source)?, id_of(target)?]);
    let call = LookupCall::new(py, handle)?;
    let wanted = Wanted { directions: directions(Along::Both), column: weight, requests: 2 };
    let found = call.answer(&wanted, |lookup, latest, cx| lookup.path(&ends, latest, cx))?;
    let Some(path) = found else { return Ok(None) };
    Ok(Some((Column::new(py, path.ids).numpy(py)?, path.length)))
}

/// The ids of the shortest paths that visit no vertex twice, each with its length; by weights if a column is
/// named.
#[pyfunction]
pub fn shortest_paths<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    count: usize,
    weight: Option<String>,
) -> PyResult<Vec<(Bound<'py, PyAny>, f64)>> {
    let ends = IdBatch::Any(vec![id_of(source)?, id_of(target)?]);
    let call = LookupCall::new(py, handle)?;
    let wanted = Wanted { directions: directions(Along::Both), column: weight, requests: SEARCH };
    let found =
        call.answer(&wanted, |lookup, latest, cx| lookup.paths(&ends, count, latest, cx))?;
    found.into_iter().map(|path| Ok((Column::new(py, path.ids).numpy(py)?, path.length))).collect()
}

/// As [`shortest_path`], where each vertex has a number, in ascending order of the ids, that is not above the
/// length of the way from there to the target.
#[pyfunction]
pub fn guided_path<'py>(
    py: Python<'py>,
    handle: Handle<'py>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    potentials: &Bound<'_, PyArray1<f64>>,
    weight: Option<String>,
) -> PyResult<Option<(Bound<'py, PyAny>, f64)>> {
    let ends = IdBatch::Any(vec![id_of(source)?, id_of(target)?]);
    let torn = |_| PyValueError::new_err("an array of potentials must be contiguous");
    let potentials = potentials.try_readonly()?.as_slice().map_err(torn)?.to_vec();
    let call = LookupCall::new(py, handle)?;
    let wanted = Wanted { directions: directions(Along::Out), column: weight, requests: SEARCH };
    let found = call
        .answer(&wanted, |lookup, latest, cx| lookup.guided_path(&ends, &potentials, latest, cx))?;
    let Some(path) = found else { return Ok(None) };
    Ok(Some((Column::new(py, path.ids).numpy(py)?, path.length)))
}

/// Edges in memory, for Python.
#[pyclass(frozen, module = "nakshi._core")]
pub struct EdgePairs {
    sources: Column,
    targets: Column,
    weights: Option<Py<PyArray1<f64>>>,
    whole: bool,
}

impl EdgePairs {
    fn new(py: Python<'_>, table: EdgeTable) -> Self {
        let EdgeTable { sources, targets, weights, whole } = table;
        let weights = weights.map(|weights| PyArray1::from_vec(py, weights).unbind());
        let (sources, targets) = (Column::new(py, sources), Column::new(py, targets));
        EdgePairs { sources, targets, weights, whole }
    }
}

#[pymethods]
impl EdgePairs {
    /// Where the edges begin.
    fn sources<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.sources.numpy(py)
    }

    /// Where the edges lead.
    fn targets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.targets.numpy(py)
    }

    /// A weight for each edge, if a column was asked for.
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.weights.as_ref().map(|weights| weights.bind(py).clone())
    }

    /// The edges as an Arrow C stream.
    #[pyo3(signature = () -> "object")]
    fn arrow_stream<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let weights = self.weights.as_ref().map(|weights| weights.bind(py).to_vec()).transpose()?;
        let (sources, targets) = (self.sources.values(py)?, self.targets.values(py)?);
        let batch = EdgeTable { sources, targets, weights, whole: self.whole }.batch();
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let schema = batch.schema();
        arrow_stream::export(py, Box::new(RecordBatchIterator::new([Ok(batch)], schema)))
    }
}

/// The edges of vertices, or of all vertices if `ids` is `None`.
#[pyfunction]
pub fn edges(
    py: Python<'_>,
    handle: Handle<'_>,
    ids: Option<&Bound<'_, PyAny>>,
    direction: &str,
    weight: Option<String>,
) -> PyResult<EdgePairs> {
    let call = LookupCall::new(py, handle)?;
    let (ids, along) = (ids.map(id_batch).transpose()?, along(direction)?);
    let requests = ids.as_ref().map_or(usize::MAX, IdBatch::len);
    let wanted = Wanted { directions: directions(along), column: weight, requests };
    let found =
        call.answer(&wanted, |lookup, latest, cx| lookup.edges(ids.as_ref(), along, latest, cx))?;
    Ok(EdgePairs::new(py, found))
}

/// Writes vertices and the edges between them to a new store: those of `ids`, or with `radius` and
/// `limit` those near the one of them. Returns the report as JSON.
#[pyfunction]
pub fn subgraph(
    py: Python<'_>,
    handle: Handle<'_>,
    path: PathBuf,
    ids: &Bound<'_, PyAny>,
    ego: Option<(u64, usize)>,
    direction: &str,
    weight: Option<String>,
) -> PyResult<String> {
    let (asked, ids, along) = asked(py, handle, ids, direction)?;
    let both: &[Direction] = &[Direction::Out, Direction::In];
    let wanted = match (ego, along) {
        (Some(_), Along::In | Along::Both) => both,
        _ => directions(Along::Out),
    };
    let wanted = Wanted { directions: wanted, column: weight, requests: ids.len() };
    let (usual, context) = (ImportOptions::default(), &asked.context);
    let options = ImportOptions {
        memory: context.memory().unwrap_or(usual.memory),
        threads: context.threads(),
        ..usual
    };
    let (lookup, latest) = (asked.opened(&wanted)?, asked.changed());
    long_json(py, None, |call| {
        let cx = &context.clone().with_cancel(call.cancel.clone());
        let vertices = match ego {
            Some(reach) => lookup.ego(&ids, reach, along, latest, cx)?,
            None => lookup.vertices(&ids, latest, cx)?,
        };
        Ok(lookup.subgraph(&vertices, &path, &options, latest, (cx, &hooks(call)))?)
    })
}
