//! Reads from the SSD: selection, merging, columns.

use super::graphs::{Edges, Lcg};
use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, Order, ProgramConfig, ProgramNeeds, RunContext, Vertex,
    VertexProgram, run_program,
};
use crate::{Context, Direction, Graph, RunStats, VertexId};
use std::sync::Mutex;

/// Bytes of a page of test graphs.
const PAGE: u64 = 512;

/// 4,000 vertices with 20 neighbours each: some 30 lists on a page.
fn even() -> Edges {
    let mut lcg = Lcg(60);
    let edges = (0..80_000).map(|i| (i / 20, lcg.below(4000) as VertexId)).collect();
    Edges { n: 4000, edges, directed: true }
}

fn on_ssd(input: &Edges, weights: Option<&[f64]>, cache: usize) -> Graph {
    let Edges { n, edges, directed } = input;
    Graph::from_edges_on_ssd(*n, edges, *directed, weights, cache, &|backend| backend).unwrap()
}

/// Vertices ask for lists of their choice, for two iterations.
struct Reader {
    order: Order,
    wants: fn(VertexId) -> Vec<VertexId>,
    kind: ListKind,
    weights: Mutex<Vec<(VertexId, VertexId, f64)>>,
}

impl Reader {
    fn new(wants: fn(VertexId) -> Vec<VertexId>) -> Self {
        let (order, kind) = (Order::Ascending, ListKind::OUT);
        Reader { order, wants, kind, weights: Mutex::default() }
    }

    fn run(&self, graph: &Graph, running: usize) -> RunStats {
        let config = ProgramConfig { running, max_iterations: Some(2), ..ProgramConfig::default() };
        let cx = Context::new().with_threads(1);
        run_program(graph, self, &config, &cx).unwrap().1
    }
}

impl VertexProgram for Reader {
    types!(State = (), Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        let column = self.kind.has_column().then(|| "weight".to_owned());
        ProgramNeeds { column, ..ProgramNeeds::lists(&[Direction::Out]) }
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn order(&self) -> Order {
        self.order.clone()
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        cx.request_many(&(self.wants)(me.id()), self.kind);
        cx.activate(me.id());
    }

    on_list!(self, _, list, _ => {
        assert_eq!(list.weights().is_some(), self.kind.has_column());
        let mut all = Vec::new();
        list.for_each_weighted(|u, w| all.push((list.vertex(), u, w)))?;
        self.weights.lock().unwrap().extend(all);
        Ok(())
    });
}

#[test]
fn no_list_is_read_that_nobody_asked_for() {
    let input = even();
    let graph = on_ssd(&input, None, 64 << 10);
    assert_eq!(Reader::new(|_| Vec::new()).run(&graph, 4000).bytes_read, 0);
    // Three lists that lie far from each other, asked for by hundreds of vertices.
    let some = Reader::new(|v| if v % 10 == 0 { vec![5, 2000, 3990] } else { Vec::new() });
    let stats = some.run(&graph, 4000);
    assert!(stats.bytes_read > 0 && stats.bytes_read <= 3 * 2 * PAGE, "{}", stats.bytes_read);
    let pages = |s: &RunStats| s.hits + s.misses;
    assert!(pages(&stats) <= 2 * 6, "requests for one list are one: {}", pages(&stats));
}

/// Seen red with every other word of the frontier drawn from the other end of the graph.
#[test]
fn own_lists_are_read_once_in_large_requests() {
    let input = even();
    let total = on_ssd(&input, None, 0).total_bytes(Direction::Out).unwrap();
    let own: fn(VertexId) -> Vec<VertexId> = |v| vec![v];
    // The cache is much smaller than the lists: pages read twice would show.
    let graph = on_ssd(&input, None, 8 << 10);
    for running in [200, 4000] {
        let stats = Reader::new(own).run(&graph, running);
        let first = &stats.iterations[0];
        let batches = 4000 / running as u64;
        assert!(
            first.bytes_read <= total + PAGE * (batches + 1),
            "{} of {total}",
            first.bytes_read
        );
        // A cache this small has a window of eight pages. A batch fills it, works on what has
        // come, and keeps the last page, on which the next list may begin; the next read fills the
        // window again but for that page and, at its end, one that a list of two pages did not
        // fit on. So each read brings six new pages, except for the last of a batch; and a batch
        // has two pages at its ends that it may share with its neighbours.
        assert!(first.requests <= batches + total / (6 * PAGE), "{}", first.requests);
    }
    // Scattered vertices, the same lists: the order of the schedule is what merges.
    let mut scattered = Reader::new(own);
    scattered.order = Order::Vector((0..4000).map(|i| i * 1237 % 4000).collect());
    let stats = scattered.run(&graph, 200);
    assert!(stats.iterations[0].bytes_read > 2 * total);
}

/// Seen red with waves left unsorted, which read every page twice: four times in two iterations.
#[test]
fn requests_for_many_lists_merge_over_the_running_vertices() {
    let input = even();
    let graph = on_ssd(&input, None, 8 << 10);
    let total = graph.total_bytes(Direction::Out).unwrap();
    let others: fn(VertexId) -> Vec<VertexId> =
        |v| (0..5).map(|k| (v * 7 + k * 811) % 4000).collect();
    let few = Reader::new(others).run(&graph, 10);
    let many = Reader::new(others).run(&graph, 4000);
    assert!(many.requests * 4 < few.requests, "{} and {}", many.requests, few.requests);
    // Two iterations, whose requests come in two portions each: a page may be in both.
    assert!(many.bytes_read <= 2 * (total + 2 * PAGE), "{} of {total}", many.bytes_read);
    assert!(many.bytes_read * 2 < few.bytes_read);
}

/// Seen red with a schedule that always goes up: the sets of the cache, which depend on the number
/// of the file, then make a few misses more or less.
#[test]
fn turning_round_finds_the_last_pages_in_the_cache() {
    let input = even();
    let run = |order| {
        let graph = on_ssd(&input, None, 48 << 10);
        let mut program = Reader::new(|v| vec![v]);
        program.order = order;
        program.run(&graph, 200).iterations[1].misses
    };
    let (turning, always_up) = (run(Order::Alternating), run(Order::Ascending));
    assert!(turning * 4 < always_up * 3, "{turning} misses instead of {always_up}");
}

#[test]
fn columns_come_with_the_lists_that_name_them_only() {
    let mut input = even();
    input.edges.sort_unstable();
    input.edges.dedup();
    let weights: Vec<f64> = (0..input.edges.len()).map(|i| (i % 251) as f64).collect();
    let mut want: Vec<_> =
        input.edges.iter().zip(&weights).map(|(&(u, v), &w)| (u, v, w)).collect();
    want.extend_from_within(..);
    want.sort_by_key(|e| (e.0, e.1));
    let memory = Graph::from_edges(input.n, &input.edges, true, Some(&weights)).unwrap();
    let ssd = on_ssd(&input, Some(&weights), 64 << 10);
    for graph in [&memory, &ssd] {
        let mut program = Reader::new(|v| vec![v]);
        program.kind = ListKind::OUT.with_column();
        program.run(graph, 300);
        let mut got = std::mem::take(&mut *program.weights.lock().unwrap());
        got.sort_by_key(|e| (e.0, e.1));
        assert!(got == want);
    }
    let without = Reader::new(|v| vec![v]).run(&ssd, 4000);
    let total = ssd.total_bytes(Direction::Out).unwrap();
    assert!(without.iterations[0].bytes_read <= total + 4 * PAGE, "no column was read");
}
