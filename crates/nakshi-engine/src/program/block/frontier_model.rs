//! Programs in which vertices whose values have changed send messages.

use super::lists::Block;
use super::state::{Number, State, values};
use crate::VertexId;
use crate::error::Result;
use crate::program::pull::Links;
use crate::vertex_set::Bitmap;
use serde::{Deserialize, Serialize};

/// The one message that several messages to a vertex become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their sum.
    Sum,
    /// Any of them: all messages of a step to one vertex are equal, or the program does not care.
    Any,
}

/// A message: a number of at most 64 bits.
pub trait Message: Copy + Send + Sync + 'static {
    /// True if its bits are 32 at most, so that a vertex's message takes half the memory.
    const NARROW: bool = size_of::<Self>() <= 4;

    /// The message that changes no other one, by each way to combine them.
    fn identity(combine: Combine) -> Self;

    /// One message of two.
    fn combined(self, other: Self, combine: Combine) -> Self;

    /// Its bits.
    fn bits(self) -> u64;

    /// The message of these bits.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! messages {
    ($($number:ty: $least:expr, $greatest:expr, $add:ident, $bits:expr, $of:expr);*) => {$(
        impl Message for $number {
            #[inline]
            fn identity(combine: Combine) -> Self {
                match combine {
                    Combine::Min => $greatest,
                    Combine::Max => $least,
                    Combine::Sum | Combine::Any => <$number>::default(),
                }
            }

            #[inline]
            fn combined(self, other: Self, combine: Combine) -> Self {
                match combine {
                    Combine::Min => self.min(other),
                    Combine::Max => self.max(other),
                    Combine::Sum => self.$add(other),
                    Combine::Any => other,
                }
            }

            #[inline]
            fn bits(self) -> u64 {
                $bits(self)
            }

            #[inline]
            fn of_bits(bits: u64) -> Self {
                $of(bits)
            }
        }
    )*};
}
messages!(
    u32: u32::MIN, u32::MAX, wrapping_add, u64::from, |bits: u64| bits as u32;
    u64: u64::MIN, u64::MAX, wrapping_add, |n: u64| n, |n: u64| n;
    i64: i64::MIN, i64::MAX, wrapping_add, i64::cast_unsigned, u64::cast_signed;
    f64: f64::NEG_INFINITY, f64::INFINITY, plus, f64::to_bits, f64::from_bits
);

/// Addition by a name that whole numbers have, too.
trait Plus {
    fn plus(self, other: Self) -> Self;
}

impl Plus for f64 {
    #[inline]
    fn plus(self, other: f64) -> f64 {
        self + other
    }
}

/// A vertex's next value from its present one and the messages of vertices whose values have changed.
///
/// In each step every vertex whose value changed in the step before sends a message along each of its edges.
/// Messages to one vertex are combined, and it receives the result. A run ends when no value has changed.
/// The engine finds out by itself which way costs less: to read the lists of the senders, or those of the
/// vertices that may receive something. Both give the same values, as far as combined messages do not
/// depend on their order; sums of floats go the second way only.
pub trait FrontierProgram: Sync {
    /// The value of a vertex.
    type Value: Number;
    /// The message.
    type Message: Message;

    /// The way in which messages become one.
    const COMBINE: Combine;
    /// Messages go along out-edges ([`Links::In`]: they come along in-edges), or along edges of both
    /// directions.
    const LINKS: Links = Links::In;
    /// True if messages depend on the weights of edges.
    const WEIGHTED: bool = false;
    /// True if [`FrontierProgram::wants`] is false of some vertices.
    const SELECTS: bool = false;
    /// True if addition of messages is exact, so that their order does not matter.
    const EXACT: bool = true;
    /// True if the last values are the same in whatever order messages come, and if some come twice, as of
    /// a least label. Messages along some edges then go first, if they cost less.
    const EAGER: bool = false;

    /// The vertices that send in the first step; all of them without.
    fn starts(&self) -> Option<&[VertexId]> {
        None
    }

    /// The value before the first step.
    fn init(&self, vertex: VertexId) -> Self::Value;

    /// The message of a vertex with this value along an edge of this weight.
    fn send(&self, value: Self::Value, weight: f64) -> Self::Message;

    /// The next value.
    fn receive(&self, value: Self::Value, message: Self::Message) -> Self::Value;

    /// Returns true if messages can change the value.
    fn wants(&self, value: Self::Value) -> bool {
        let _ = value;
        true
    }
}

/// Facts about a program of this kind, which the engine goes by.
#[derive(Clone, Copy, Debug)]
pub struct FrontierShape {
    /// As of [`FrontierProgram`].
    pub links: Links,
    /// As of [`FrontierProgram`].
    pub weighted: bool,
    /// One message is enough.
    pub any: bool,
    /// Some vertices want no messages.
    pub selects: bool,
    /// The order of messages does not matter.
    pub exact: bool,
    /// As of [`FrontierProgram`].
    pub eager: bool,
    /// The program reads out-degrees.
    pub degrees: bool,
    /// As of [`Message`].
    pub narrow: bool,
}

/// The state of a step that a program may read besides its block.
#[derive(Clone, Copy, Debug)]
pub struct FrontierStep<'a, S> {
    /// The number of the step, from 1.
    pub number: u32,
    /// The values of all vertices.
    pub values: &'a S,
    /// The vertices that send.
    pub active: &'a Bitmap,
    /// The out-degrees of all vertices; empty unless the program reads them.
    pub degrees: &'a [u32],
}

/// Messages that vertices receive, and what comes of them.
#[derive(Debug)]
pub struct Received<'a> {
    /// The first vertex of the part of the values.
    pub first: VertexId,
    /// The vertices, ascending.
    pub vertices: &'a [VertexId],
    /// The message of each.
    pub messages: &'a [u64],
    /// Set to 1 where the value has changed.
    pub changed: &'a mut [u8],
    /// Set to 1 where messages can change the value; 1 before.
    pub wants: &'a mut [u8],
}

/// The same as [`FrontierProgram`], on blocks, with messages as bits.
pub trait FrontierBlocks: Sync {
    /// The values of all vertices.
    type State: State;

    /// Facts about the program.
    fn shape(&self) -> FrontierShape;

    /// Arrays for the values of `n` vertices.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`].
    fn state(&self, n: usize) -> Result<Self::State>;

    /// Bytes of the values of a vertex.
    fn value_bytes(&self) -> f64;

    /// As [`FrontierProgram::starts`].
    fn starts(&self) -> Option<&[VertexId]>;

    /// Writes the values of the vertices from `first` on, and 0 to `wants` where messages cannot change
    /// them.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn init(
        &self,
        first: VertexId,
        degrees: &[u32],
        values: &mut <Self::State as State>::Part<'_>,
        wants: &mut [u8],
    ) -> Result<()>;

    /// The message of a vertex along an edge without weight, if the program tells it for one vertex.
    fn single(&self, from: VertexId, step: &FrontierStep<'_, Self::State>) -> Option<u64> {
        let _ = (from, step);
        None
    }

    /// One message of two.
    fn combined(&self, one: u64, other: u64) -> u64;

    /// The message that changes no other one.
    fn identity(&self) -> u64;

    /// Combines the messages to each vertex of the block, whose lists name those that may send; sets `got`
    /// to 1 where there are any. Both have a place for each vertex, and `got` is 0 before.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn gather(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Self::State>,
        messages: &mut [u64],
        got: &mut [u8],
    ) -> Result<()>;

    /// Writes the message along each entry of the block, whose vertices send.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn send(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Self::State>,
        messages: &mut [u64],
    ) -> Result<()>;

    /// Changes the values of vertices that have received messages.
    ///
    /// # Errors
    /// Errors of the program, which end the run.
    fn receive(
        &self,
        step: u32,
        degrees: &[u32],
        values: &mut <Self::State as State>::Part<'_>,
        received: Received<'_>,
    ) -> Result<()>;
}

/// A program on blocks that calls another one for each vertex and edge.
#[derive(Clone, Copy, Debug)]
pub struct PerVertex<'p, P>(pub &'p P);

impl<P: FrontierProgram> FrontierBlocks for PerVertex<'_, P> {
    type State = Vec<P::Value>;

    fn shape(&self) -> FrontierShape {
        FrontierShape {
            links: P::LINKS,
            weighted: P::WEIGHTED,
            any: P::COMBINE == Combine::Any,
            selects: P::SELECTS,
            exact: P::EXACT || P::COMBINE != Combine::Sum,
            eager: P::EAGER && P::COMBINE != Combine::Sum,
            degrees: false,
            narrow: P::Message::NARROW,
        }
    }

    fn state(&self, n: usize) -> Result<Vec<P::Value>> {
        values(n)
    }

    fn value_bytes(&self) -> f64 {
        size_of::<P::Value>() as f64
    }

    fn starts(&self) -> Option<&[VertexId]> {
        self.0.starts()
    }

    fn init(
        &self,
        first: VertexId,
        _: &[u32],
        values: &mut &mut [P::Value],
        wants: &mut [u8],
    ) -> Result<()> {
        for ((v, value), wants) in (first..).zip(values.iter_mut()).zip(wants) {
            *value = self.0.init(v);
            *wants = u8::from(self.0.wants(*value));
        }
        Ok(())
    }

    #[inline]
    fn single(&self, from: VertexId, step: &FrontierStep<'_, Vec<P::Value>>) -> Option<u64> {
        step.values.get(from as usize).map(|value| self.0.send(*value, 1.0).bits())
    }

    #[inline]
    fn combined(&self, one: u64, other: u64) -> u64 {
        P::Message::of_bits(one).combined(P::Message::of_bits(other), P::COMBINE).bits()
    }

    #[inline]
    fn identity(&self) -> u64 {
        P::Message::identity(P::COMBINE).bits()
    }

    fn gather(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Vec<P::Value>>,
        messages: &mut [u64],
        got: &mut [u8],
    ) -> Result<()> {
        let lists = block.lists().zip(block.list_weights());
        for ((list, weights), (message, got)) in lists.zip(messages.iter_mut().zip(got)) {
            let mut all = P::Message::identity(P::COMBINE);
            for (i, u) in list.iter().enumerate() {
                if !step.active.get(*u as usize) {
                    continue;
                }
                let Some(value) = step.values.get(*u as usize) else { continue };
                let weight = if P::WEIGHTED { weights.get(i).copied().unwrap_or(1.0) } else { 1.0 };
                all = all.combined(self.0.send(*value, weight), P::COMBINE);
                *got = 1;
                if P::COMBINE == Combine::Any {
                    break;
                }
            }
            *message = all.bits();
        }
        Ok(())
    }

    fn send(
        &self,
        block: &Block<'_>,
        step: &FrontierStep<'_, Vec<P::Value>>,
        messages: &mut [u64],
    ) -> Result<()> {
        let mut places = messages.iter_mut();
        let lists = block.lists().zip(block.list_weights());
        for (v, (list, weights)) in block.vertices().iter().zip(lists) {
            let Some(value) = step.values.get(*v as usize) else { continue };
            for (i, place) in (0..list.len()).zip(&mut places) {
                let weight = if P::WEIGHTED { weights.get(i).copied().unwrap_or(1.0) } else { 1.0 };
                *place = self.0.send(*value, weight).bits();
            }
        }
        Ok(())
    }

    fn receive(
        &self,
        _: u32,
        _: &[u32],
        values: &mut &mut [P::Value],
        received: Received<'_>,
    ) -> Result<()> {
        let Received { first, vertices, messages, changed, wants } = received;
        let told = vertices.iter().zip(messages).zip(changed).zip(wants);
        for (((v, message), changed), wants) in told {
            let Some(value) = values.get_mut((v - first) as usize) else { continue };
            let next = self.0.receive(*value, P::Message::of_bits(*message));
            *changed = u8::from(next != *value);
            *wants = u8::from(self.0.wants(next));
            *value = next;
        }
        Ok(())
    }
}
