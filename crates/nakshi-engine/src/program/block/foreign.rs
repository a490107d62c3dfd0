//! Programs that another language has compiled, called for a block at a time.
#![allow(unsafe_code)]

use std::sync::atomic::AtomicI64;
use std::sync::{Mutex, PoisonError};

use super::arrays::{Array, ArrayPart, Arrays, Kind};
use super::frontier_model::{
    Combine, FrontierBlocks, FrontierShape, FrontierStep, Message, Received,
};
use super::lists::Block;
use super::run::{BlockProgram, BlockStep};
use super::state::{Change, Number, State};
use crate::VertexId;
use crate::error::{Error, Result};
use crate::program::pull::{Links, Totals};
use serde::{Deserialize, Serialize};

/// A function over a block. Its argument is an array of whole numbers, some of which are addresses, in the
/// order of [`ARGUMENTS`]. It returns 0, or another number if the program failed.
///
/// # Safety
/// The addresses are those of arrays as [`ARGUMENTS`] says.
pub type BlockFunction = unsafe extern "C" fn(*const i64) -> i64;

/// Names of the arguments of a [`BlockFunction`]; `c` is the number of vertices of the block, `n` that of the
/// graph.
///
/// | Name | Number |
/// | --- | --- |
/// | `count` | `c` |
/// | `n` | `n` |
/// | `step` | the step, from 1; 0 before the first |
/// | `vertices` | the vertices, `uint32[c]` |
/// | `offsets` | offsets of the lists, `uint32[c + 1]` |
/// | `entries` | entries of the lists, `uint32[offsets[c]]` |
/// | `weights` | weights of the entries, `double[offsets[c]]`, if the program wants them |
/// | `degrees` | out-degrees, `uint32[n]`, if the program wants them |
/// | `totals` | count, sum, least and greatest of what was added in the step before, `double[4]` |
/// | `adds` | what each vertex adds, `double[c]`, not-a-number for nothing |
/// | `named` | 1 for vertices that the run names, `uint8[n]`, if it names any |
/// | `numbers` | parameters, `double[]` |
/// | `active` | vertices that send, a bit each, `uint64[]` |
/// | `messages` | a message for each vertex or entry, 8 bytes |
/// | `got` | 1 for vertices that have got a message, `uint8[c]` |
/// | `wants` | 1 for vertices that want messages, `uint8[c]` |
/// | `stop` | not 0 when the function should return at once, `int64[1]`, which may change at any time |
///
/// After these come two addresses for each array of values: the present ones, of all vertices or, where a
/// vertex receives a message, of the block; and the new ones, of the block. Then one for each array that the
/// run is given, `double[n]`.
pub const ARGUMENTS: [&str; 17] = [
    "count", "n", "step", "vertices", "offsets", "entries", "weights", "degrees", "totals", "adds",
    "named", "numbers", "active", "messages", "got", "wants", "stop",
];

/// Type of the messages of a [`ForeignFrontier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// Unsigned.
    #[serde(rename = "u8")]
    U64,
    /// Signed.
    #[serde(rename = "i8")]
    I64,
    /// Floating point.
    #[serde(rename = "f8")]
    F64,
}

/// Does the same with messages of any type.
macro_rules! message {
    ($kind:expr, $type:ident => $work:expr) => {
        match $kind {
            MessageKind::U64 => {
                type $type = u64;
                $work
            }
            MessageKind::I64 => {
                type $type = i64;
                $work
            }
            MessageKind::F64 => {
                type $type = f64;
                $work
            }
        }
    };
}

/// The arguments of a call that failed, for whoever wants to find out why.
#[derive(Clone, Debug)]
pub struct FailedBlock {
    /// The function, in the order of [`Functions::new`].
    pub function: usize,
    /// The number that the function has returned.
    pub returned: i64,
    /// The step; 0 before the first.
    pub step: u32,
    /// The first vertex of the block.
    pub first: VertexId,
    /// The number of vertices of the graph.
    pub vertices: usize,
    /// Arrays that the function has read, in bytes, by their names among [`ARGUMENTS`].
    pub arguments: Vec<(&'static str, Vec<u8>)>,
    /// The present values.
    pub values: Vec<Vec<u8>>,
    /// The arrays that the run was given.
    pub given: Vec<Vec<u8>>,
}

/// The functions of a program.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    init: BlockFunction,
    step: BlockFunction,
    messages: Option<(BlockFunction, BlockFunction)>,
}

impl Functions {
    /// Functions that write the first values and that compute the next ones; of a program whose vertices send
    /// messages also those that combine messages and that write them.
    ///
    /// # Safety
    /// The functions keep to what [`ARGUMENTS`] says, write nothing but the new values, the messages and the
    /// flags of their block and what its vertices add, and may be called by several threads at the same time,
    /// for as long as the process runs.
    pub unsafe fn new(
        init: BlockFunction,
        step: BlockFunction,
        messages: Option<(BlockFunction, BlockFunction)>,
    ) -> Self {
        Functions { init, step, messages }
    }

    /// Functions of a program that is only asked for its needs.
    pub(super) fn none() -> Self {
        Functions { init: nothing, step: nothing, messages: Some((nothing, nothing)) }
    }
}

/// Does nothing, and fails.
///
/// # Safety
/// None.
unsafe extern "C" fn nothing(_: *const i64) -> i64 {
    1
}

/// Inputs of a program besides lists and values.
#[derive(Debug, Default)]
pub struct Inputs {
    /// Types of the values of a vertex.
    pub kinds: Vec<Kind>,
    /// Number of vertices of the graph.
    pub vertices: usize,
    /// True if the program reads out-degrees.
    pub degrees: bool,
    /// 1 for vertices that the run names; empty if it names none.
    pub named: Vec<u8>,
    /// Parameters.
    pub numbers: Vec<f64>,
    /// Arrays that the run is given, of all vertices.
    pub given: Vec<Vec<f64>>,
    /// Not 0 when functions should return at once.
    pub stop: AtomicI64,
}

/// The bytes of some numbers.
fn bytes<T: Number>(numbers: &[T]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(size_of_val(numbers));
    numbers.iter().for_each(|number| number.write(&mut bytes));
    bytes
}

/// The parts of a program that do not depend on its kind.
pub(super) struct Foreign {
    functions: Functions,
    inputs: Inputs,
    failed: Mutex<Option<FailedBlock>>,
}

/// Arguments of one call.
struct Call<'a> {
    block: Block<'a>,
    step: u32,
    degrees: &'a [u32],
    totals: [f64; 4],
    adds: Option<&'a mut [f64]>,
    active: &'a [u64],
    messages: i64,
    /// Messages that are read, to be told of a failure.
    received: &'a [u64],
    got: i64,
    wants: i64,
}

impl<'a> Call<'a> {
    fn of(block: Block<'a>, step: u32, degrees: &'a [u32]) -> Self {
        Call {
            block,
            step,
            degrees,
            totals: [0.0; 4],
            adds: None,
            active: &[],
            messages: 0,
            received: &[],
            got: 0,
            wants: 0,
        }
    }
}

impl Foreign {
    /// Calls a function; `old` are the present values, `new` the addresses of the new ones.
    fn call(
        &self,
        (number, function): (usize, BlockFunction),
        mut call: Call<'_>,
        old: &[&Array],
        new: &[i64],
    ) -> Result<()> {
        let inputs = &self.inputs;
        let Call { block, step, .. } = call;
        // In the order of `ARGUMENTS`.
        let mut arguments = vec![
            block.len() as i64,
            inputs.vertices as i64,
            i64::from(step),
            block.vertices().as_ptr() as i64,
            block.offsets().as_ptr() as i64,
            block.neighbors().as_ptr() as i64,
            block.weights().as_ptr() as i64,
            call.degrees.as_ptr() as i64,
            call.totals.as_ptr() as i64,
            call.adds.take().map_or(0, |adds| adds.as_mut_ptr() as i64),
            inputs.named.as_ptr() as i64,
            inputs.numbers.as_ptr() as i64,
            call.active.as_ptr() as i64,
            call.messages,
            call.got,
            call.wants,
            inputs.stop.as_ptr() as i64,
        ];
        debug_assert_eq!(arguments.len(), ARGUMENTS.len());
        for i in 0..inputs.kinds.len() {
            let present = old.get(i).map_or(0, |array| array.address());
            arguments.extend([present, new.get(i).copied().unwrap_or(0)]);
        }
        arguments.extend(inputs.given.iter().map(|array| array.as_ptr() as i64));
        // SAFETY: who gave the functions has promised what they do. The addresses are those of arrays
        // of the lengths that they know, and these live until the function returns.
        let returned = unsafe { function(arguments.as_ptr()) };
        if returned == 0 {
            return Ok(());
        }
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = Some(FailedBlock {
                function: number,
                returned,
                step,
                first: block.vertices().first().copied().unwrap_or_default(),
                vertices: inputs.vertices,
                arguments: self.copied(&call),
                values: old.iter().map(|array| array.bytes()).collect(),
                given: inputs.given.iter().map(|array| bytes(array)).collect(),
            });
        }
        Err(Error::Program { step })
    }

    /// The arrays that a function has read, in bytes.
    fn copied(&self, call: &Call<'_>) -> Vec<(&'static str, Vec<u8>)> {
        let block = &call.block;
        vec![
            ("vertices", bytes(block.vertices())),
            ("offsets", bytes(block.offsets())),
            ("entries", bytes(block.neighbors())),
            ("weights", bytes(block.weights())),
            ("degrees", bytes(call.degrees)),
            ("totals", bytes(&call.totals)),
            ("named", bytes(&self.inputs.named)),
            ("numbers", bytes(&self.inputs.numbers)),
            ("active", bytes(call.active)),
            ("messages", bytes(call.received)),
        ]
    }

    fn state(&self, n: usize) -> Result<Arrays> {
        Arrays::new(self.inputs.kinds.iter().copied(), n)
    }

    fn value_bytes(&self) -> f64 {
        let named = if self.inputs.named.is_empty() { 0.0 } else { 1.0 };
        self.inputs.kinds.iter().map(|kind| kind.bytes() as f64).sum::<f64>() + named
    }

    /// Writes the first values of some vertices.
    fn init(
        &self,
        vertices: &[VertexId],
        degrees: &[u32],
        values: &mut [ArrayPart<'_>],
        adds: Option<&mut [f64]>,
        wants: i64,
    ) -> Result<()> {
        let offsets = vec![0; vertices.len() + 1];
        let Some(block) = Block::new(vertices, &offsets, &[], &[]) else { return Ok(()) };
        let new: Vec<i64> = values.iter_mut().map(ArrayPart::address).collect();
        let call = Call { adds, wants, ..Call::of(block, 0, degrees) };
        self.call((0, self.functions.init), call, &[], &new)
    }

    /// As of [`super::ForeignProgram::first`].
    pub(super) fn first(
        &self,
        vertices: &[VertexId],
        degrees: &[u32],
        totals: &mut Totals,
    ) -> Result<(Arrays, Vec<u8>)> {
        let mut values = self.state(vertices.len())?;
        let (mut adds, mut wants) = (vec![f64::NAN; vertices.len()], vec![1; vertices.len()]);
        let flags = wants.as_mut_ptr() as i64;
        self.init(vertices, degrees, &mut values.whole(), Some(&mut adds), flags)?;
        add_up(&adds, totals);
        Ok((values, wants))
    }

    /// Not 0 when functions should return at once.
    pub(super) fn stop(&self) -> &AtomicI64 {
        &self.inputs.stop
    }

    /// The call that has failed, if one has.
    pub(super) fn failed(&self) -> Option<FailedBlock> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A program whose vertices read the values of their in-neighbours.
pub struct ForeignPull {
    foreign: Foreign,
    weighted: bool,
    /// The run ends when the first values of all vertices change by no more than this in sum, if it is there.
    tolerance: Option<f64>,
}

impl ForeignPull {
    /// A program of two functions.
    pub fn new(
        functions: Functions,
        inputs: Inputs,
        weighted: bool,
        tolerance: Option<f64>,
    ) -> Self {
        let foreign = Foreign { functions, inputs, failed: Mutex::default() };
        ForeignPull { foreign, weighted, tolerance }
    }

    /// The parts that do not depend on the kind of program.
    pub(super) fn foreign(&self) -> &Foreign {
        &self.foreign
    }
}

/// The vertices of a part of the values.
fn consecutive(first: VertexId, values: &[ArrayPart<'_>]) -> Vec<VertexId> {
    (first..).take(values.first().map_or(0, ArrayPart::len)).collect()
}

/// Adds up what vertices add.
fn add_up(adds: &[f64], totals: &mut Totals) {
    adds.iter().filter(|number| !number.is_nan()).for_each(|number| totals.add(*number));
}

impl BlockProgram for ForeignPull {
    type State = Arrays;

    fn weighted(&self) -> bool {
        self.weighted
    }

    fn degrees(&self) -> bool {
        self.foreign.inputs.degrees
    }

    fn state(&self, n: usize) -> Result<Arrays> {
        self.foreign.state(n)
    }

    fn value_bytes(&self) -> f64 {
        self.foreign.value_bytes()
    }

    fn init(
        &self,
        first: VertexId,
        degrees: &[u32],
        values: &mut Vec<ArrayPart<'_>>,
        totals: &mut Totals,
    ) -> Result<()> {
        let vertices = consecutive(first, values);
        let mut adds = vec![f64::NAN; vertices.len()];
        self.foreign.init(&vertices, degrees, values, Some(&mut adds), 0)?;
        add_up(&adds, totals);
        Ok(())
    }

    fn run(
        &self,
        block: &Block<'_>,
        step: &BlockStep<'_, Arrays>,
        new: &mut Vec<ArrayPart<'_>>,
        totals: &mut Totals,
    ) -> Result<()> {
        let seen = step.totals;
        let mut adds = vec![f64::NAN; block.len()];
        let call = Call {
            totals: [seen.count as f64, seen.sum, seen.min, seen.max],
            adds: Some(&mut adds),
            ..Call::of(*block, step.number, step.degrees)
        };
        let old: Vec<&Array> = step.values.0.iter().collect();
        let new: Vec<i64> = new.iter_mut().map(ArrayPart::address).collect();
        self.foreign.call((1, self.foreign.functions.step), call, &old, &new)?;
        add_up(&adds, totals);
        Ok(())
    }

    fn finished(&self, _: u32, _: &Totals, change: Change) -> bool {
        match self.tolerance {
            Some(tolerance) => change.distance <= tolerance,
            None => change.vertices == 0,
        }
    }
}

/// The messages of a [`ForeignFrontier`].
#[derive(Clone, Debug)]
pub struct Sending {
    /// As of [`super::FrontierProgram`].
    pub links: Links,
    /// True if messages depend on the weights of edges.
    pub weighted: bool,
    /// True if some vertices want no messages.
    pub selects: bool,
    /// The type of messages.
    pub kind: MessageKind,
    /// The way in which messages become one.
    pub combine: Combine,
    /// True if the last values are the same in whatever order messages come.
    pub eager: bool,
    /// The vertices that send in the first step; all of them without.
    pub starts: Option<Vec<VertexId>>,
}

/// A program whose vertices send messages when their values have changed.
pub struct ForeignFrontier {
    foreign: Foreign,
    gather: BlockFunction,
    send: BlockFunction,
    sending: Sending,
}

impl ForeignFrontier {
    /// A program of four functions; `None` if it has only two.
    pub fn new(functions: Functions, inputs: Inputs, sending: Sending) -> Option<Self> {
        let (gather, send) = functions.messages?;
        let foreign = Foreign { functions, inputs, failed: Mutex::default() };
        Some(ForeignFrontier { foreign, gather, send, sending })
    }

    /// The next values of vertices that have received messages, from their present ones; sets `wants` to 0
    /// where messages cannot change these.
    ///
    /// # Errors
    /// [`Error::Program`].
    pub fn receive_rows(
        &self,
        (step, degrees): (u32, &[u32]),
        old: &Arrays,
        vertices: &[VertexId],
        messages: &[u64],
        wants: &mut [u8],
    ) -> Result<Arrays> {
        let every: Vec<VertexId> = (0..).take(vertices.len()).collect();
        let mut new = old.pick(&every);
        let offsets = vec![0; vertices.len() + 1];
        let Some(block) = Block::new(vertices, &offsets, &[], &[]) else { return Ok(new) };
        let call = Call {
            messages: messages.as_ptr() as i64,
            received: messages,
            wants: wants.as_mut_ptr() as i64,
            ..Call::of(block, step, degrees)
        };
        let places: Vec<i64> = new.whole().iter_mut().map(ArrayPart::address).collect();
        let present: Vec<&Array> = old.0.iter().collect();
        self.foreign.call((1, self.foreign.functions.step), call, &present, &places)?;
        Ok(new)
    }

    /// The parts that do not depend on the kind of program.
    pub(super) fn foreign(&self) -> &Foreign {
        &self.foreign
    }
}

impl FrontierBlocks for ForeignFrontier {
    type State = Arrays;

    fn shape(&self) -> FrontierShape {
        let Sending { links, weighted, selects, kind, combine, eager, .. } = self.sending;
        FrontierShape {
            eager: eager && combine != Combine::Sum,
            links,
            weighted,
            any: combine == Combine::Any,
            selects,
            exact: combine != Combine::Sum || kind != MessageKind::F64,
            degrees: self.foreign.inputs.degrees,
            narrow: message!(kind, T => T::NARROW),
        }
    }

    fn state(&self, n: usize) -> Result<Arrays> {
        self.foreign.state(n)
    }

    fn value_bytes(&self) -> f64 {
        self.foreign.value_bytes()
    }

    fn starts(&self) -> Option<&[VertexId]> {
        self.sending.starts.as_deref()
    }

    fn init(
        &self,
        first: VertexId,
        degrees: &[u32],
        values: &mut Vec<ArrayPart<'_>>,
        wants: &mut [u8],
    ) -> Result<()> {
        let vertices = consecutive(first, values);
        self.foreign.init(&vertices, degrees, values, None, wants.as_mut_ptr() as i64)
    }

    #[inline]
    fn combined(&self, one: u64, other: u64) -> u64 {
        let Sending { kind, combine, .. } = self.sending;
        message!(kind, T => T::of_bits(one).combined(T::of_bits(other), combine).bits())
    }

    fn identity(&self) -> u64 {
        let Sending { kind, combine, .. } = self.sending;
        message!(kind, T => T::identity(combine).bits())
    }

    fn gather(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Arrays>,
        messages: &mut [u64],
        got: &mut [u8],
    ) -> Result<()> {
        let call = Call {
            active: step.active.words(),
            messages: messages.as_mut_ptr() as i64,
            got: got.as_mut_ptr() as i64,
            ..Call::of(*block, step.number, step.degrees)
        };
        let old: Vec<&Array> = step.values.0.iter().collect();
        self.foreign.call((2, self.gather), call, &old, &[])
    }

    fn send(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Arrays>,
        messages: &mut [u64],
    ) -> Result<()> {
        let messages = messages.as_mut_ptr() as i64;
        let call = Call { messages, ..Call::of(*block, step.number, step.degrees) };
        let old: Vec<&Array> = step.values.0.iter().collect();
        self.foreign.call((3, self.send), call, &old, &[])
    }

    fn receive(
        &self,
        step: u32,
        degrees: &[u32],
        values: &mut Vec<ArrayPart<'_>>,
        received: Received<'_>,
    ) -> Result<()> {
        let Received { first, vertices, messages, changed, wants } = received;
        let old = Arrays(values.iter().map(|part| part.pick(first, vertices)).collect());
        let new = self.receive_rows((step, degrees), &old, vertices, messages, wants)?;
        for (part, new) in values.iter_mut().zip(&new.0) {
            part.put(first, vertices, new, changed);
        }
        Ok(())
    }
}
