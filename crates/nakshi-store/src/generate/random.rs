//! Random numbers that are computed from a seed and a number, without earlier ones.

use crate::random::mix;

/// A stream of random words for one edge or vertex: SplitMix64 (Steele, Lea, Flood, "Fast
/// Splittable Pseudorandom Number Generators", OOPSLA 2014), started at a mixed number.
pub(super) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Makes the stream of `number` under `seed`.
    pub fn new(seed: u64, number: u64) -> Self {
        Self { state: mix(mix(seed ^ 0x6e61_6b73_6869) ^ number) }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Draws uniformly from `[0, 1)`.
    #[allow(clippy::cast_precision_loss)]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Draws from the standard normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Returns the number at the fraction `unit`, in `[0, 1]`, of `0..n`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn pick(n: u64, unit: f64) -> u64 {
    ((n as f64 * unit) as u64).min(n.saturating_sub(1))
}

/// Returns the distribution function of the standard normal, to about 1e-7 (Abramowitz and Stegun,
/// "Handbook of Mathematical Functions", formula 26.2.17).
pub(super) fn normal_cdf(x: f64) -> f64 {
    const B: [f64; 5] =
        [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    let tail = (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial;
    if x < 0.0 { tail } else { 1.0 - tail }
}
