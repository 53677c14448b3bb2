//! Who comes next, of those who are compared by a key.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// The smallest key first, with the number of its owner.
pub type Heap<K> = BinaryHeap<Reverse<(K, u32)>>;

/// The first of a heap has another key now, or nothing more to give.
pub fn settle<K: Ord>(heap: &mut Heap<K>, key: Option<K>) {
    let Some(mut first) = heap.peek_mut() else { return };
    match key {
        Some(key) => first.0.0 = key,
        None => {
            PeekMut::pop(first);
        }
    }
}
