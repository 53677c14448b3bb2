//! The kernels of an owner by key, in blocks. A copy shares with the original all blocks that neither has changed
//! since, so a new kernel does not cost a copy of all kernels of its owner.

use std::sync::Arc;

use super::kernel_usage::KernelUsage;
use crate::ids::KernelKey;

/// The largest number of kernels in a block.
const BLOCK_MAX_KERNELS: usize = 16;

/// Blocks in ascending order of keys. No block is empty.
#[derive(Clone, Debug, Default)]
pub struct BlockList(Vec<Arc<Vec<KernelUsage>>>);

impl BlockList {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &KernelUsage> {
        self.0.iter().flat_map(|block| block.iter())
    }

    /// Inserts a kernel, or replaces the one with the same key.
    pub fn insert(&mut self, kernel: KernelUsage) {
        let at = self.block_of(kernel.key);
        let Some(block) = self.0.get_mut(at) else { return self.append(kernel) };
        let block = Arc::make_mut(block);
        match block.binary_search_by_key(&kernel.key, |known| known.key) {
            Ok(place) => block[place] = kernel,
            Err(place) => {
                block.insert(place, kernel);
                if block.len() > BLOCK_MAX_KERNELS {
                    let rest = block.split_off(BLOCK_MAX_KERNELS / 2);
                    self.0.insert(at + 1, Arc::new(rest));
                }
            }
        }
    }

    pub fn remove(&mut self, key: KernelKey) {
        let at = self.block_of(key);
        let Some(block) = self.0.get_mut(at) else { return };
        let Ok(place) = block.binary_search_by_key(&key, |known| known.key) else { return };
        let block = Arc::make_mut(block);
        block.remove(place);
        if block.is_empty() {
            self.0.remove(at);
        }
    }

    /// Appends a kernel. Most keys are larger than all earlier ones, so appending instead of splitting leaves full
    /// blocks.
    fn append(&mut self, kernel: KernelUsage) {
        match self.0.last_mut().filter(|last| last.len() < BLOCK_MAX_KERNELS) {
            Some(last) => Arc::make_mut(last).push(kernel),
            None => self.0.push(Arc::new(vec![kernel])),
        }
    }

    /// The first block that ends with `key` or a larger one.
    fn block_of(&self, key: KernelKey) -> usize {
        self.0.partition_point(|block| block.last().is_some_and(|last| last.key < key))
    }
}
