//! Panics, cancellation, mistakes of callbacks, failing reads.

use super::graphs::skewed;
use super::model::tight;
use crate::error::Result;
use crate::program::programs::{Bfs, Components};
use crate::program::{
    EdgeList, Facts, ListKind, ProgramConfig, ProgramNeeds, RunContext, Signals, Start, Vertex,
    VertexProgram, run_program,
};
use crate::{CancelToken, Context, Direction, Error, Graph, VertexId};
use nakshi_io::FaultPlan;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Seen red with the error of [`crate::ListReader::read`] ignored.
#[test]
fn failing_reads_are_errors_never_wrong_results() {
    let input = skewed(1000, 9000, true, 44);
    let good = Graph::from_edges(input.n, &input.edges, true, None).unwrap();
    let cx = Context::new().with_threads(2);
    let (want, _) = run_program(&good, &Components, &tight(), &cx).unwrap();
    let plain = FaultPlan::default();
    let plans = [
        (FaultPlan { nth_error: Some(5), ..plain.clone() }, true),
        (FaultPlan { gone_from: Some(3), ..plain.clone() }, true),
        (FaultPlan { errors: 0.01, ..plain.clone() }, false),
        (FaultPlan { torn: 0.01, ..plain.clone() }, false),
        (FaultPlan { short: 0.05, ..plain }, false),
    ];
    let (mut failed, mut right) = (0, 0);
    for (plan, must_fail) in plans {
        for seed in 0..4 {
            let graph = input.faulty(FaultPlan { seed, ..plan.clone() });
            match run_program(&graph, &Components, &tight(), &cx) {
                Ok((states, _)) => {
                    assert!(!must_fail, "{plan:?}");
                    assert_eq!(states, want, "{plan:?}");
                    right += 1;
                }
                Err(error) => {
                    assert!(!matches!(error, Error::Cancelled | Error::Panicked { .. }), "{error}");
                    failed += 1;
                }
            }
        }
    }
    assert!(failed >= 8, "{failed} failed, {right} gave the right result");
}

/// Seen red with a token that never says it was cancelled.
#[test]
fn late_reads_are_waited_for_or_cancelled() {
    let input = skewed(400, 1500, true, 45);
    let delay = Duration::from_millis(100);
    let graph = input.faulty(FaultPlan { delays: 1.0, delay, ..FaultPlan::default() });
    let token = CancelToken::new();
    let cx = Context::new().with_threads(2).with_cancel(token.clone());
    let started = std::thread::scope(|scope| {
        let run = scope.spawn(|| run_program(&graph, &Components, &tight(), &cx));
        std::thread::sleep(Duration::from_millis(150));
        let asked = Instant::now();
        token.cancel();
        assert!(matches!(run.join().unwrap(), Err(Error::Cancelled)));
        asked
    });
    // The reads in flight are waited for, since their buffers are in use.
    assert!(started.elapsed() < Duration::from_millis(400), "{:?}", started.elapsed());
}

/// Which callback misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum In {
    Init,
    Parts,
    Run,
    List,
    Message,
    End,
    After,
    Nowhere,
}

/// Panics, or names a vertex that there is not, in one callback of vertex 77.
struct Bad {
    place: In,
    panics: bool,
    forever: bool,
}

impl Bad {
    fn here(&self, place: In, vertex: VertexId) -> bool {
        let bad = self.place == place && vertex == 77;
        assert!(!(bad && self.panics), "planted in {place:?}");
        bad
    }
}

impl VertexProgram for Bad {
    types!(State = (), Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds::lists(&[Direction::Out])
    }

    fn init(&self, v: VertexId, _: &Facts) {
        self.here(In::Init, v);
    }

    fn start(&self) -> Start {
        Start::All
    }

    fn parts(&self, v: VertexId, _: &Facts) -> u32 {
        self.here(In::Parts, v);
        1 + v % 2
    }

    fn run(&self, me: &mut Vertex<Self>, cx: &mut RunContext<'_, Self>) {
        if self.here(In::Run, me.id()) {
            cx.activate(1000);
        }
        cx.send(me.id(), ());
        cx.request_own(ListKind::OUT);
        cx.request_iteration_end();
        if self.forever {
            cx.activate(me.id());
        }
    }

    on_list!(self, me, _, cx => {
        if self.here(In::List, me.id()) {
            cx.request(u32::MAX, ListKind::OUT);
        }
        Ok(())
    });

    fn run_on_message(&self, (): &mut (), (): &(), cx: &mut Signals<'_, Self>) {
        if self.here(In::Message, cx.vertex()) {
            cx.send(1000, ());
        }
    }

    fn run_on_iteration_end(&self, (): &mut (), cx: &mut Signals<'_, Self>) {
        if self.here(In::End, cx.vertex()) {
            cx.multicast(&[1, 2, 1000], ());
        }
    }

    fn after_iteration(&self, _: u32, _: u64) -> ControlFlow<()> {
        self.here(In::After, 77);
        ControlFlow::Continue(())
    }
}

/// Seen red with panics of callbacks not caught.
#[test]
fn a_panic_in_any_callback_is_an_error_and_the_graph_lives() {
    let input = skewed(1000, 5000, true, 40);
    input.each_threads(|graph, cx| {
        let places = [In::Init, In::Parts, In::Run, In::List, In::Message, In::End, In::After];
        for place in places {
            let program = Bad { place, panics: true, forever: true };
            match run_program(graph, &program, &tight(), cx) {
                Err(Error::Panicked { message }) => assert!(message.contains("planted")),
                other => panic!("{place:?} gave {other:?}"),
            }
        }
        run_program(graph, &Bfs { source: 0 }, &tight(), cx).unwrap();
    });
}

/// Seen red with the outbox ignoring vertices that there are not.
#[test]
fn naming_a_vertex_that_there_is_not_is_an_error() {
    let input = skewed(1000, 5000, true, 41);
    input.each_threads(|graph, cx| {
        for place in [In::Run, In::List, In::Message, In::End] {
            let program = Bad { place, panics: false, forever: false };
            let result = run_program(graph, &program, &tight(), cx);
            assert!(matches!(result, Err(Error::UnknownVertex { .. })), "{place:?}");
        }
        let result = run_program(graph, &Bfs { source: 1000 }, &tight(), cx);
        assert!(matches!(result, Err(Error::UnknownVertex { id }) if id == "1000"));
    });
}

/// Seen red (it hangs) with a token that never says it was cancelled, and with a deadline that is
/// never looked at.
#[test]
fn a_run_without_end_is_cancelled_within_200_ms() {
    let input = skewed(1000, 5000, true, 42);
    input.each(|graph| {
        for threads in [1, 2, 4] {
            let token = CancelToken::new();
            let cx = Context::new().with_threads(threads).with_cancel(token.clone());
            let program = Bad { place: In::Nowhere, panics: false, forever: true };
            let (result, late) = std::thread::scope(|scope| {
                let run = scope.spawn(|| {
                    let result = run_program(graph, &program, &ProgramConfig::default(), &cx);
                    (result, Instant::now())
                });
                std::thread::sleep(Duration::from_millis(50));
                let asked = Instant::now();
                token.cancel();
                let (result, ended) = run.join().unwrap();
                (result, ended - asked)
            });
            assert!(matches!(result, Err(Error::Cancelled)));
            assert!(late < Duration::from_millis(200), "{late:?} after the cancellation");
        }
        let cx = Context::new().with_threads(2).with_timeout(Duration::from_millis(30));
        let program = Bad { place: In::Nowhere, panics: false, forever: true };
        let result = run_program(graph, &program, &ProgramConfig::default(), &cx);
        assert!(matches!(result, Err(Error::Deadline { .. })));
    });
}

#[test]
fn too_small_a_budget_and_a_missing_column_say_so() {
    let input = skewed(1000, 5000, true, 43);
    input.each(|graph| {
        let cx = Context::new().with_memory(Some(100));
        let result = run_program(graph, &Bfs { source: 0 }, &tight(), &cx);
        assert!(matches!(result, Err(Error::Budget { needed, .. }) if needed > 4000));
        let result = run_program(graph, &Columned, &tight(), &Context::new());
        assert!(matches!(result, Err(Error::Unsupported { what }) if what.contains("price")));
    });
}

struct Columned;

impl VertexProgram for Columned {
    types!(State = (), Message = (), Scratch = ());

    fn needs(&self) -> ProgramNeeds {
        ProgramNeeds { column: Some("price".into()), ..ProgramNeeds::default() }
    }

    fn init(&self, _: VertexId, _: &Facts) {}

    fn run(&self, _: &mut Vertex<Self>, _: &mut RunContext<'_, Self>) {}
}
