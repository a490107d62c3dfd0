//! `run`, lists, activation, the end of an iteration.

use super::graphs::skewed;
use crate::error::Result;
use crate::program::{
    EdgeList, Facts, ListKind, ProgramConfig, ProgramNeeds, RunContext, Signals, Start, Vertex,
    VertexProgram, run_program,
};
use crate::{Direction, VertexId};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Small batches, ranges and buffers, so that every boundary is crossed on a small graph.
pub(super) fn tight() -> ProgramConfig {
    ProgramConfig {
        running: 37,
        range_bits: Some(6),
        batch_bytes: 700,
        message_bytes: 512,
        max_iterations: None,
        order: None,
    }
}

/// Every third vertex starts; a vertex activates its double and one and a half of it; each
/// callback checks that it alone works on its vertex.
struct Exact {
    n: u32,
    /// Runs of each vertex, by iteration.
    runs: Vec<Mutex<Vec<u32>>>,
    busy: Vec<AtomicBool>,
}

impl Exact {
    fn new(n: usize) -> Self {
        Exact {
            n: n as u32,
            runs: (0..n).map(|_| Mutex::default()).collect(),
            busy: (0..n).map(|_| AtomicBool::new(false)).collect(),
        }
    }

    fn targets(&self, v: u32) -> [u32; 2] {
        [v * 2 % self.n, (v + v / 2) % self.n]
    }

    /// Fails if another thread is in a callback of the same vertex.
    fn alone(&self, v: VertexId, f: impl FnOnce()) {
        let busy = &self.busy[v as usize];
        assert!(!busy.swap(true, Ordering::SeqCst), "two threads on vertex {v}");
        f();
        std::thread::yield_now();
        busy.store(false, Ordering::SeqCst);
    }
}

impl VertexProgram for Exact {
    types!(State = u32, Message = u32, Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, v: VertexId, _: &Facts) -> u32 {
        v
    }

    fn start(&self) -> Start {
        Start::Vertices((0..self.n).step_by(3).chain([0, 3]).collect())
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        assert_eq!((me.state, cx.vertex()), (me.id(), me.id()), "own state only");
        self.alone(me.id(), || {
            self.runs[me.id() as usize].lock().unwrap().push(cx.iteration());
            if cx.iteration() < 4 {
                cx.activate_many(&self.targets(me.id()));
                cx.activate(me.id() / 2 * 2);
            }
            cx.send((me.id() * 7 + 1) % self.n, 1);
            cx.request_own(ListKind::OUT);
        });
    }

    on_list!(self, me, list, cx => {
        assert_eq!(list.vertex(), me.id(), "the own list was asked for");
        self.alone(me.id(), || cx.multicast_list(list, 1).unwrap());
        Ok(())
    });

    fn run_on_message(&self, state: &mut u32, _: &u32, cx: &mut Signals<'_, Self>) {
        assert_eq!(*state, cx.vertex());
        self.alone(cx.vertex(), || cx.request_iteration_end());
    }

    fn run_on_iteration_end(&self, state: &mut u32, cx: &mut Signals<'_, Self>) {
        assert_eq!(*state, cx.vertex());
        self.alone(cx.vertex(), || {});
    }
}

/// Seen red with a `take_word` that does not take, and (it hangs) with every worker delivering to
/// every partition.
#[test]
fn run_once_per_active_vertex_and_iteration_never_two_at_once() {
    let input = skewed(1500, 6000, true, 1);
    input.each_threads(|graph, cx| {
        for config in [tight(), ProgramConfig::default()] {
            let program = Exact::new(input.n);
            run_program(graph, &program, &config, cx).unwrap();
            // The same by hand.
            let mut active: Vec<bool> = (0..input.n).map(|v| v % 3 == 0).collect();
            for iteration in 0..6u32 {
                let mut next = vec![false; input.n];
                for v in 0..input.n as u32 {
                    let ran = program.runs[v as usize].lock().unwrap();
                    let times = ran.iter().filter(|&&i| i == iteration).count();
                    assert_eq!(times, usize::from(active[v as usize]), "vertex {v} in {iteration}");
                    if active[v as usize] && iteration < 4 {
                        for t in program.targets(v) {
                            next[t as usize] = true;
                        }
                        next[v as usize / 2 * 2] = true;
                    }
                }
                active = next;
            }
        }
    });
}

/// The list that a vertex requests: `None` is its own.
type Ask = fn(VertexId) -> Vec<(Option<VertexId>, ListKind)>;

/// Every delivered list: receiver, owner, kind and content.
type Got = (VertexId, VertexId, Direction, Vec<VertexId>);

/// Asks for what `ask` says and notes what comes.
struct Lists {
    ask: Ask,
    got: Mutex<Vec<Got>>,
}

impl VertexProgram for Lists {
    types!(State = (), Message = (), Scratch = u8);

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out, Direction::In])
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        me.scratch = 7;
        for (whose, kind) in (self.ask)(me.id()) {
            match whose {
                None => cx.request_own(kind),
                Some(v) => cx.request(v, kind),
            }
        }
    }

    on_list!(self, me, list, _ => {
        assert_eq!(me.scratch, 7, "what `run` left is there while the vertex runs");
        let mut all = Vec::new();
        list.decode_into(&mut all)?;
        assert_eq!(list.degree(), all.len() as u64);
        let mut again = Vec::new();
        list.blocks(|block| {
            again.extend_from_slice(block);
            ControlFlow::Continue(())
        })?;
        assert_eq!(again, all);
        self.got.lock().unwrap().push((me.id(), list.vertex(), list.kind().direction(), all));
        Ok(())
    });
}

#[test]
fn every_request_is_answered_once_and_nothing_else_comes() {
    let input = skewed(700, 5000, true, 2);
    let out = input.adjacency();
    let mut reversed = skewed(700, 5000, true, 2);
    reversed.edges.iter_mut().for_each(|e| *e = (e.1, e.0));
    let incoming = reversed.adjacency();
    input.each_threads(|graph, cx| {
        let program = Lists {
            ask: |v| match v % 4 {
                0 => Vec::new(),
                1 => vec![(None, ListKind::OUT)],
                2 => vec![(None, ListKind::IN), (None, ListKind::OUT), (Some(3), ListKind::IN)],
                _ => [v / 2, 0, v / 2, 699].map(|of| (Some(of), ListKind::OUT)).to_vec(),
            },
            got: Mutex::default(),
        };
        run_program(graph, &program, &tight(), cx).unwrap();
        let mut expected = Vec::new();
        let mut expect = |v: u32, of: u32, direction| {
            let lists = if direction == Direction::Out { &out } else { &incoming };
            expected.push((v, of, direction, lists[of as usize].clone()));
        };
        for v in 0..700u32 {
            match v % 4 {
                0 => {}
                1 => expect(v, v, Direction::Out),
                2 => {
                    expect(v, v, Direction::In);
                    expect(v, v, Direction::Out);
                    expect(v, 3, Direction::In);
                }
                _ => {
                    [v / 2, 0, v / 2, 699].into_iter().for_each(|of| expect(v, of, Direction::Out))
                }
            }
        }
        let mut got = program.got.into_inner().unwrap();
        let key = |e: &Got| (e.0, e.1, e.2 == Direction::In);
        got.sort_by_key(key);
        expected.sort_by_key(key);
        assert_eq!(got.len(), expected.len());
        assert!(got == expected);
    });
}

/// Follows first neighbours: each list leads to the next request.
struct Walk {
    steps: u32,
    end: Vec<AtomicU32>,
}

impl VertexProgram for Walk {
    types!(State = (), Message = (), Scratch = u32);

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn run(&self, _: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        cx.request_own(ListKind::OUT);
    }

    on_list!(self, me, list, cx => {
        let mut first = None;
        list.for_each(|u| {
            first.get_or_insert(u);
        })?;
        me.scratch += 1;
        match first {
            Some(u) if me.scratch < self.steps => cx.request(u, ListKind::OUT),
            _ => self.end[me.id() as usize].store(list.vertex(), Ordering::Relaxed),
        }
        Ok(())
    });
}

#[test]
fn a_list_may_lead_to_further_requests() {
    let input = skewed(600, 3000, true, 3);
    let lists = input.adjacency();
    input.each_threads(|graph, cx| {
        let program = Walk { steps: 9, end: (0..600).map(|_| AtomicU32::new(u32::MAX)).collect() };
        run_program(graph, &program, &tight(), cx).unwrap();
        for v in 0..600u32 {
            let mut at = v;
            for _ in 1..9 {
                at = lists[at as usize].first().copied().unwrap_or(at);
            }
            assert_eq!(program.end[v as usize].load(Ordering::Relaxed), at, "from {v}");
        }
    });
}

/// Some vertices ask for the end of the iteration; it comes after everything else.
struct Ends {
    running: AtomicU64,
    told: AtomicU64,
}

impl VertexProgram for Ends {
    types!(State = u32, Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::default()
    }

    fn init(&self, _: VertexId, _: &Facts) -> u32 {
        0
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        self.running.fetch_add(1, Ordering::SeqCst);
        if me.id().is_multiple_of(3) {
            cx.request_iteration_end();
            cx.request_iteration_end();
        }
        if me.id().is_multiple_of(5) {
            cx.send(me.id() + 1, ());
        }
    }

    /// Messages reach vertices that are not active, and may ask for the end too.
    fn run_on_message(&self, state: &mut u32, (): &(), cx: &mut Signals<'_, Self>) {
        *state += 100;
        cx.request_iteration_end();
    }

    fn run_on_iteration_end(&self, state: &mut u32, cx: &mut Signals<'_, Self>) {
        assert_eq!(self.running.load(Ordering::SeqCst), 500 * (u64::from(cx.iteration()) + 1));
        assert_eq!(*state >= 100, cx.vertex() % 10 == 1, "all messages have arrived");
        self.told.fetch_add(1, Ordering::SeqCst);
        if cx.iteration() == 0 {
            cx.activate(cx.vertex() / 2 * 2 % 1000);
        }
        *state += 1;
    }

    fn start(&self) -> Start {
        Start::Vertices((0..1000).filter(|v| v % 2 == 0).collect())
    }

    fn after_iteration(&self, iteration: u32, active_next: u64) -> ControlFlow<()> {
        assert!(iteration == 0 && active_next > 0);
        ControlFlow::Break(())
    }
}

#[test]
fn the_end_of_an_iteration_is_told_to_those_who_asked() {
    let input = skewed(1001, 10, true, 4);
    input.each_threads(|graph, cx| {
        let program = Ends { running: AtomicU64::new(0), told: AtomicU64::new(0) };
        let (states, stats) = run_program(graph, &program, &tight(), cx).unwrap();
        for (v, &state) in states.iter().enumerate() {
            let asked = v % 2 == 0 && v % 3 == 0 && v < 1000;
            let messaged = v % 10 == 1 && v < 1000;
            let told = u32::from(asked || messaged);
            assert_eq!(state, told + 100 * u32::from(messaged), "vertex {v}");
        }
        assert_eq!(stats.iterations.len(), 1);
        assert_eq!(stats.iterations[0].frontier, 500);
    });
}

#[test]
fn an_empty_graph_and_nobody_active() {
    let empty = super::graphs::Edges { n: 0, edges: Vec::new(), directed: true };
    empty.each_threads(|graph, cx| {
        let (states, _) =
            run_program(graph, &crate::program::programs::Components, &tight(), cx).unwrap();
        assert!(states.is_empty());
    });
    let one = super::graphs::Edges { n: 1, edges: vec![(0, 0)], directed: false };
    one.each_threads(|graph, cx| {
        let program = Lists { ask: |_| Vec::new(), got: Mutex::default() };
        let (states, stats) = run_program(graph, &program, &tight(), cx).unwrap();
        assert_eq!((states.len(), stats.iterations.len()), (1, 1));
    });
}
