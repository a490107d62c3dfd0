//! The values of vertices, in one array or several.

use crate::error::Result;
use crate::shared::{Zero, zeroed};

/// A number of which arrays of values are made.
pub trait Number: Zero + PartialEq {
    /// The number as a float.
    fn float(self) -> f64;

    /// The number nearest to a float.
    fn of_float(float: f64) -> Self;

    /// Appends the bytes of the number, in the order of this machine.
    fn write(self, bytes: &mut Vec<u8>);

    /// Takes the number off the front of bytes; `None` if there are too few.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            #[inline]
            fn float(self) -> f64 {
                self as f64
            }

            #[inline]
            fn of_float(float: f64) -> Self {
                float as $number
            }

            #[inline]
            fn write(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_ne_bytes());
            }

            #[inline]
            fn read(bytes: &mut &[u8]) -> Option<Self> {
                let (number, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(<$number>::from_ne_bytes(*number))
            }
        }
    )*};
}
numbers!(u8, u32, u64, i64, f32, f64);

/// The distance of new values from the present ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Change {
    /// Vertices with another value.
    pub vertices: u64,
    /// Sum of the absolute differences of the first value of each.
    pub distance: f64,
}

impl Change {
    /// Adds the change of other vertices.
    pub fn add(&mut self, other: Change) {
        self.vertices += other.vertices;
        self.distance += other.distance;
    }
}

/// The values of all vertices.
pub trait State: Sized + Send + Sync {
    /// The values of consecutive vertices, which one worker writes.
    type Part<'a>: Send
    where
        Self: 'a;

    /// All values, as one part.
    fn whole(&mut self) -> Self::Part<'_>;

    /// A part of so many vertices, and the rest.
    fn split<'a>(part: Self::Part<'a>, vertices: usize) -> (Self::Part<'a>, Self::Part<'a>)
    where
        Self: 'a;

    /// The change of the values from vertex `first` on.
    fn change(&self, first: usize, part: &Self::Part<'_>) -> Change;
}

impl<T: Number> State for Vec<T> {
    type Part<'a> = &'a mut [T];

    fn whole(&mut self) -> &mut [T] {
        self
    }

    fn split<'a>(part: &'a mut [T], vertices: usize) -> (&'a mut [T], &'a mut [T])
    where
        Self: 'a,
    {
        part.split_at_mut(vertices.min(part.len()))
    }

    #[inline]
    fn change(&self, first: usize, part: &&mut [T]) -> Change {
        let old = self.get(first..).unwrap_or_default();
        let pairs = || part.iter().zip(old);
        Change {
            vertices: pairs().filter(|(new, old)| new != old).count() as u64,
            distance: pairs().map(|(new, old)| (new.float() - old.float()).abs()).sum(),
        }
    }
}

impl<A: State, B: State> State for (A, B) {
    type Part<'a>
        = (A::Part<'a>, B::Part<'a>)
    where
        Self: 'a;

    fn whole(&mut self) -> Self::Part<'_> {
        (self.0.whole(), self.1.whole())
    }

    fn split<'a>(part: Self::Part<'a>, vertices: usize) -> (Self::Part<'a>, Self::Part<'a>)
    where
        Self: 'a,
    {
        let (first, rest) = A::split(part.0, vertices);
        let (second, others) = B::split(part.1, vertices);
        ((first, second), (rest, others))
    }

    /// A vertex with two other values counts twice.
    fn change(&self, first: usize, part: &Self::Part<'_>) -> Change {
        let mut change = self.0.change(first, &part.0);
        change.vertices += self.1.change(first, &part.1).vertices;
        change
    }
}

/// An array for a value of each of `n` vertices, all 0.
///
/// # Errors
/// [`crate::Error::OutOfMemory`].
pub fn values<T: Number>(n: usize) -> Result<Vec<T>> {
    zeroed(n, "vertex values")
}
