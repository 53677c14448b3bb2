//! Parallel computations over independent items, on up to [`MAX_THREADS`] threads.

use std::iter;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::LazyLock;
use std::thread::{self, ScopedJoinHandle};

/// The number of items for which starting a thread is worth while.
pub const PARALLEL_MIN_ITEMS: usize = 1_000;

/// The largest number of threads. More bring little, because the computations mostly wait for memory.
const MAX_THREADS: usize = 8;

static THREAD_COUNT: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS));

/// The results of `of` for all items, in the order of the items.
pub fn map_items<T: Sync, R: Send>(items: &[T], of: impl Fn(&T) -> R + Sync) -> Vec<R> {
    map_indices(items.len(), |at| of(&items[at]))
}

/// The results of `of` for all indices below `count`, in order.
pub fn map_indices<R: Send>(count: usize, of: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let mut parts = map_ranges(count, |part| part.map(&of).collect::<Vec<R>>()).into_iter();
    let mut made = parts.next().unwrap_or_default();
    made.reserve_exact(count - made.len());
    made.extend(parts.flatten());
    made
}

/// The results of `of` for consecutive parts of `count` items, in order. Few items form one part.
pub fn map_ranges<R: Send>(count: usize, of: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    large_parts(count, 1, of)
}

/// [`map_ranges`] for items that take as long as `map_indices` ordinary ones.
pub fn large_parts<R: Send>(count: usize, each: usize, of: impl Fn(Range<usize>) -> R + Sync) -> Vec<R> {
    let threads = (*THREAD_COUNT).min(count).min(count.saturating_mul(each) / PARALLEL_MIN_ITEMS);
    if threads < 2 {
        return vec![of(0..count)];
    }
    let size = count.div_ceil(threads);
    map_parts(0..size, (size..count).step_by(size).map(|start| start..count.min(start + size)), of)
}

/// The results of `of` for consecutive parts of the items, which it may change. Few items form one part.
pub fn parts_mut<T: Send, R: Send>(items: &mut [T], of: impl Fn(&mut [T]) -> R + Sync) -> Vec<R> {
    let threads = (*THREAD_COUNT).min(items.len() / PARALLEL_MIN_ITEMS);
    if threads < 2 {
        return vec![of(items)];
    }
    let (own, others) = items.split_at_mut(items.len().div_ceil(threads));
    let size = own.len();
    map_parts(own, others.chunks_mut(size), of)
}

/// The results of `of` for each part: the first one on this thread, every other one on its own thread.
fn map_parts<P: Send, R: Send>(own: P, others: impl Iterator<Item = P>, of: impl Fn(P) -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        let of = &of;
        let others: Vec<_> = others.map(|part| scope.spawn(move || of(part))).collect();
        let own = of(own);
        iter::once(own).chain(others.into_iter().map(join_thread)).collect()
    })
}

/// The results of two functions, which run in parallel.
pub fn join_both<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if *THREAD_COUNT < 2 {
        return (one(), other());
    }
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (join_thread(one), other)
    })
}

/// [`join_both`] for `count` items. If there are few, the functions run one after the other.
pub fn both_of<A: Send, B>(count: usize, one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    if count < 2 * PARALLEL_MIN_ITEMS { (one(), other()) } else { join_both(one, other) }
}

fn join_thread<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
