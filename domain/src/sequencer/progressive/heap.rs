//! Heaps of owners that are compared by keys.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// A heap of keys, each with the number of its owner; the smallest key is at the top.
pub type KeyHeap<K> = BinaryHeap<Reverse<(K, u32)>>;

/// Updates the top of a heap: it gets another key, or is removed if it has nothing more to give.
pub fn update_top<K: Ord>(heap: &mut KeyHeap<K>, key: Option<K>) {
    let Some(mut first) = heap.peek_mut() else { return };
    match key {
        Some(key) => first.0.0 = key,
        None => {
            PeekMut::pop(first);
        }
    }
}
