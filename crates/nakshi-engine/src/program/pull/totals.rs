//! Sums over all vertices.

use super::exact::ExactSum;

/// Numbers that vertices add up in a step and see in the next: a count, sum, least and greatest.
///
/// The sum is rounded once, at its end: it is the same to the bit for any number of threads and servers.
#[derive(Clone, Debug, PartialEq)]
pub struct Totals {
    count: u64,
    sum: ExactSum,
    min: f64,
    max: f64,
    /// A second sum; only programs that ask for it have one.
    apart: ExactSum,
}

/// Totals as vertices see them: rounded once, not by each vertex that looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The count of added numbers.
    pub count: u64,
    /// Sum of the added numbers.
    pub sum: f64,
    /// The least number, infinity if there is none.
    pub min: f64,
    /// The greatest number, minus infinity if there is none.
    pub max: f64,
}

impl Default for Totals {
    fn default() -> Self {
        let (min, max) = (f64::INFINITY, f64::NEG_INFINITY);
        let apart = ExactSum::default();
        Totals { count: 0, sum: ExactSum::default(), min, max, apart }
    }
}

impl Totals {
    /// The count of added numbers.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of the added numbers.
    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// The least number, infinity if there is none.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The greatest number, minus infinity if there is none.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// The sum of the numbers that were added apart.
    pub fn apart(&self) -> f64 {
        self.apart.value()
    }

    /// The totals as vertices see them.
    pub fn seen(&self) -> Seen {
        Seen { count: self.count, sum: self.sum(), min: self.min, max: self.max }
    }

    /// Adds a number.
    #[inline]
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        self.sum.add(number);
        self.min = self.min.min(number);
        self.max = self.max.max(number);
    }

    /// Adds a number to the second sum, which [`PullProgram::finished`](super::PullProgram::finished) sees.
    #[inline]
    pub fn add_apart(&mut self, number: f64) {
        self.apart.add(number);
    }

    /// Adds the totals of another worker or server.
    pub fn merge(&mut self, other: &Totals) {
        self.count += other.count;
        self.sum.merge(&other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        if !other.apart.is_empty() {
            self.apart.merge(&other.apart);
        }
    }

    /// Appends the bytes of the totals.
    pub fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.count, self.min.to_bits(), self.max.to_bits()] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.sum.encode(out);
        out.push(u8::from(!self.apart.is_empty()));
        if !self.apart.is_empty() {
            self.apart.encode(out);
        }
    }

    /// Takes totals off the front of `bytes`; none if they are not the bytes of such.
    pub fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut number = || {
            let (number, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u64::from_le_bytes(*number))
        };
        let (count, min, max) = (number()?, f64::from_bits(number()?), f64::from_bits(number()?));
        let sum = ExactSum::decode(bytes)?;
        let (&second, rest) = bytes.split_first()?;
        *bytes = rest;
        let apart = if second == 0 { ExactSum::default() } else { ExactSum::decode(bytes)? };
        Some(Totals { count, min, max, sum, apart })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_adding() {
        let mut whole = Totals::default();
        let mut parts = [const { None }; 3].map(|_: Option<()>| Totals::default());
        for i in 0..30 {
            let x = f64::from(i * 7 % 11) / 3.0 - 2.0;
            whole.add(x);
            parts[i as usize % 3].add(x);
            whole.add_apart(x * x);
            parts[i as usize % 3].add_apart(x * x);
        }
        let mut merged = Totals::default();
        parts.iter().for_each(|part| merged.merge(part));
        let sums = |t: &Totals| (t.sum().to_bits(), t.apart().to_bits());
        let all = |t: &Totals| (t.count(), sums(t), t.min(), t.max());
        assert_eq!(all(&merged), all(&whole));
        for totals in [whole, Totals::default()] {
            let mut bytes = Vec::new();
            totals.encode(&mut bytes);
            assert_eq!(all(&Totals::decode(&mut bytes.as_slice()).unwrap()), all(&totals));
            assert!(Totals::decode(&mut bytes.get(1..).unwrap()).is_none());
        }
    }
}
