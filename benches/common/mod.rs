//! Parts that all benches share: figures and their rows, repetition, databases, and a cluster to measure on.

pub mod figure;
pub mod grown;
pub mod http;
pub mod jobs_file;
pub mod law;
pub mod number;
pub mod pace;
pub mod program;
pub mod report;
pub mod rows;
pub mod twin;
pub mod world;

use std::time::{Duration, Instant};

use fairshared::domain::decimal::Amount;
use fairshared::domain::slots::{SlotAmounts, SlotName};

use crate::support::dice::Dice;

pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// The median time of `times` executions, after one that does not count.
pub fn repeat<T>(times: usize, mut work: impl FnMut() -> T) -> Duration {
    std::hint::black_box(work());
    median((0..times).map(|_| timed(|| std::hint::black_box(work())).0).collect())
}

pub fn median(times: Vec<Duration>) -> Duration {
    percentile(times, 50)
}

/// The median of three. A single short measurement differs by a fifth while neighbours of the virtual machine keep its
/// memory busy.
pub async fn median_of_three(measure: impl AsyncFn() -> f64) -> f64 {
    let mut three = [measure().await, measure().await, measure().await];
    three.sort_by(f64::total_cmp);
    three[1]
}

/// The time that `percent` of the times do not exceed.
pub fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// A runtime like the server's.
pub fn block_on<F: Future>(work: F) -> F::Output {
    tokio::runtime::Runtime::new().unwrap().block_on(work)
}

/// Measures on one database after the other.
pub fn on_each<F: Future>(places: &[figure::On], measure: impl Fn(figure::On) -> F) {
    block_on(async {
        for on in places {
            measure(*on).await;
        }
    });
}

pub async fn timed_async(work: impl Future) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

/// Slots of a cluster with processors and accelerators.
pub fn slots(cpu: u64, gpu: u64) -> SlotAmounts {
    [("cpu", cpu), ("gpu", gpu)].iter().filter_map(|(n, a)| Some((SlotName::new(n)?, Amount::whole(*a)))).collect()
}

/// A number below `sides`, as an index.
pub fn roll(dice: &mut Dice, sides: usize) -> usize {
    usize::try_from(dice.roll(sides as u64)).unwrap_or(0)
}
