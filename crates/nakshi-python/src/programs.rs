//! Programs of users, compiled in Python and run by the engine.
#![allow(unsafe_code)]

use nakshi::analysis;
use nakshi::engine::Summary;
use nakshi::engine::program::block::{
    ARGUMENTS, BlockFunction, FailedBlock, Functions, ProgramSpec,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::call::long;
use crate::errors::Failure;
use crate::outcome::Outcome;
use crate::store::{Store, context, mode, within};
use crate::values::parsed;

/// Names and bytes of arrays.
type Arrays<'py> = Vec<(&'static str, Bound<'py, PyBytes>)>;
/// A call that failed: function, what it returned, step, first vertex, vertices of the graph, and what it has
/// read.
type Failed<'py> =
    (usize, i64, u32, u32, usize, Arrays<'py>, Vec<Bound<'py, PyBytes>>, Vec<Bound<'py, PyBytes>>);

pub(crate) fn told<'py>(py: Python<'py>, failed: &FailedBlock) -> Failed<'py> {
    let all = |arrays: &[Vec<u8>]| arrays.iter().map(|array| PyBytes::new(py, array)).collect();
    let named = failed.arguments.iter().map(|(name, array)| (*name, PyBytes::new(py, array)));
    let FailedBlock { function, returned, step, first, vertices, .. } = *failed;
    let named = named.collect();
    (function, returned, step, first, vertices, named, all(&failed.values), all(&failed.given))
}

/// Makes functions of their addresses.
pub(crate) fn functions(addresses: &[usize]) -> Option<Functions> {
    let function = |address: usize| -> Option<BlockFunction> {
        // SAFETY: `nakshi.programs` gives the addresses of functions that it has compiled with this
        // signature, and keeps them for as long as they run.
        (address != 0).then(|| unsafe { std::mem::transmute::<usize, BlockFunction>(address) })
    };
    let at = |place: usize| addresses.get(place).copied().and_then(function);
    let messages = at(2).zip(at(3));
    // SAFETY: they write to nothing but the arrays that are theirs, and any number of threads may call them.
    Some(unsafe { Functions::new(at(0)?, at(1)?, messages) })
}

/// Names of the arguments of a function over a block, in their order.
#[pyfunction]
pub(crate) fn block_arguments() -> Vec<&'static str> {
    ARGUMENTS.to_vec()
}

/// Runs a program on a store. `program` describes it as JSON, `addresses` are those of its functions, and
/// `given` arrays of doubles as bytes. Returns its outcome, or the call that failed.
#[pyfunction]
#[pyo3(signature = (store, program, addresses, given, *, engine = "auto", memory = None, threads = None,
                    timeout = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn run_program<'py>(
    py: Python<'py>,
    store: &Store,
    program: &str,
    addresses: Vec<usize>,
    given: Vec<Vec<u8>>,
    engine: &str,
    memory: Option<u64>,
    threads: Option<usize>,
    timeout: Option<f64>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<(Option<Outcome>, Option<Failed<'py>>)> {
    let opened = store.opened()?;
    let context = context(memory, threads).with_mode(mode(engine)?).with_hold(true);
    let context = within(context, timeout)?;
    let spec: ProgramSpec = parsed(program)?;
    let none = || PyValueError::new_err("a program has a function at address 0");
    let functions = functions(&addresses).ok_or_else(none)?;
    let given = given
        .iter()
        .map(|bytes| bytes.as_chunks().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect());
    let given: Vec<Vec<f64>> = given.collect();
    let mut failed = None;
    let ran = long(py, progress, |call| {
        let context = call.attach(context);
        let needs = spec.needs(&Summary::of_store(&opened)).map_err(Failure::from)?;
        let answer = analysis::run_with(&opened, &needs, &context, |graph| {
            let (ran, why) = spec.run(functions, given, graph, &context);
            failed = why;
            Ok(ran?)
        });
        let mut answer = answer?;
        store.tell(&mut answer);
        Ok(answer)
    });
    match failed {
        Some(failed) => Ok((None, Some(told(py, &failed)))),
        None => Ok((Some(Outcome::new(spec.name, ran?)), None)),
    }
}
