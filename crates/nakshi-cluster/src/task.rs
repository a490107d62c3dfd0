//! Programs by name or source, and what comes out of them.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nakshi_engine::algo::{self, Declaration, PullVisitor, PulledResult, Pulls, with_pull};
use nakshi_engine::program::block::{ForeignProgram, ProgramSpec};
use nakshi_engine::program::pull::{Links, PullProgram, PullValue};
use nakshi_engine::{Context, Direction, Graph, Needs, Outcome, RunStats, VertexId};
use nakshi_store::{EdgePart, ExternalId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::checkpoint::{CheckpointStore, RecoveryState};
use crate::edge_file::{EdgeFile, EdgeSource, Ids, Numbering};
use crate::exchange::Session;
use crate::job::{self, PullWork, Superstep, Terms, Work};
use crate::load::{load, load_alone};
use crate::programs::{Compiler, NamedProgram};
use crate::{Error, MemoryBudget, Partition, Result, Shard, WantedLinks};

/// An algorithm with its parameters, which are those of its [`Declaration`] that the pull program knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    algorithm: String,
    /// A JSON object; vertices are internal ids.
    parameters: Value,
    /// A program in another language, in place of an algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    program: Option<Box<ProgramTask>>,
    /// True for a program of the workers' own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    own: bool,
}

/// A program in another language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProgramTask {
    spec: ProgramSpec,
    /// The text that servers make its functions of.
    source: String,
    /// The vertices that the run names.
    named: Option<Vec<VertexId>>,
}

/// The store, the file or the parts from which servers load the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GraphInput {
    Store(PathBuf),
    /// `source` is the id of the vertex that the task begins at: servers number vertices. `bytes` is how
    /// long the file is.
    Edges {
        file: EdgeFile,
        source: Option<ExternalId>,
        bytes: u64,
    },
    /// Each server has a part of its own.
    Parts {
        source: Option<ExternalId>,
    },
}

/// Names of all tasks: the algorithms that a pull program computes.
pub fn names() -> impl Iterator<Item = &'static str> {
    algo::REGISTRY.iter().filter(|entry| entry.pulls).map(|entry| entry.name)
}

/// Data that a server keeps while a run is taken up again.
#[derive(Debug, Default)]
pub(crate) struct RetainedState {
    pub(crate) shard: Option<Shard>,
    /// True once the others have told the server which values of the shard they want, and it has the
    /// checkpoint
    /// that it began with.
    pub(crate) ready: bool,
    /// Ids of a graph whose vertices the servers have numbered.
    pub(crate) numbered: Option<Numbered>,
    pub(crate) keeper: CheckpointStore,
}

/// The ids of a graph whose vertices the servers have numbered.
#[derive(Debug)]
pub(crate) struct Numbered {
    /// The number of the vertex that the task begins at.
    source: VertexId,
    /// Ids of this server's vertices.
    own: Ids,
}

/// The start of a server: with all others, or in the place of a lost one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Start {
    /// All servers load the graph together.
    Fresh,
    /// The servers that are `new` load their parts alone, unless they have them from an earlier start
    /// that was cut short; the run goes on from the checkpoint of a step, or begins anew.
    Again { new: Vec<usize>, step: Option<u32> },
}

/// One server's part of a task: its input, its session and the callbacks of its steps.
pub(crate) struct ServerTask<'p> {
    pub(crate) input: &'p GraphInput,
    /// The part of a graph that the server has.
    pub(crate) part: Option<&'p Path>,
    /// The programs that the server knows, besides algorithms.
    pub(crate) programs: &'p Programs,
    /// Opens a store, for a server that has to load.
    pub(crate) open: &'p dyn Fn(&Path) -> Result<Graph>,
    pub(crate) start: &'p Start,
    pub(crate) budget: &'p MemoryBudget,
    pub(crate) kept: &'p mut RetainedState,
    pub(crate) session: &'p mut Session,
    pub(crate) terms: Terms,
    pub(crate) cx: &'p Context,
    /// Told when the run begins.
    pub(crate) loaded: &'p dyn Fn(),
    pub(crate) watch: &'p mut dyn FnMut(&Superstep, &RecoveryState),
}

/// Results of a server's part of a task.
#[derive(Debug, Default)]
pub(crate) struct TaskResult {
    /// Results of this server's vertices, ascending; without a store, their ids before them.
    pub(crate) bytes: Vec<u8>,
    /// True if the time was up before the program was finished.
    pub(crate) cut: bool,
}

impl Task {
    /// The task of an algorithm; vertices are internal ids.
    pub fn of<A: Pulls>(algorithm: &A) -> Self {
        let all = serde_json::to_value(algorithm).unwrap_or_default();
        let known = A::DECLARATION.pulled_parameters();
        let given = known.filter_map(|name| Some((name.to_owned(), all.get(name)?.clone())));
        Task::plain(A::NAME, Value::Object(given.collect()))
    }

    fn plain(name: &str, parameters: Value) -> Self {
        Task { algorithm: name.to_owned(), parameters, program: None, own: false }
    }

    /// The task of a program that workers have of their own, by [`crate::worker_main`].
    pub fn of_own<P: NamedProgram>(program: &P) -> Self {
        let parameters = serde_json::to_value(program).unwrap_or_default();
        Task { own: true, ..Task::plain(P::NAME, parameters) }
    }

    /// The task of a program in another language, which servers make of its source.
    ///
    /// # Errors
    /// [`nakshi_engine::Error::UnknownVertex`] for a vertex that the run names.
    pub fn of_program(
        spec: ProgramSpec,
        source: String,
        graph: &Graph,
        cx: &Context,
    ) -> Result<Self> {
        let vertices = |ids: &Vec<Value>| -> nakshi_engine::Result<Vec<VertexId>> {
            ids.iter().map(|id| graph.vertex_by_json(id, cx)).collect()
        };
        let named = spec.sources.as_ref().map(vertices).transpose()?;
        let name = spec.name.clone();
        let program = Some(Box::new(ProgramTask { spec, source, named }));
        Ok(Task { program, ..Task::plain(&name, Value::Null) })
    }

    /// Name of the algorithm.
    pub fn name(&self) -> &str {
        &self.algorithm
    }

    /// The task of a name, with parameters in which vertices are the users' ids.
    ///
    /// # Errors
    /// [`nakshi_engine::Error::UnknownAlgorithm`], [`nakshi_engine::Error::UnknownVertex`], and for
    /// parameters that it does not have or that make no sense.
    pub fn new(
        name: &str,
        parameters: &Map<String, Value>,
        graph: &Graph,
        cx: &Context,
    ) -> Result<Self> {
        Self::named(name, parameters, |source| Ok(graph.vertex_by_json(source, cx)?))
    }

    /// The same for a graph in a file of edges; with the id of the vertex that the task begins at, which
    /// servers find.
    ///
    /// # Errors
    /// As [`Task::new`].
    pub fn of_edges(
        name: &str,
        parameters: &Map<String, Value>,
    ) -> Result<(Self, Option<ExternalId>)> {
        let (task, source) = Self::of_parts(name, parameters)?;
        if task.needs().column.is_some() {
            let what = "lengths of edges in a file are those that it is read with";
            return Err(nakshi_engine::Error::parameter("weight", what).into());
        }
        Ok((task, source))
    }

    /// The same for a graph of which each server has a part, with the weights that are wanted.
    ///
    /// # Errors
    /// As [`Task::new`].
    pub fn of_parts(
        name: &str,
        parameters: &Map<String, Value>,
    ) -> Result<(Self, Option<ExternalId>)> {
        let mut source = None;
        let task = Self::named(name, parameters, |id| {
            let unknown = || nakshi_engine::Error::UnknownVertex { id: id.to_string() };
            source = Some(ExternalId::of_json(id).ok_or_else(unknown)?);
            Ok(0)
        })?;
        Ok((task, source))
    }

    fn named(
        name: &str,
        parameters: &Map<String, Value>,
        mut number: impl FnMut(&Value) -> Result<VertexId>,
    ) -> Result<Self> {
        let declared = declaration(name)?;
        let required = declared.parameters.iter().filter(|parameter| parameter.required);
        if let Some(missing) = required.clone().find(|p| !parameters.contains_key(p.name)) {
            let what = format!("{name} needs the id of the vertex that it begins at");
            return Err(nakshi_engine::Error::parameter(missing.name, what).into());
        }
        let given = Value::Object(parameters.clone());
        let parameters = declared.with_vertices(&given, |id| number(id).map(Value::from))?;
        let task = Task::plain(name, parameters);
        // Read once here, so that servers are not asked for what makes no sense.
        task.with(FactsVisitor)?;
        Ok(task)
    }

    /// Calls `visitor` with the algorithm.
    fn with<V: PullVisitor>(&self, visitor: V) -> Result<V::Result> {
        Ok(with_pull(&self.algorithm, &self.parameters, visitor)?)
    }

    /// The facts that a server, the front-end and its caller know of the task before it runs.
    fn known(&self) -> Facts {
        if let Some(program) = &self.program {
            let spec = &program.spec;
            let column = spec.column.clone().filter(|_| spec.weighted);
            // The arrays of all vertices, too.
            let value_bytes = 2 * spec.width() as u64 + 5;
            return Facts { column, steps: spec.iterations, value_bytes };
        }
        if self.own {
            let column = self.parameters.get("weight").and_then(Value::as_str);
            let column = column.map(str::to_owned);
            return Facts { column, steps: None, value_bytes: 8 };
        }
        // A task whose parameters make no sense ends when it runs.
        self.with(FactsVisitor).unwrap_or_default()
    }

    /// Lists and columns that a server needs of a store to load its part.
    pub fn needs(&self) -> Needs {
        let column = self.known().column;
        Needs { column, gathers: true, ..Needs::new(8.0, &[Direction::In, Direction::Out]) }
    }

    /// Supersteps that it takes at most, if that is known.
    pub fn steps(&self) -> Option<u32> {
        self.known().steps
    }

    /// Bytes of a vertex's value; of triangles, whose values are lists, those of an empty one.
    pub fn value_bytes(&self) -> u64 {
        self.known().value_bytes
    }

    /// The same from another vertex.
    fn from(mut self, vertex: VertexId) -> Self {
        let other = |_: &Value| Ok::<_, Error>(vertex.into());
        let found = declaration(&self.algorithm).map(|d| d.with_vertices(&self.parameters, other));
        if let Ok(Ok(parameters)) = found {
            self.parameters = parameters;
        }
        self
    }

    /// Runs this server's part.
    pub(crate) fn run(&self, mut part: ServerTask<'_>) -> Result<TaskResult> {
        if let Some(program) = &self.program {
            return program.run(part);
        }
        if self.own {
            let (server, known) = (part.session.server(), part.programs.own);
            let found = known.iter().find(|one| one.name == self.algorithm);
            let found = found.ok_or_else(|| {
                let known: Vec<&str> = known.iter().map(|one| one.name).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                let why = format!("it has no program {}; its own are: {known}", self.algorithm);
                Error::Failed { server, why }
            })?;
            return (found.run)(&self.parameters, part);
        }
        let numbers = part.numbers()?;
        let known = part.kept.numbered.as_ref();
        let task = known.map_or_else(|| self.clone(), |known| self.clone().from(known.source));
        task.with(RunVisitor { part, numbers })?
    }

    /// The results of `n` vertices as columns, from those of every server's [`Task::run`] after `steps`
    /// supersteps; `by_rank` are vertices in the order of the users' ids, if that is another one.
    ///
    /// # Errors
    /// [`Error::Damaged`]; errors of reading ids.
    pub(crate) fn outcome(
        &self,
        results: &[&[u8]],
        n: usize,
        steps: u32,
        by_rank: &dyn Fn() -> nakshi_engine::Result<Option<Vec<VertexId>>>,
    ) -> Result<Outcome> {
        if let Some(program) = &self.program {
            return program.outcome(results, n, steps);
        }
        let mut outcome = self.with(GatherVisitor { results, n, steps, by_rank })??;
        let declared = declaration(&self.algorithm)?.summary;
        let alone = |name: &str| declared.iter().any(|output| output.alone && output.name == name);
        outcome.summary.retain(|name, _| !alone(name));
        Ok(outcome)
    }
}

fn declaration(name: &str) -> Result<Declaration> {
    let known = algo::REGISTRY.iter().find(|entry| entry.pulls && entry.name == name);
    let entry = known.ok_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        nakshi_engine::Error::UnknownAlgorithm { name: name.into(), known }
    })?;
    Ok(entry.declaration)
}

/// Facts about a task, whatever its algorithm.
#[derive(Debug, Default)]
struct Facts {
    column: Option<String>,
    steps: Option<u32>,
    value_bytes: u64,
}

struct FactsVisitor;

impl PullVisitor for FactsVisitor {
    type Result = Facts;

    fn visit<A: Pulls>(self, algorithm: &A) -> Facts {
        let value = size_of::<<A::Program as PullProgram>::Value>() as u64;
        let (column, steps) = (algorithm.column().map(str::to_owned), algorithm.steps());
        Facts { column, steps, value_bytes: value }
    }
}

struct RunVisitor<'p> {
    part: ServerTask<'p>,
    numbers: Option<Numbering>,
}

impl PullVisitor for RunVisitor<'_> {
    type Result = Result<TaskResult>;

    fn visit<A: Pulls>(self, algorithm: &A) -> Result<TaskResult> {
        one(&algorithm.program(), (self.part, self.numbers))
    }
}

struct GatherVisitor<'a> {
    results: &'a [&'a [u8]],
    n: usize,
    steps: u32,
    by_rank: &'a dyn Fn() -> nakshi_engine::Result<Option<Vec<VertexId>>>,
}

impl PullVisitor for GatherVisitor<'_> {
    type Result = Result<Outcome>;

    fn visit<A: Pulls>(self, algorithm: &A) -> Result<Outcome> {
        let GatherVisitor { results, n, steps, by_rank } = self;
        let (values, stats) = (all(results, n)?, RunStats::default());
        let found = PulledResult { values, steps, totals: None, by_rank, stats };
        Ok(algorithm.assemble(found)?.into())
    }
}

impl ServerTask<'_> {
    /// Numbers the vertices of a run without a store, if they have to be loaded.
    fn numbers(&mut self) -> Result<Option<Numbering>> {
        if self.kept.shard.is_some() && *self.start != Start::Fresh {
            return Ok(None);
        }
        let (input, part, server) = (self.input, self.part, self.session.server());
        let Some((edges, source)) = source_of(input, part, server)? else { return Ok(None) };
        let together = (*self.start == Start::Fresh).then_some(&mut *self.session);
        let numbers = edges.numbered((server, together), self.cx)?;
        let unknown = |id: &ExternalId| nakshi_engine::Error::UnknownVertex { id: id.to_string() };
        let number =
            |id: &ExternalId| numbers.named(&id.clone().into_bytes()).ok_or_else(|| unknown(id));
        let source = source.map(number).transpose()?.unwrap_or_default();
        self.kept.numbered = Some(Numbered { source, own: Ids::Integers(Vec::new()) });
        Ok(Some(numbers))
    }

    /// Loads this server's part of the graph: with all others, or alone.
    fn load(&mut self, wanted: WantedLinks, numbers: Option<Numbering>) -> Result<Shard> {
        let ServerTask { input, part, open, start, budget, session, cx, .. } = self;
        let place = (session.server(), session.servers());
        let found = source_of(input, *part, place.0)?;
        let together = (**start == Start::Fresh).then_some(&mut **session);
        match (input, found) {
            (GraphInput::Store(path), _) => {
                let graph = open(path)?;
                let weighted = wanted.weighted && graph.weighted();
                let wanted = WantedLinks { weighted, ..wanted };
                match together {
                    Some(session) => load(&graph, wanted, budget, session, cx),
                    None => load_alone(&graph, wanted, budget, place, cx),
                }
            }
            (_, found) => {
                let none = || Error::Failed { server: place.0, why: "it has no numbers".into() };
                let (numbers, (edges, _)) = numbers.zip(found).ok_or_else(none)?;
                let shard = edges.load(wanted, &numbers, budget, place, together, cx)?;
                if let Some(known) = &mut self.kept.numbered {
                    known.own = numbers.ids(shard.vertices());
                }
                Ok(shard)
            }
        }
    }
}

/// The edges of a run without a store, and the id of the vertex that the task begins at.
fn source_of<'i>(
    input: &'i GraphInput,
    part: Option<&Path>,
    server: usize,
) -> Result<Option<(EdgeSource<'i>, Option<&'i ExternalId>)>> {
    match input {
        GraphInput::Store(_) => Ok(None),
        GraphInput::Edges { file, source, bytes } => {
            Ok(Some((EdgeSource::File(file, *bytes), source.as_ref())))
        }
        GraphInput::Parts { source } => {
            let none = || Error::Failed { server, why: "it has no part of a graph".into() };
            let part = EdgePart::open(part.ok_or_else(none)?);
            let part = part.map_err(nakshi_engine::Error::from)?;
            Ok(Some((EdgeSource::Part(part), source.as_ref())))
        }
    }
}

/// Loads, runs and gathers.
fn one<P: PullProgram>(
    program: &P,
    (part, numbers): (ServerTask<'_>, Option<Numbering>),
) -> Result<TaskResult> {
    let wanted = WantedLinks::of::<P>();
    ran(wanted, (part, numbers), |_| Ok(PullWork(program)))
}

/// Loads, runs the work that is made for the shard, and gathers.
fn ran<W: Work>(
    wanted: WantedLinks,
    (mut part, numbers): (ServerTask<'_>, Option<Numbering>),
    work: impl FnOnce(&Shard) -> Result<W>,
) -> Result<TaskResult> {
    let fresh = *part.start == Start::Fresh;
    if part.kept.shard.is_none() || fresh {
        part.kept.shard = Some(part.load(wanted, numbers)?);
        part.kept.ready = fresh;
    }
    let ServerTask { start, budget, kept, session, terms, cx, loaded, watch, .. } = part;
    let RetainedState { shard, ready, keeper, numbered } = kept;
    let mut from = None;
    if let Start::Again { new, step } = start {
        for shard in shard.iter_mut() {
            shard.exchange(Some(new), session)?;
            budget.check(shard)?;
        }
        match *step {
            Some(step) => from = Some(keeper.restore(step, new, session)?),
            None => keeper.forget(),
        }
        *ready = true;
    }
    loaded();
    let server = session.server();
    let none = || Error::Failed { server, why: "it has no part of the graph".into() };
    let shard = shard.as_ref().ok_or_else(none)?;
    let mut work = work(shard)?;
    let finished = job::run_from(shard, &mut work, session, (keeper, from), terms, cx, watch)?;
    let mut bytes = Vec::new();
    if let Some(known) = numbered {
        known.own.put(&mut bytes);
    }
    finished.values.iter().for_each(|value| value.encode(&mut bytes));
    Ok(TaskResult { bytes, cut: finished.cut })
}

/// Does the same with rows of at least as many bytes as values have, and one more.
macro_rules! with_rows {
    ($width:expr, $bytes:ident => $work:expr) => {
        with_rows!($width, $bytes => $work; 5 9 13 17 25 33 49 65)
    };
    ($width:expr, $bytes:ident => $work:expr; $($size:literal)*) => {
        match $width + 1 {
            $(width if width <= $size => {
                const $bytes: usize = $size;
                $work
            })*
            _ => Err(nakshi_engine::Error::parameter(
                "value",
                "on several servers the values of a vertex have 64 bytes at most",
            )
            .into()),
        }
    };
}

impl ProgramTask {
    /// Makes the program, and runs this server's part.
    fn run(&self, part: ServerTask<'_>) -> Result<TaskResult> {
        let ProgramTask { spec, source, named } = self;
        let server = part.session.server();
        let failed = |why: String| Error::Failed { server, why };
        if !matches!(part.input, GraphInput::Store(_)) {
            return Err(failed("a program runs on a store".into()));
        }
        let compiler = part.programs.compiler.clone();
        let none = || failed("it compiles no programs; start it as `nakshi worker`".into());
        let compiler = compiler.ok_or_else(none)?;
        let functions = compiler.functions(source).map_err(failed)?;
        let links = spec.sending.is_some_and(|sending| sending.both);
        let links = if links { Links::Both } else { Links::In };
        let wanted = WantedLinks { links, weighted: spec.weighted, lengths: false, named: true };
        let program = OnceCell::new();
        let cx = part.cx;
        let ran = with_rows!(spec.width(), B => {
            ran(wanted, (part, None), |shard| {
                let n = shard.vertices as usize;
                let flags = spec.flags(named.as_deref(), n)?;
                let made = spec.program(functions, flags, named.clone(), Vec::new(), n)?;
                let made = program.get_or_init(|| made);
                job::ForeignWork::<B>::new((made, spec), named.as_deref(), n, cx)
            })
        });
        let failed_block = program.get().and_then(ForeignProgram::failed);
        match (ran, failed_block) {
            (Err(Error::Engine(nakshi_engine::Error::Program { .. })), Some(block)) => {
                cx.check()?;
                Err(failed(compiler.explained(source, &block)))
            }
            (ran, _) => ran,
        }
    }

    /// The values of `n` vertices as columns.
    fn outcome(&self, results: &[&[u8]], n: usize, steps: u32) -> Result<Outcome> {
        let mut values = self.spec.arrays(n)?;
        with_rows!(self.spec.width(), B => {
            let rows = all::<job::Row<B>>(results, n)?;
            values.put(|| rows.iter().enumerate().map(|(v, row)| (v, row.bytes())));
            Ok::<(), Error>(())
        })?;
        Ok(self.spec.outcome(values, steps))
    }
}

/// A program of a worker's own.
#[derive(Debug)]
pub struct OwnProgram {
    pub(crate) name: &'static str,
    run: fn(&Value, ServerTask<'_>) -> Result<TaskResult>,
}

impl OwnProgram {
    /// The program of a type.
    pub const fn of<P: NamedProgram>() -> Self {
        OwnProgram { name: P::NAME, run: run_own::<P> }
    }
}

fn run_own<P: NamedProgram>(parameters: &Value, mut part: ServerTask<'_>) -> Result<TaskResult> {
    let program: P = serde_json::from_value(parameters.clone())
        .map_err(|error| nakshi_engine::Error::parameter(P::NAME, error.to_string()))?;
    let numbers = part.numbers()?;
    one(&program, (part, numbers))
}

/// Programs that a worker knows, besides algorithms.
#[derive(Clone, Default)]
pub struct Programs {
    /// Compiles the sources of programs.
    pub compiler: Option<Arc<dyn Compiler>>,
    /// Programs of its own.
    pub own: &'static [OwnProgram],
}

impl std::fmt::Debug for Programs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Programs").field("own", &self.own).finish_non_exhaustive()
    }
}

/// The ids of all vertices of a run without a store, ascending, and the results of each server.
pub(crate) fn ids(results: &[Vec<u8>]) -> Result<(Ids, Vec<&[u8]>)> {
    let (mut all, mut values) = (Vec::new(), Vec::new());
    for (server, result) in results.iter().enumerate() {
        let mut rest = result.as_slice();
        let missing = || Error::damaged(server, "ids are missing");
        all.push(Ids::take(&mut rest).ok_or_else(missing)?);
        values.push(rest);
    }
    let all = Ids::joined(all).ok_or_else(|| Error::damaged(0, "ids are of another kind"))?;
    Ok((all, values))
}

/// Values of all vertices, from those of each server's.
pub(crate) fn all<T: PullValue>(results: &[&[u8]], n: usize) -> Result<Vec<T>> {
    let partition = Partition::new(results.len())?;
    let mut left = results.to_vec();
    // Ids are 32 bits wide.
    let found = (0..n as VertexId).map(|v| {
        let server = partition.owner(v);
        let value = left.get_mut(server).and_then(T::decode);
        value.ok_or_else(|| Error::damaged(server, "results are missing"))
    });
    let found = found.collect::<Result<Vec<T>>>()?;
    match left.iter().position(|left| !left.is_empty()) {
        Some(server) => Err(Error::damaged(server, "it has results of no vertex")),
        None => Ok(found),
    }
}
