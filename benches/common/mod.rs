//! What all benches share: repeating, a table of results with floors and bars, a cluster to measure on.

pub mod http;
pub mod twin;
pub mod world;

use std::time::{Duration, Instant};

/// What a figure must not exceed.
#[derive(Clone, Copy)]
pub enum Bar {
    Time(Duration),
    /// So many times the floor.
    Floors(f64),
}

impl Bar {
    pub fn millis(limit: u64) -> Self {
        Self::Time(Duration::from_millis(limit))
    }
}

/// Prints one row of the results; the first call prints the head.
pub fn row(name: &str, measured: Duration, floor: Option<Duration>, bar: Bar) {
    let ratio = floor.map(|f| measured.as_secs_f64() / f.as_secs_f64());
    let (bar, ok) = match bar {
        Bar::Time(limit) => (text(limit), measured <= limit),
        Bar::Floors(limit) => (format!("{limit} floors"), ratio.is_some_and(|r| r <= limit)),
    };
    line(name, &text(measured), floor.map(text), ratio, Some((bar, ok)));
}

/// A row of mebibytes; without a bar the ratio to the floor speaks.
pub fn memory_row(name: &str, measured: f64, floor: f64, bar: Option<f64>) {
    let text = |mib: f64| format!("{mib:.1} MiB");
    line(name, &text(measured), Some(text(floor)), Some(measured / floor), bar.map(|b| (text(b), measured <= b)));
}

fn line(name: &str, measured: &str, floor: Option<String>, ratio: Option<f64>, bar: Option<(String, bool)>) {
    static HEAD: std::sync::Once = std::sync::Once::new();
    HEAD.call_once(|| {
        println!("{:<58} | {:>11} | {:>11} | {:>7} | {:>11} | ok", "name", "measured", "floor", "ratio", "bar");
    });
    let floor = floor.unwrap_or_else(|| "-".to_owned());
    let ratio = ratio.map_or_else(|| "-".to_owned(), |r| format!("{r:.2}"));
    let (bar, ok) = bar.map_or_else(|| ("-".to_owned(), "-"), |(bar, ok)| (bar, if ok { "yes" } else { "NO" }));
    println!("{name:<58} | {measured:>11} | {floor:>11} | {ratio:>7} | {bar:>11} | {ok}");
}

fn text(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let done = work();
    (start.elapsed(), done)
}

/// The median time of `times` runs, after one that does not count.
pub fn repeat<T>(times: usize, mut work: impl FnMut() -> T) -> Duration {
    fairshared::process::memory::give_back();
    std::hint::black_box(work());
    median((0..times).map(|_| timed(|| std::hint::black_box(work())).0).collect())
}

pub fn median(times: Vec<Duration>) -> Duration {
    percentile(times, 50)
}

/// The time that `percent` of the times do not exceed.
pub fn percentile(mut times: Vec<Duration>, percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// A runtime and an allocator like the server's.
pub fn block_on<F: Future>(work: F) -> F::Output {
    fairshared::process::memory::give_back();
    fairshared::process::threads::runtime().unwrap_or_else(|e| panic!("no runtime: {e}")).block_on(work)
}

pub async fn timed_async(work: impl Future) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}
