//! Parallel computations over independent items, on up to [`MOST`] threads.

use std::iter;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{self, ScopedJoinHandle};

/// The number of items for which starting a thread is worth while.
pub const FEW: usize = 1_000;

/// The largest number of threads. More bring little, because the computations mostly wait for memory.
const MOST: usize = 8;

static THREADS: LazyLock<usize> = LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from).min(MOST));

/// The results of `of` for all items, in the order of the items.
pub fn map<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    each(items.len(), |at| of(&items[at]))
}

/// The results of `of` for all indices below `count`, in order.
pub fn each<R: Send>(count: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut parts = parts(count, |part| part.map(&of).collect::<Vec<R>>()).into_iter();
    let mut made = parts.next().unwrap_or_default();
    made.reserve_exact(count - made.len());
    made.extend(parts.flatten());
    made
}

/// The results of `of` for consecutive parts of `count` items, in order. Few items form one part.
pub fn parts<R: Send>(count: usize, of: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    large_parts(count, 1, of)
}

/// [`parts`] for items that take as long as `each` ordinary ones.
pub fn large_parts<R: Send>(count: usize, each: usize, of: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let threads = (*THREADS).min(count).min(count.saturating_mul(each) / FEW);
    if threads < 2 {
        return vec![of(0..count)];
    }
    let size = count.div_ceil(threads);
    together(0..size, (size..count).step_by(size).map(|start| start..count.min(start + size)), of)
}

/// The results of `of` for consecutive parts of the items, which it may change. Few items form one part.
pub fn parts_mut<T: Send, R: Send>(items: &mut [T], of: impl Fn(&mut [T]) -> R + Sync) -> Vec<R> {
    let threads = (*THREADS).min(items.len() / FEW);
    if threads < 2 {
        return vec![of(items)];
    }
    let (own, others) = items.split_at_mut(items.len().div_ceil(threads));
    let size = own.len();
    together(own, others.chunks_mut(size), of)
}

/// The results of `of` for each part: the first one on this thread, every other one on its own thread.
fn together<P: Send, R: Send>(own: P, others: impl Iterator<Item = P>, of: impl Fn(P) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let of = &of;
        let others: Vec<_> = others.map(|part| scope.spawn(move || of(part))).collect();
        let own = of(own);
        iter::once(own).chain(others.into_iter().map(ended)).collect()
    })
}

/// The results of two functions, which run in parallel.
pub fn both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if *THREADS < 2 {
        return (one(), other());
    }
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (ended(one), other)
    })
}

/// [`both`] for `count` items. If there are few, the functions run one after the other.
pub fn both_of<A: Send, B>(count: usize, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if count < 2 * FEW { (one(), other()) } else { both(one, other) }
}

fn ended<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
