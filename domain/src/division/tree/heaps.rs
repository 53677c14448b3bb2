//! The children of every queue in a heap, and the roots in one. The first child is found at once, and a queue whose key
//! changes moves within one heap only.

/// The heaps of all levels. Each call passes the order of the children, because the keys change while the heaps stay.
pub struct SiblingHeaps {
    /// Heaps by parent, the one of the roots last. The first child is at the top.
    heaps: Vec<Vec<usize>>,
}

impl SiblingHeaps {
    pub fn new(queues: usize) -> Self {
        Self { heaps: vec![Vec::new(); queues + 1] }
    }

    fn place(&self, parent: Option<usize>) -> usize {
        parent.unwrap_or(self.heaps.len() - 1)
    }

    pub fn first(&self, parent: Option<usize>) -> Option<usize> {
        self.heaps[self.place(parent)].first().copied()
    }

    /// Replaces the heap of the parent by these children.
    pub fn fill(&mut self, parent: Option<usize>, children: Vec<usize>, before: impl Fn(usize, usize) -> bool) {
        let place = self.place(parent);
        let heap = &mut self.heaps[place];
        *heap = children;
        for at in (0..heap.len() / 2).rev() {
            sift(heap, at, &before);
        }
    }

    /// Restores the heap after the key of its first child has changed.
    pub fn move_first(&mut self, parent: Option<usize>, before: impl Fn(usize, usize) -> bool) {
        let place = self.place(parent);
        sift(&mut self.heaps[place], 0, &before);
    }

    pub fn remove_first(&mut self, parent: Option<usize>, before: impl Fn(usize, usize) -> bool) {
        let place = self.place(parent);
        self.heaps[place].swap_remove(0);
        sift(&mut self.heaps[place], 0, &before);
    }
}

/// Moves the member at `at` down until no member below has to precede it.
fn sift(heap: &mut [usize], mut at: usize, before: &impl Fn(usize, usize) -> bool) {
    loop {
        let mut first = at;
        for child in [2 * at + 1, 2 * at + 2] {
            if child < heap.len() && before(heap[child], heap[first]) {
                first = child;
            }
        }
        if first == at {
            return;
        }
        heap.swap(at, first);
        at = first;
    }
}
