//! The allocator gives blocks that lie as they are asked to, whichever of the two allocators they come from.

#[repr(align(16))]
#[derive(Clone, Copy)]
struct Natural([u8; 16]);

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line([u8; 64]);

/// Blocks of every size up to twice that from which the C library takes over.
const LARGEST: usize = 64 << 10;

fn lies_right<T: Copy>(blocks: &[T]) -> bool {
    blocks.as_ptr().addr().is_multiple_of(align_of::<T>())
}

/// Every size is asked for while the one before is still held, so that blocks of one size lie side by side.
fn every_size<T: Copy>(one: T) {
    let most = LARGEST / size_of::<T>();
    let blocks: Vec<Vec<T>> = (1..=most.min(4_096)).map(|count| vec![one; count]).collect();
    assert!(blocks.iter().all(|block| lies_right(block)));
}

/// A block that grows item by item keeps its place in the line and what is in it.
fn every_growth<T: Copy>(one: impl Fn(u8) -> T, first: impl Fn(&T) -> u8) {
    let bytes = || (0..=u8::MAX).cycle().take(LARGEST / size_of::<T>());
    let mut block = Vec::new();
    for byte in bytes() {
        block.push(one(byte));
        block.shrink_to_fit();
        assert!(lies_right(&block));
    }
    assert!(block.iter().map(first).eq(bytes()));
}

#[test]
fn blocks_lie_as_they_are_asked_to() {
    every_size(1u8);
    every_size(1u64);
    every_size(Natural([1; 16]));
    every_size(Line([1; 64]));
}

#[test]
fn blocks_that_grow_lie_as_they_are_asked_to() {
    every_growth(u64::from, |item| item.to_le_bytes()[0]);
    every_growth(|byte| Natural([byte; 16]), |item| item.0[15]);
    every_growth(|byte| Line([byte; 64]), |item| item.0[63]);
}

#[test]
fn blocks_that_are_asked_for_empty_are_empty() {
    // Used blocks first, so that the allocator has some to give again.
    drop((1..4_096).map(|size| vec![1u8; size]).collect::<Vec<_>>());
    for size in (1..LARGEST).step_by(97) {
        assert!(vec![0u8; size].iter().all(|byte| *byte == 0), "{size}");
    }
}
