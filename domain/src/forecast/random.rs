//! Random numbers of a draw. A seed gives the same numbers on every machine.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

pub struct RandomDraws(Xoshiro256PlusPlus);

impl RandomDraws {
    /// The numbers of one draw.
    pub fn new(seed: u64, draw: u32) -> Self {
        let mut numbers = Xoshiro256PlusPlus::seed_from_u64(seed ^ u64::from(draw).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        // Seeds that are close to each other give first numbers that are not independent.
        numbers.next_u64();
        Self(numbers)
    }

    /// A number from 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        // 53 bits are what a floating-point number holds.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number from 0 to below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.fraction() * end as f64) as usize).min(end.saturating_sub(1))
    }
}
