//! The children of every queue in a heap, and the roots in one: the child that comes first is known, and a queue whose key
//! changes moves in one heap only.

/// The order of the children is given with each call, because the keys change while the heaps stay.
pub struct SiblingHeaps {
    /// By parent, the roots last; the child that comes first is at the top.
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

    /// Only these children of the parent are in its heap from now on.
    pub fn fill(&mut self, parent: Option<usize>, children: Vec<usize>, before: impl Fn(usize, usize) -> bool) {
        let place = self.place(parent);
        let heap = &mut self.heaps[place];
        *heap = children;
        for at in (0..heap.len() / 2).rev() {
            sift(heap, at, &before);
        }
    }

    /// The key of the first child has changed.
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

/// Moves the member at `at` down until none below it comes before it.
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
