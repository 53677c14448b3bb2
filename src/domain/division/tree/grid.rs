//! One value for each queue and slot, in one block of memory.

use std::ops::{Index, IndexMut};

/// Rows are queues, columns are the slots of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid<T> {
    width: usize,
    cells: Vec<T>,
}

impl<T: Copy> Grid<T> {
    pub fn new(rows: usize, width: usize, value: T) -> Self {
        Self { width, cells: vec![value; rows.saturating_mul(width)] }
    }

    pub fn row(&self, row: usize) -> &[T] {
        &self.cells[row * self.width..(row + 1) * self.width]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.cells[row * self.width..(row + 1) * self.width]
    }

    /// Two different rows: the first to read, the second to write.
    pub fn from_to(&mut self, from: usize, to: usize) -> (&[T], &mut [T]) {
        let width = self.width;
        if from < to {
            let (head, tail) = self.cells.split_at_mut(to * width);
            (&head[from * width..(from + 1) * width], &mut tail[..width])
        } else {
            let (head, tail) = self.cells.split_at_mut(from * width);
            (&tail[..width], &mut head[to * width..(to + 1) * width])
        }
    }
}

impl<T> Index<(usize, usize)> for Grid<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.cells[row * self.width + column]
    }
}

impl<T> IndexMut<(usize, usize)> for Grid<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.cells[row * self.width + column]
    }
}
