//! Delivery, combining, multicast, thresholds.

use super::graphs::{Edges, skewed};
use super::model::tight;
use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, Order, ProgramConfig, ProgramNeeds, RunContext, Signals, Start,
    Vertex, VertexProgram, run_program,
};
use crate::{Direction, Graph, VertexId};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts and sums; sends one by one, to lists, and to its own choice, and once more from
/// `run_on_message` and from the end of the iteration.
struct Post<const COMBINED: bool> {
    delivered: AtomicU64,
    combined: AtomicU64,
}

impl<const COMBINED: bool> Post<COMBINED> {
    fn new() -> Self {
        Post { delivered: AtomicU64::new(0), combined: AtomicU64::new(0) }
    }
}

/// Sum of what came, and whether a message has been answered.
type Mail = (u64, bool);

impl<const COMBINED: bool> VertexProgram for Post<COMBINED> {
    types!(State = Mail, Message = u64, Scratch = ());
    const COMBINES: bool = COMBINED;

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _: VertexId, _: &Facts) -> Mail {
        (0, false)
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        cx.send(me.id() / 7, 1);
        cx.send(me.id() / 7, 1);
        cx.multicast(&[5, me.id(), 900, 17, 5], 10);
        cx.request_own(ListKind::OUT);
        cx.request_iteration_end();
    }

    on_list!(self, _, list, cx => {
        cx.multicast_list(list, 1000)?;
        list.for_each(|u| cx.send(u, 100))
    });

    fn run_on_message(&self, state: &mut Mail, message: &u64, cx: &mut Signals<'_, Self>) {
        self.delivered.fetch_add(1, Ordering::Relaxed);
        state.0 += message;
        if !state.1 {
            state.1 = true;
            cx.send(cx.vertex() ^ 1, 100_000);
        }
    }

    fn run_on_iteration_end(&self, _: &mut Mail, cx: &mut Signals<'_, Self>) {
        cx.send(3, 1_000_000);
    }

    fn combine(&self, message: &mut u64, later: &u64) {
        self.combined.fetch_add(1, Ordering::Relaxed);
        *message += later;
    }

    fn after_iteration(&self, _: u32, _: u64) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn expected(input: &Edges) -> Vec<u64> {
    let mut sums = vec![0u64; input.n];
    for (v, list) in input.adjacency().iter().enumerate() {
        sums[v / 7] += 2;
        for t in [5, v, 900, 17, 5] {
            sums[t] += 10;
        }
        for &u in list {
            sums[u as usize] += 1100;
        }
        sums[3] += 1_000_000;
    }
    // Everybody gets a message, if from itself, and answers once.
    sums.iter_mut().for_each(|s| *s += 100_000);
    sums
}

/// Seen red with a multicast that ends one destination before the next one begins, and with one
/// that ends one destination behind that.
#[test]
fn every_message_arrives_once() {
    let input = skewed(1000, 6000, true, 20);
    let want = expected(&input);
    input.each_threads(|graph, cx| {
        for config in
            [tight(), ProgramConfig::default(), ProgramConfig { message_bytes: 1, ..tight() }]
        {
            let plain = Post::<false>::new();
            let (states, stats) = run_program(graph, &plain, &config, cx).unwrap();
            assert!(states.iter().map(|s| s.0).eq(want.iter().copied()));
            assert_eq!(stats.iterations.len(), 1, "messages activate nobody");
            assert_eq!(plain.combined.into_inner(), 0);

            let combining = Post::<true>::new();
            let (states, _) = run_program(graph, &combining, &config, cx).unwrap();
            assert!(states.iter().map(|s| s.0).eq(want.iter().copied()));
            let all = plain.delivered.load(Ordering::Relaxed);
            let merged = combining.combined.load(Ordering::Relaxed);
            assert!(merged > 0, "messages to one vertex meet");
            assert_eq!(combining.delivered.into_inner() + merged, all);
        }
    });
}

/// Activates, or multicasts a message on which its receiver activates itself.
struct Spread {
    by_message: bool,
}

impl VertexProgram for Spread {
    types!(State = u32, Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _: VertexId, _: &Facts) -> u32 {
        0
    }

    fn start(&self) -> Start {
        Start::Vertices(vec![2])
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        me.state = me.state << 4 | (cx.iteration() + 1);
        if cx.iteration() < 6 {
            cx.request_own(ListKind::OUT);
        }
    }

    on_list!(self, _, list, cx => {
        if self.by_message { cx.multicast_list(list, ()) } else { cx.activate_list(list) }
    });

    fn run_on_message(&self, _: &mut u32, (): &(), cx: &mut Signals<'_, Self>) {
        cx.activate(cx.vertex());
    }
}

#[test]
fn activation_is_a_multicast_without_data() {
    let input = skewed(800, 1500, true, 21);
    input.each_threads(|graph, cx| {
        let run = |by_message| run_program(graph, &Spread { by_message }, &tight(), cx).unwrap();
        let ((by_message, a), (direct, b)) = (run(true), run(false));
        assert_eq!(by_message, direct);
        let frontiers =
            |s: crate::RunStats| -> Vec<u64> { s.iterations.iter().map(|i| i.frontier).collect() };
        assert_eq!(frontiers(a), frontiers(b));
    });
}

/// Shows when messages are delivered: the last vertices see how many of those before them
/// have arrived at vertex 0.
struct Threshold {
    arrived: AtomicU64,
    before_last: AtomicU64,
}

impl VertexProgram for Threshold {
    types!(State = (), Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::default()
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn order(&self) -> Order {
        Order::Ascending
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        cx.send(0, ());
        if me.id() == 9999 {
            self.before_last.store(self.arrived.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    fn run_on_message(&self, (): &mut (), (): &(), _: &mut Signals<'_, Self>) {
        self.arrived.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn full_buffers_are_delivered_before_more_vertices_run() {
    let graph = Graph::from_edges(10_000, &[], true, None).unwrap();
    let cx = crate::Context::new().with_threads(1);
    for (message_bytes, some) in [(4 * 3000, true), (4 * 20_000, false)] {
        let config = ProgramConfig { message_bytes, running: 100, ..ProgramConfig::default() };
        let program = Threshold { arrived: AtomicU64::new(0), before_last: AtomicU64::new(0) };
        run_program(&graph, &program, &config, &cx).unwrap();
        assert_eq!(program.arrived.into_inner(), 10_000);
        let early = program.before_last.into_inner();
        // Buffers hold the threshold and one batch.
        assert_eq!(early >= 10_000 - 3100, some, "{early} messages came early");
    }
}
