//! Orders, partitions, parts, stealing, stops.

use super::graphs::{Edges, skewed};
use super::model::tight;
use crate::error::Result;
use crate::program::{
    EdgeList, Facts, Grid, ListKind, Order, ProgramConfig, ProgramNeeds, RunContext, Signals,
    Vertex, VertexProgram, run_program,
};
use crate::{Context, Direction, Graph, VertexId};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

fn one() -> Context {
    Context::new().with_threads(1)
}

fn edgeless(n: usize) -> Graph {
    Graph::from_edges(n, &[], true, None).unwrap()
}

/// One call of `run`: iteration, vertex, part, thread.
type Trace = Mutex<Vec<(u32, VertexId, u32, ThreadId)>>;

/// Runs all vertices for a number of iterations, and writes down who, when and where.
struct Traced {
    order: Order,
    iterations: u32,
    stop_at: Option<VertexId>,
    parts: fn(VertexId) -> u32,
    sleep: fn(VertexId) -> u64,
    trace: Trace,
}

impl Traced {
    fn new(order: Order, iterations: u32) -> Self {
        Traced {
            order,
            iterations,
            stop_at: None,
            parts: |_| 1,
            sleep: |_| 0,
            trace: Mutex::default(),
        }
    }

    fn vertices(&self) -> Vec<VertexId> {
        self.trace.lock().unwrap().iter().map(|t| t.1).collect()
    }
}

impl VertexProgram for Traced {
    types!(State = u32, Message = u32, Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::default()
    }

    fn init(&self, _: VertexId, _: &Facts) -> u32 {
        0
    }

    fn order(&self) -> Order {
        self.order.clone()
    }

    fn key(&self, v: VertexId, iteration: u32, _: &Facts) -> u64 {
        u64::from(v) * 37 % 101 + u64::from(iteration)
    }

    fn parts(&self, v: VertexId, _: &Facts) -> u32 {
        (self.parts)(v)
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        let at = (cx.iteration(), me.id(), me.part().0, std::thread::current().id());
        self.trace.lock().unwrap().push(at);
        assert_eq!(me.state, cx.iteration() * me.part().1, "each part starts from the same copy");
        me.state += 1000;
        if me.part().1 == 1 {
            me.state -= 999;
        } else {
            cx.send(me.id(), 1);
        }
        if cx.iteration() + 1 < self.iterations {
            cx.activate(me.id());
        }
        if self.stop_at == Some(me.id()) {
            cx.stop();
        }
        std::thread::sleep(Duration::from_micros((self.sleep)(me.id())));
    }

    fn run_on_message(&self, state: &mut u32, one: &u32, _: &mut Signals<'_, Self>) {
        *state += one;
    }
}

#[test]
fn the_default_order_alternates() {
    let program = Traced::new(Order::Alternating, 3);
    run_program(&edgeless(5000), &program, &tight(), &one()).unwrap();
    let up = 0..5000u32;
    assert!(program.vertices().into_iter().eq(up.clone().chain(up.clone().rev()).chain(up)));

    let program = Traced::new(Order::Ascending, 2);
    run_program(&edgeless(500), &program, &tight(), &one()).unwrap();
    assert!(program.vertices().into_iter().eq((0..500u32).chain(0..500)));
}

#[test]
fn custom_orders_by_key_and_by_vector() {
    let program = Traced::new(Order::Key, 2);
    run_program(&edgeless(300), &program, &tight(), &one()).unwrap();
    let mut expected: Vec<u32> = (0..300).collect();
    expected.sort_by_key(|&v| std::cmp::Reverse(v * 37 % 101));
    let twice = expected.repeat(2);
    assert_eq!(program.vertices(), twice);

    let vector: Vec<u32> = (0..200).rev().chain([7, 7]).collect();
    let program = Traced::new(Order::Vector(vector), 1);
    run_program(&edgeless(300), &program, &tight(), &one()).unwrap();
    assert!(program.vertices().into_iter().eq((0..200).rev().chain(200..300)));
}

/// Seen red with an order of the settings that the engine does not look at.
#[test]
fn the_settings_may_name_another_order() {
    let program = Traced::new(Order::Alternating, 2);
    let config = ProgramConfig { order: Some(Order::Vector(vec![250, 3, 299])), ..tight() };
    run_program(&edgeless(300), &program, &config, &one()).unwrap();
    let first = [250, 3, 299];
    let rest = (0..300).filter(|v| !first.contains(v));
    let expected: Vec<u32> = first.into_iter().chain(rest).collect();
    assert_eq!(program.vertices(), expected.repeat(2));
}

/// All parts `j` before any part `j + 1`, each with a copy of the state, on any thread.
///
/// Seen red with all further parts queued at once.
#[test]
fn parts_run_in_order_from_copies_and_speak_by_messages() {
    for threads in [1, 2, 4] {
        for order in [Order::Alternating, Order::Key] {
            let mut program = Traced::new(order, 3);
            program.parts = |v| if v.is_multiple_of(50) { 2 + v / 200 } else { 1 };
            let cx = Context::new().with_threads(threads);
            let (states, _) = run_program(&edgeless(1000), &program, &tight(), &cx).unwrap();
            for (v, &state) in (0u32..).zip(&states) {
                // What a part wrote to its copy is gone; its messages are not.
                assert_eq!(state, 3 * (program.parts)(v));
            }
            let trace = program.trace.into_inner().unwrap();
            assert!(trace.is_sorted_by_key(|&(iteration, _, part, _)| (iteration, part)));
            let mut times = BTreeMap::new();
            for (iteration, v, part, _) in trace {
                *times.entry((iteration, v, part)).or_insert(0) += 1;
            }
            let runs: u32 = (0..1000).map(program.parts).sum();
            assert_eq!(times.len(), 3 * runs as usize);
            assert!(times.values().all(|&n| n == 1), "each part once");
        }
    }
}

#[test]
fn idle_workers_steal_vertices_and_parts() {
    let threads_of = |program: &Traced, pick: &dyn Fn(VertexId, u32) -> bool| {
        let trace = program.trace.lock().unwrap();
        let mut seen: Vec<ThreadId> = Vec::new();
        for &(_, v, part, thread) in trace.iter() {
            if pick(v, part) && !seen.contains(&thread) {
                seen.push(thread);
            }
        }
        seen.len()
    };
    let config = ProgramConfig { running: 4, ..tight() };
    let cx = Context::new().with_threads(2);
    let grid = Grid::new(4096, 2, 4, Some(6));
    // Only vertices of partition 0 are slow: without stealing one thread would do them all.
    let mut program = Traced::new(Order::Ascending, 1);
    program.sleep = |v| if Grid::new(4096, 2, 4, Some(6)).partition(v) == 0 { 300 } else { 0 };
    run_program(&edgeless(4096), &program, &config, &cx).unwrap();
    assert_eq!(threads_of(&program, &|v, _| grid.partition(v) == 0), 2);

    // The parts of one vertex.
    let mut program = Traced::new(Order::Ascending, 1);
    program.parts = |v| if v == 9 { 200 } else { 1 };
    program.sleep = |v| if v == 9 { 300 } else { 0 };
    run_program(&edgeless(4096), &program, &config, &cx).unwrap();
    assert!(threads_of(&program, &|v, _| v == 9) >= 1);
    // Two such vertices: parts j of both may run at the same time.
    let mut program = Traced::new(Order::Ascending, 1);
    program.parts = |v| if v < 64 { 20 } else { 1 };
    program.sleep = |v| if v < 64 { 200 } else { 0 };
    run_program(&edgeless(4096), &program, &config, &cx).unwrap();
    assert_eq!(threads_of(&program, &|v, part| v < 64 && part > 0), 2);
}

#[test]
fn a_stop_takes_no_further_vertex_from_the_schedule() {
    for threads in [1, 2, 4] {
        let mut program = Traced::new(Order::Key, 5);
        program.stop_at = Some(2345);
        let cx = Context::new().with_threads(threads);
        let config = ProgramConfig { running: 8, ..tight() };
        let (states, stats) = run_program(&edgeless(5000), &program, &config, &cx).unwrap();
        assert_eq!(stats.iterations.len(), 1, "the run ends with the iteration");
        let key = |v: u32| std::cmp::Reverse(v * 37 % 101);
        let stop = (key(2345), 2345);
        let behind = (0..5000u32)
            .filter(|&v| {
                let ran = states[v as usize] == 1;
                assert!(ran || (key(v), v) > stop, "{v} stands before the one that stopped");
                ran && (key(v), v) > stop
            })
            .count();
        assert!(behind <= threads * 80, "{behind} were run behind it");
    }
}

#[test]
fn iterations_are_capped_and_can_be_finished() {
    let cx = Context::new().with_threads(2);
    let config = ProgramConfig { max_iterations: Some(7), ..tight() };
    let (states, stats) =
        run_program(&edgeless(2000), &Traced::new(Order::Ascending, 100), &config, &cx).unwrap();
    assert_eq!(stats.iterations.len(), 7);
    assert!(states.iter().all(|&s| s == 7));
    let config = ProgramConfig { max_iterations: Some(0), ..tight() };
    let (states, _) =
        run_program(&edgeless(2000), &Traced::new(Order::Ascending, 100), &config, &cx).unwrap();
    assert!(states.iter().all(|&s| s == 0));
}

/// Counts how many vertices are running: `run` was called, the list has not come.
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
    finish: AtomicU32,
}

impl VertexProgram for Crowd {
    types!(State = (), Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        cx.request_own(ListKind::OUT);
        cx.activate(me.id());
        if cx.iteration() == 2 {
            cx.finish_after_iteration();
        }
    }

    on_list!(self, _, _, _ => {
        self.now.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    });

    fn after_iteration(&self, iteration: u32, _: u64) -> ControlFlow<()> {
        self.finish.store(iteration, Ordering::Relaxed);
        ControlFlow::Continue(())
    }
}

#[test]
fn running_vertices_are_bounded() {
    let input: Edges = skewed(5000, 20_000, true, 30);
    input.each_threads(|graph, cx| {
        for running in [1, 50, 4000] {
            let [now, most] = [0, 0].map(AtomicUsize::new);
            let program = Crowd { now, most, finish: AtomicU32::new(0) };
            let config = ProgramConfig { running, ..ProgramConfig::default() };
            run_program(graph, &program, &config, cx).unwrap();
            assert!(program.most.into_inner() <= running * cx.threads());
            assert_eq!(program.finish.into_inner(), 2, "finished after iteration 2");
        }
    });
}
