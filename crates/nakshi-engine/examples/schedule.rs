//! What the order of vertices and the merging of their requests are worth (FlashGraph, figure 12).
//!
//! ```text
//! schedule STORE bfs|wcc random|sequential|merged THREADS
//! ```
//!
//! Runs a vertex program from the SSD and prints one JSON object. *random* runs the active vertices
//! of an iteration in the order of a hash; *sequential* by id, with 16 of them running at a time, so
//! that few requests can merge; *merged* by id with 4,000, the engine's way.

use std::process::ExitCode;

use nakshi_engine::program::{
    Config, EdgeList, Facts, ListKind, Order, ProgramNeeds, RunContext, Signals, Start, Vertex,
    VertexProgram, run_program,
};
use nakshi_engine::{Context, Direction, EngineMode, Graph, Result, RunStats, VertexId};
use nakshi_store::{OpenOptions, Store};

/// Breadth-first search from vertex 0, the hub of a degree layout: levels.
struct Search {
    shuffled: bool,
}

/// Components by the smallest label, as the paper has them.
struct Labels {
    shuffled: bool,
}

fn order(shuffled: bool) -> Order {
    if shuffled { Order::Key } else { Order::Alternating }
}

/// A hash of the vertex that differs between iterations.
fn shuffle(vertex: VertexId, iteration: u32) -> u64 {
    (u64::from(vertex) << 32 | u64::from(iteration))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

impl VertexProgram for Search {
    type State = u32;
    type Message = ();
    type Scratch = ();

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _vertex: VertexId, _facts: &Facts) -> u32 {
        u32::MAX
    }

    fn start(&self) -> Start {
        Start::Vertices(vec![0])
    }

    fn order(&self) -> Order {
        order(self.shuffled)
    }

    fn key(&self, vertex: VertexId, iteration: u32, _facts: &Facts) -> u64 {
        shuffle(vertex, iteration)
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        if me.state == u32::MAX {
            me.state = cx.iteration();
            cx.request_own(ListKind::OUT);
        }
    }

    fn run_on_vertex(
        &self,
        _me: &mut Vertex<Self>,
        list: &EdgeList<'_>,
        cx: &mut RunContext<'_, Self>,
    ) -> Result<()> {
        cx.activate_list(list)
    }
}

impl VertexProgram for Labels {
    type State = (VertexId, VertexId);
    type Message = VertexId;
    type Scratch = ();
    const COMBINES: bool = true;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    /// The label, and the label last told.
    fn init(&self, vertex: VertexId, _facts: &Facts) -> (VertexId, VertexId) {
        (vertex, VertexId::MAX)
    }

    fn order(&self) -> Order {
        order(self.shuffled)
    }

    fn key(&self, vertex: VertexId, iteration: u32, _facts: &Facts) -> u64 {
        shuffle(vertex, iteration)
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        if me.state.1 != me.state.0 {
            me.state.1 = me.state.0;
            cx.request_own(ListKind::OUT);
        }
    }

    fn run_on_vertex(
        &self,
        me: &mut Vertex<Self>,
        list: &EdgeList<'_>,
        cx: &mut RunContext<'_, Self>,
    ) -> Result<()> {
        cx.multicast_list(list, me.state.0)
    }

    fn run_on_message(
        &self,
        state: &mut (VertexId, VertexId),
        message: &VertexId,
        cx: &mut Signals<'_, Self>,
    ) {
        if *message < state.0 {
            state.0 = *message;
            cx.activate(cx.vertex());
        }
    }

    fn combine(&self, message: &mut VertexId, later: &VertexId) {
        *message = (*message).min(*later);
    }
}

fn run<P: VertexProgram>(
    store: &str,
    program: &P,
    running: usize,
    threads: usize,
) -> Result<RunStats> {
    let config = Config { running, ..Config::default() };
    let cx = Context::new().with_mode(EngineMode::Ssd).with_threads(threads);
    let store = Store::open(store, &OpenOptions::default())?;
    let graph = Graph::open(&store, &config.needs(program), &cx)?;
    Ok(run_program(&graph, program, &config, &cx)?.1)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [store, program @ ("bfs" | "wcc"), variant @ ("random" | "sequential" | "merged"), threads] =
        words.as_slice()
    else {
        eprintln!("usage: schedule STORE bfs|wcc random|sequential|merged THREADS");
        return ExitCode::from(2);
    };
    let shuffled = *variant == "random";
    let running = if *variant == "sequential" { 16 } else { Config::default().running };
    let threads = threads.parse().unwrap_or(1);
    let stats = match *program {
        "bfs" => run(store, &Search { shuffled }, running, threads),
        _ => run(store, &Labels { shuffled }, running, threads),
    };
    match stats {
        Ok(RunStats { seconds, bytes_read, requests, .. }) => {
            println!(
                "{{\"seconds\": {seconds}, \"bytes_read\": {bytes_read}, \"requests\": {requests}}}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("schedule: {error}");
            ExitCode::FAILURE
        }
    }
}
