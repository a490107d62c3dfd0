//! Long calls: they release the interpreter lock, stop at Ctrl-C, report progress, and turn panics
//! into exceptions.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nakshi::engine::{CancelToken, Context, Progress};
use nakshi::store::OpenOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::errors::Failure;

/// Interval at which signals are checked while a call runs: Ctrl-C has to act within 200 ms.
const HEARTBEAT: Duration = Duration::from_millis(25);
/// Shortest interval between two calls of the progress sink.
const REPORT: Duration = Duration::from_millis(100);

/// Progress of a call: phase, done, total (0 if unknown), unit.
#[derive(Clone, Default, PartialEq)]
struct Position {
    phase: String,
    done: u64,
    total: u64,
    unit: &'static str,
}

/// The latest progress of a call, and the last of each phase that ended since it was read; workers write
/// it, the calling thread reads it.
#[derive(Default)]
pub struct Meter(Mutex<Positions>);

#[derive(Default)]
struct Positions {
    now: Position,
    ended: Vec<Position>,
}

impl Meter {
    /// Notes that `done` of `total` (0 if unknown) units of `phase` are finished.
    pub fn note(&self, phase: &str, done: u64, total: u64, unit: &'static str) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Positions { now, ended } = &mut *guard;
        if now.phase != phase {
            let before =
                std::mem::replace(now, Position { phase: phase.to_owned(), ..Position::default() });
            // Phases may take turns many times between two reports.
            ended.retain(|position| position.phase != before.phase && position.phase != phase);
            if !before.phase.is_empty() {
                ended.push(before);
            }
        }
        (now.done, now.total, now.unit) = (done, total, unit);
    }

    /// The last position of each phase that ended since the last call, and the latest.
    fn positions(&self) -> Vec<Position> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = std::mem::take(&mut guard.ended);
        all.push(guard.now.clone());
        all
    }
}

impl Progress for Meter {
    fn update(&self, phase: &str, done: u64, total: u64) {
        self.note(phase, done, total, "");
    }
}

/// Wakes the calling thread when the work is done.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Returns true once the bell has rung; waits at most `timeout`.
    fn wait(&self, timeout: Duration) -> bool {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let rung = self.changed.wait_timeout_while(rung, timeout, |rung| !*rung);
        *rung.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Arguments of a long call: the token that stops it, and the meter of its progress.
pub struct Call {
    /// Set on Ctrl-C, or when the progress sink raises.
    pub cancel: CancelToken,
    /// Progress.
    pub meter: Arc<Meter>,
}

impl Call {
    /// A context that ends with this call and reports to its meter.
    pub fn attach(&self, context: Context) -> Context {
        context.with_cancel(self.cancel.clone()).with_progress(self.meter.clone())
    }

    /// Options to open a store within `memory` bytes, until this call ends.
    pub fn opening(&self, memory: Option<u64>) -> OpenOptions {
        OpenOptions { cancel: self.cancel.clone(), memory, ..OpenOptions::default() }
    }
}

/// Runs `work` in a new thread while this thread handles signals and reports progress.
///
/// The new thread is joined before this returns, so that no thread outlives a call and `fork` finds
/// none. Captures of `work` are dropped in that thread, too.
///
/// # Errors
/// The failure of `work` as its Python exception; `KeyboardInterrupt` (or the exception of a signal
/// handler); an exception of the progress sink; `InternalError` if `work` panicked.
pub fn long<T: Send>(
    py: Python<'_>,
    sink: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Call) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    long_until(py, sink, CancelToken::new(), work)
}

/// As [`long`]; what interrupts the call cancels `cancel`.
///
/// # Errors
/// As [`long`].
pub fn long_until<T: Send>(
    py: Python<'_>,
    sink: Option<&Bound<'_, PyAny>>,
    cancel: CancelToken,
    work: impl FnOnce(&Call) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let call = Call { cancel, meter: Arc::new(Meter::default()) };
    let mut monitor = Monitor { sink, reported: Position::default(), at: Instant::now() };
    let bell = Bell::default();
    let (outcome, interruption) = std::thread::scope(|scope| {
        let (call, bell) = (&call, &bell);
        let worker = move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| work(call)));
            bell.ring();
            outcome
        };
        let worker =
            std::thread::Builder::new().name("nakshi-call".into()).spawn_scoped(scope, worker);
        let worker = match worker {
            Ok(worker) => worker,
            Err(error) => return (Ok(Err(Failure::Thread(error))), None),
        };
        let mut interruption = None;
        while !py.detach(|| bell.wait(HEARTBEAT)) {
            if interruption.is_none() {
                interruption = monitor.attend(py, call).err();
                if interruption.is_some() {
                    call.cancel.cancel();
                }
            }
        }
        // Joined without the interpreter lock, which dropping the captures of `work` may need.
        let outcome = py.detach(|| worker.join()).unwrap_or_else(Err);
        (outcome, interruption)
    });
    if let Some(interruption) = interruption {
        return Err(interruption);
    }
    // A Ctrl-C in the last moments of the call is raised here, and not in the next line of Python.
    py.check_signals()?;
    match outcome {
        Ok(result) => {
            if result.is_ok() {
                monitor.report(py, call.meter.positions())?;
            }
            Ok(result?)
        }
        Err(panic) => Err(Failure::Panic(message(panic.as_ref())).into()),
    }
}

/// As [`long`]; returns the result as JSON.
///
/// # Errors
/// As [`long`].
pub fn long_json<T: Serialize + Send>(
    py: Python<'_>,
    sink: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Call) -> Result<T, Failure> + Send,
) -> PyResult<String> {
    let result = long(py, sink, work)?;
    Ok(serde_json::to_string(&result).map_err(Failure::from)?)
}

thread_local! {
    /// The exception of a signal handler that ran while this thread worked without the interpreter lock.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs the handlers of signals; returns true if one raised, for a call in this thread that asks now and
/// then. [`raised`] has the exception.
pub fn interrupted() -> bool {
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(error) => {
            RAISED.with(|raised| *raised.borrow_mut() = Some(error));
            true
        }
    })
}

/// The exception by which [`interrupted`] returned true.
pub fn raised() -> Option<PyErr> {
    RAISED.with(|raised| raised.borrow_mut().take())
}

/// Parses a duration of an argument.
pub(crate) fn seconds(argument: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{argument}: {error}")))
}

struct Monitor<'a, 'py> {
    sink: Option<&'a Bound<'py, PyAny>>,
    reported: Position,
    at: Instant,
}

impl Monitor<'_, '_> {
    fn attend(&mut self, py: Python<'_>, call: &Call) -> PyResult<()> {
        py.check_signals()?;
        if self.at.elapsed() >= REPORT {
            self.at = Instant::now();
            self.report(py, call.meter.positions())?;
        }
        Ok(())
    }

    fn report(&mut self, _py: Python<'_>, positions: Vec<Position>) -> PyResult<()> {
        let Some(sink) = self.sink else { return Ok(()) };
        for position in positions {
            if position.phase.is_empty() || position == self.reported {
                continue;
            }
            let total = (position.total != 0).then_some(position.total);
            sink.call1((position.phase.as_str(), position.done, total, position.unit))?;
            self.reported = position;
        }
        Ok(())
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
