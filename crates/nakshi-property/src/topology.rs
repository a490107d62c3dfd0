//! The edge lists of a graph after its last commit, for algorithms.
//!
//! The lists in a store's files are those of the last compaction. [`Topology::bring_up_to_date`] writes
//! them once more with the changes of the log, into a temporary store beside it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use nakshi_io::write::default_fs;
use nakshi_io::{CancelToken, run_workers};
use nakshi_store::import::{Hooks, ImportOptions};
use nakshi_store::{
    AmendOptions, Amendment, ColumnSpec, ColumnType, Error, ExternalId, NewLists, OpenOptions,
    Result, Store, VertexId, amend, amend_weighted,
};

use super::base::Base;
use super::conflict::Subject;
use super::entry::{PropertyEntry, files_generation};
use super::graph::PropertyGraph;
use super::project::{Projection, project};
use super::scratch::{self, Scratch};
use super::spec::PropertySpec;
use super::state::GraphState;
use super::value::{Scalar, Value};

/// The property that is the weight of edges where none is named.
const WEIGHT: &str = "weight";
/// The temporary store in its directory.
const STORE: &str = "topology.nakshi";
/// Advice on edges without a weight.
const MISSING: &str = "give their weight (missing_weight=1, --missing-weight 1), or count every edge as 1 \
                       (unit=True, --unit)";
/// Vertices whose edges a thread looks through at once.
const BLOCK: u64 = 1 << 12;

/// An edge property that algorithms read as the weight of edges.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeWeight {
    /// Name of the property, which has numbers.
    pub property: String,
    /// The weight of edges that lack the property; without it, such an edge is an error.
    pub missing: Option<f64>,
}

/// A store with the edge lists of a graph: that of its files, or a temporary one, which goes with this.
#[derive(Debug)]
pub struct Topology {
    store: Arc<Store>,
    generation: u64,
    commit: u64,
    weight: Option<EdgeWeight>,
    unweighted: u64,
    seconds: f64,
    scratch: Option<Scratch>,
}

impl Topology {
    /// The edge lists in the files of `store`, as the last compaction left them.
    ///
    /// # Errors
    /// [`Error::Corrupt`] for a section that does not parse.
    pub fn of_files(store: &Arc<Store>) -> Result<Self> {
        let commit = PropertyEntry::of(store.manifest())?.map_or(0, |entry| entry.commit);
        Ok(Topology {
            generation: files_generation(store.manifest())?,
            store: Arc::clone(store),
            commit,
            weight: None,
            unweighted: 0,
            seconds: 0.0,
            scratch: None,
        })
    }

    /// The edge lists of `graph`, whose files are those of `store`; with a column of weights if there
    /// shall be one. Without weights the files serve where the log has no changes of nodes and edges, and
    /// edges between the same nodes are one list entry. With weights every edge has its own.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a weight that is no number, or missing without a default;
    /// [`Error::Budget`]; those of reading and writing; [`Error::Cancelled`]. Nothing is left behind then.
    pub fn bring_up_to_date(
        graph: &PropertyGraph,
        store: &Arc<Store>,
        weight: Option<&EdgeWeight>,
        options: AmendOptions,
        hooks: &Hooks,
    ) -> Result<Self> {
        let began = Instant::now();
        note_all(graph.state());
        let changes = TopologyChanges::of(graph.state(), &hooks.cancel)?;
        if weight.is_none() && changes.is_empty() {
            return Ok(Topology { commit: graph.commit(), ..Self::of_files(store)? });
        }
        let scratch = Scratch::create(store)?;
        let path = scratch.path().join(STORE);
        let (fs, amendment) = (default_fs(), changes.amendment());
        let mut unweighted = 0;
        match weight {
            None => {
                let list = |v| new_list(graph.state(), v);
                let lists = NewLists { of: &changes.touched, list: &list };
                amend(&fs, store, &path, amendment, lists, options, hooks)?;
            }
            Some(weight) => {
                let weights = PropertyWeights::of(graph.state(), weight)?;
                let survey = weights.survey(options.threads, hooks)?;
                unweighted = survey.missing;
                let float = weights.float;
                let ty = match float {
                    true => ColumnType::for_floats(survey.narrow),
                    false => ColumnType::for_integers(survey.least, survey.most),
                };
                let column = ColumnSpec { name: weight.property.clone(), ty };
                let arcs = |range: Range<u64>, tell: &mut Tell<'_>| {
                    weights.each(range, |edge| tell(edge.source, edge.target, edge.weight.bits()))
                };
                amend_weighted(&fs, store, &path, amendment, column, &arcs, options, hooks)?;
            }
        }
        let opening = OpenOptions { cancel: hooks.cancel.clone(), ..OpenOptions::default() };
        let made = Store::open(&path, &opening)?;
        Ok(Topology {
            store: made,
            generation: files_generation(store.manifest())?,
            commit: graph.commit(),
            weight: weight.cloned(),
            unweighted,
            seconds: began.elapsed().as_secs_f64(),
            scratch: Some(scratch),
        })
    }

    /// The edge lists of a projection of `graph`, whose files are those of `store`.
    ///
    /// # Errors
    /// As [`project()`]. Nothing is left behind then.
    pub fn of_projection(
        graph: &PropertyGraph,
        store: &Store,
        projection: &Projection,
        options: &ImportOptions,
        hooks: &Hooks,
    ) -> Result<Self> {
        let began = Instant::now();
        note_all(graph.state());
        let scratch = Scratch::create(store)?;
        let path = scratch.path().join(STORE);
        project(graph, &path, projection, options, hooks)?;
        let opening = OpenOptions { cancel: hooks.cancel.clone(), ..OpenOptions::default() };
        Ok(Topology {
            store: Store::open(&path, &opening)?,
            generation: files_generation(store.manifest())?,
            commit: graph.commit(),
            weight: None,
            unweighted: 0,
            seconds: began.elapsed().as_secs_f64(),
            scratch: Some(scratch),
        })
    }

    /// Removes what processes that were killed have left of topologies of `store`.
    pub fn remove_leftovers(store: &Store) {
        scratch::remove_leftovers(store);
    }

    /// The store with the edge lists.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// WeightValue of the last commit that the edge lists have.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// Generation of the files that the edge lists were made of.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The property that is a column of weights.
    pub fn weight(&self) -> Option<&EdgeWeight> {
        self.weight.as_ref()
    }

    /// WeightValue of edges that lack the property, whose weight is the default.
    pub fn unweighted(&self) -> u64 {
        self.unweighted
    }

    /// Wall-clock seconds that it took to write a temporary store; 0 without one.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Whether it is in a temporary store.
    pub fn is_temporary(&self) -> bool {
        self.scratch.is_some()
    }

    /// Whether this process made it: a forked child makes its own.
    pub fn is_ours(&self) -> bool {
        self.scratch.as_ref().is_none_or(Scratch::is_ours)
    }
}

/// What is told of each edge; see [`nakshi_store::Arcs`].
type Tell<'t> = dyn FnMut(VertexId, VertexId, u64) -> Result<()> + 't;

/// The nodes and records that the log has changed.
struct TopologyChanges {
    added: Vec<ExternalId>,
    removed: Vec<VertexId>,
    /// Nodes whose edges may have changed, ascending.
    touched: Vec<VertexId>,
}

impl TopologyChanges {
    /// # Errors
    /// [`Error::Cancelled`].
    fn of(state: &GraphState, cancel: &CancelToken) -> Result<Self> {
        let mut changes = TopologyChanges { added: vec![], removed: vec![], touched: vec![] };
        for v in state.filed()..state.numbered() {
            cancel.check()?;
            changes.added.push(state.external(v)?);
        }
        for layer in state.layers.iter() {
            cancel.check()?;
            changes.removed.extend(layer.changed_nodes());
            changes.touched.extend(layer.changed_sources());
        }
        changes.removed.extend(state.log.changed_nodes().map(|(v, _)| v));
        changes.touched.extend(state.log.changed_records().map(|((v, _), _)| v));
        cancel.check()?;
        // A node that was deleted and is there again has lost its edges.
        let cut = |v: &VertexId| {
            u64::from(*v) < state.filed() && !state.has_file_edges(*v) && state.is_alive(*v)
        };
        changes.touched.extend(changes.removed.iter().copied().filter(cut));
        changes.touched.retain(|v| state.is_alive(*v));
        changes.removed.retain(|v| !state.is_alive(*v));
        cancel.check()?;
        changes.removed.sort_unstable();
        changes.removed.dedup();
        changes.touched.sort_unstable();
        changes.touched.dedup();
        Ok(changes)
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.touched.is_empty()
    }

    fn amendment(&self) -> Amendment<'_> {
        Amendment { added: &self.added, removed: &self.removed }
    }
}

/// Notes that a transaction rests on all nodes and edges.
fn note_all(state: &GraphState) {
    state.note(Subject::Nodes);
    state.note(Subject::Edges);
}

/// The nodes that edges of a node lead to, ascending, each once.
pub(super) fn new_list(state: &GraphState, v: VertexId) -> Result<Vec<VertexId>> {
    let mut list = Vec::new();
    for (_, parts) in state.records(v)? {
        list.extend(state.ends_of(v, &parts)?);
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

fn narrow(v: u64) -> Result<VertexId> {
    VertexId::try_from(v).map_err(|_| Error::BadList("a vertex id does not fit 32 bits"))
}

/// A weight as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WeightValue {
    Int(i64),
    Float(f64),
}

impl WeightValue {
    /// The weight as algorithms read it: exact for integers of up to 53 bits.
    pub(super) fn as_float(self) -> f64 {
        match self {
            WeightValue::Int(weight) => weight as f64,
            WeightValue::Float(weight) => weight,
        }
    }

    fn bits(self) -> u64 {
        match self {
            WeightValue::Int(weight) => weight.cast_unsigned(),
            WeightValue::Float(weight) => weight.to_bits(),
        }
    }
}

/// An edge with its weight.
pub(super) struct WeightedEdge {
    source: VertexId,
    pub(super) target: VertexId,
    pub(super) weight: WeightValue,
    /// The weight is that of edges which lack the property.
    pub(super) missing: bool,
}

/// What the weights of all edges are.
#[derive(Debug)]
struct WeightSurvey {
    edges: u64,
    missing: u64,
    /// The first edge that lacks the property.
    first: Option<(VertexId, VertexId)>,
    least: i64,
    most: i64,
    /// All floats are exact in 32 bits.
    narrow: bool,
    /// The first edge whose weight is no finite number.
    infinite: Option<(VertexId, VertexId)>,
}

impl Default for WeightSurvey {
    fn default() -> Self {
        let (least, most) = (i64::MAX, i64::MIN);
        WeightSurvey {
            edges: 0,
            missing: 0,
            first: None,
            least,
            most,
            narrow: true,
            infinite: None,
        }
    }
}

impl WeightSurvey {
    fn add(&mut self, edge: &WeightedEdge, at: (VertexId, VertexId), told: bool) {
        self.edges += 1;
        if edge.missing {
            self.missing += 1;
            self.first = Some(self.first.map_or(at, |first| first.min(at)));
            if !told {
                return;
            }
        }
        match edge.weight {
            WeightValue::Int(weight) => {
                self.least = self.least.min(weight);
                self.most = self.most.max(weight);
            }
            WeightValue::Float(weight) => {
                self.narrow &= f64::from(weight as f32).to_bits() == weight.to_bits();
                if !weight.is_finite() {
                    self.infinite = Some(self.infinite.map_or(at, |first| first.min(at)));
                }
            }
        }
    }

    fn join(mut self, other: Self) -> Self {
        let first = |a: Option<_>, b: Option<_>| a.into_iter().chain(b).min();
        self.edges += other.edges;
        self.missing += other.missing;
        self.first = first(self.first, other.first);
        self.infinite = first(self.infinite, other.infinite);
        (self.least, self.most) = (self.least.min(other.least), self.most.max(other.most));
        self.narrow &= other.narrow;
        self
    }
}

/// The edges of a graph with the weights that a property gives them.
pub(super) struct PropertyWeights<'g> {
    state: &'g GraphState,
    name: &'g str,
    property: u32,
    spec: PropertySpec,
    missing: Option<f64>,
    /// PropertyWeights are floats, not integers.
    float: bool,
}

impl<'g> PropertyWeights<'g> {
    pub(super) fn of(state: &'g GraphState, weight: &'g EdgeWeight) -> Result<Self> {
        let property = state.schema.edges.weight(&weight.property)?;
        let (_, spec) = state.schema.edges.find(&weight.property)?;
        if weight.missing.is_some_and(|missing| !missing.is_finite()) {
            return Err(Error::Invalid("the weight of edges without one must be finite".into()));
        }
        let whole = weight.missing.is_none_or(|missing| missing == (missing as i64) as f64);
        Ok(PropertyWeights {
            state,
            name: &weight.property,
            property,
            spec: spec.clone(),
            missing: weight.missing,
            float: spec.ty.scalar == Scalar::Float || !whole,
        })
    }

    /// The weight that bytes of the property are, or that of edges without it.
    fn number(&self, bytes: Option<&[u8]>) -> Result<(WeightValue, bool)> {
        let float = |weight: i64| {
            // Exact up to 53 bits, as weights are everywhere.
            if self.float { WeightValue::Float(weight as f64) } else { WeightValue::Int(weight) }
        };
        let Some(bytes) = bytes else {
            let missing = self.missing.unwrap_or(1.0);
            // Whole, where weights are integers.
            return Ok((
                if self.float {
                    WeightValue::Float(missing)
                } else {
                    WeightValue::Int(missing as i64)
                },
                true,
            ));
        };
        match Value::decode(self.spec.ty, bytes) {
            Some(Value::Float(weight)) => Ok((WeightValue::Float(weight), false)),
            Some(Value::Int(weight)) => Ok((float(weight), false)),
            _ => Err(Error::Invalid(format!("a value of '{}' is no {}", self.name, self.spec.ty))),
        }
    }

    /// Hands the edges of the nodes of a range to `f`.
    pub(super) fn each(
        &self,
        range: Range<u64>,
        mut f: impl FnMut(WeightedEdge) -> Result<()>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        for v in range {
            let source = narrow(v)?;
            if !self.state.is_alive(source) {
                continue;
            }
            let mut tell = |target, value: Option<&[u8]>| {
                let (weight, missing) = self.number(value)?;
                f(WeightedEdge { source, target, weight, missing })
            };
            for (_, parts) in self.state.records(source)? {
                self.state.each_edge(source, &parts, |target, row| {
                    bytes.clear();
                    let found = row.get(self.property, &mut bytes)?;
                    tell(target, found.then_some(bytes.as_slice()))
                })?;
            }
        }
        Ok(())
    }

    /// Looks at the weights of all edges.
    ///
    /// # Errors
    /// [`Error::Invalid`] for edges without a weight and without a default, and for weights that are not
    /// finite.
    fn survey(&self, threads: usize, hooks: &Hooks) -> Result<WeightSurvey> {
        let next = AtomicU64::new(0);
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let surveys = run_workers(threads, |_| {
            let mut survey = WeightSurvey::default();
            loop {
                hooks.check()?;
                let from = next.fetch_add(BLOCK, Relaxed);
                if from >= self.state.numbered() {
                    return Ok::<_, Error>(survey);
                }
                self.each(from..self.state.numbered().min(from + BLOCK), |edge| {
                    survey.add(&edge, (edge.source, edge.target), self.missing.is_some());
                    Ok(())
                })?;
            }
        })?;
        let survey = surveys.into_iter().fold(WeightSurvey::default(), WeightSurvey::join);
        let name = self.name;
        if let Some((source, target)) = survey.first.filter(|_| self.missing.is_none()) {
            return Err(Error::Invalid(format!(
                "{} of {} edges have no '{name}', such as {} -> {}; {MISSING}",
                survey.missing,
                survey.edges,
                self.state.external(source.into())?,
                self.state.external(target.into())?
            )));
        }
        if let Some((source, target)) = survey.infinite {
            return Err(self.infinite(source, target)?);
        }
        Ok(survey)
    }

    /// The error for an edge whose weight is no finite number.
    fn infinite(&self, source: VertexId, target: VertexId) -> Result<Error> {
        Ok(Error::Invalid(format!(
            "the '{}' of the edge {} -> {} is no finite number",
            self.name,
            self.state.external(source.into())?,
            self.state.external(target.into())?
        )))
    }

    /// Refuses an edge without a weight, if there is no default, and one whose weight is not finite.
    pub(super) fn check(&self, edge: &WeightedEdge) -> Result<()> {
        if !edge.weight.as_float().is_finite() {
            return Err(self.infinite(edge.source, edge.target)?);
        }
        if !edge.missing || self.missing.is_some() {
            return Ok(());
        }
        Err(Error::Invalid(format!(
            "the edge {} -> {} has no '{}'; {MISSING}",
            self.state.external(edge.source.into())?,
            self.state.external(edge.target.into())?,
            self.name
        )))
    }
}

/// What a graph can tell about its edge lists.
impl PropertyGraph {
    /// Opens the property files of a store as [`PropertyGraph::open`], without the changes of its log.
    ///
    /// # Errors
    /// As [`PropertyGraph::open`].
    pub fn open_files(store: &Store, memory: Option<u64>, cancel: &CancelToken) -> Result<Self> {
        Ok(PropertyGraph::of(GraphState::of_files(Arc::new(Base::open(store, memory, cancel)?))))
    }

    /// Names of the edge properties that have numbers.
    pub fn weights(&self) -> Vec<&str> {
        let numbers = self.state().schema.edges.specs().iter().filter(|spec| spec.is_number());
        numbers.map(|spec| spec.name.as_str()).collect()
    }

    /// The property that is the weight where none is named: `weight`, if it has numbers.
    pub fn usual_weight(&self) -> Option<&'static str> {
        self.weights().contains(&WEIGHT).then_some(WEIGHT)
    }

    /// Generation of the files of the store.
    pub fn generation(&self) -> u64 {
        self.state().base.generation()
    }
}
