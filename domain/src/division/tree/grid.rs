//! One value for each queue and slot, in one block of memory.

use std::ops::{Index, IndexMut};

use crate::decimal::Amount;
use crate::slots::{SlotAmounts, SlotName};

/// Rows are queues, columns are the slots of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSlotGrid<T> {
    width: usize,
    cells: Vec<T>,
}

impl<T: Copy> QueueSlotGrid<T> {
    pub fn new(rows: usize, width: usize, value: T) -> Self {
        Self { width, cells: vec![value; rows.saturating_mul(width)] }
    }

    /// Builds a grid from columns of equal length.
    pub fn of_columns(columns: Vec<Vec<T>>) -> Self {
        let (width, rows) = (columns.len(), columns.first().map_or(0, Vec::len));
        let cells = match <[Vec<T>; 1]>::try_from(columns) {
            Ok([only]) => only,
            Err(columns) => (0..rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect(),
        };
        Self { width, cells }
    }

    pub fn row(&self, row: usize) -> &[T] {
        &self.cells[row * self.width..(row + 1) * self.width]
    }

    pub fn row_mut(&mut self, row: usize) -> &mut [T] {
        &mut self.cells[row * self.width..(row + 1) * self.width]
    }

    /// Two different rows: the first for reading, the second for writing.
    fn read_and_write(&mut self, from: usize, to: usize) -> (&[T], &mut [T]) {
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

impl QueueSlotGrid<i128> {
    /// Lowers every value that is above `most`.
    pub fn cap_at(&mut self, most: i128) {
        self.cells.iter_mut().for_each(|value| *value = (*value).min(most));
    }
}

impl QueueSlotGrid<Amount> {
    /// Adds amounts to a row whose columns are `slots`. Amounts of other slots are ignored.
    pub fn add(&mut self, row: usize, slots: &[SlotName], amounts: &SlotAmounts) {
        self.change(row, slots, amounts, Amount::saturating_add);
    }

    /// Sets the cells of a row whose slots `amounts` names.
    pub fn set(&mut self, row: usize, slots: &[SlotName], amounts: &SlotAmounts) {
        self.change(row, slots, amounts, |_, amount| amount);
    }

    fn change(&mut self, row: usize, slots: &[SlotName], amounts: &SlotAmounts, apply: fn(Amount, Amount) -> Amount) {
        for (slot, amount) in amounts.iter() {
            if let Some(column) = slots.iter().position(|s| *s == slot) {
                self[(row, column)] = apply(self[(row, column)], amount);
            }
        }
    }

    /// Adds one row to another.
    pub fn add_row(&mut self, from: usize, to: usize) {
        let (from, to) = self.read_and_write(from, to);
        for (sum, amount) in to.iter_mut().zip(from) {
            *sum = sum.saturating_add(*amount);
        }
    }
}

impl<T> Index<(usize, usize)> for QueueSlotGrid<T> {
    type Output = T;
    fn index(&self, (row, column): (usize, usize)) -> &T {
        &self.cells[row * self.width + column]
    }
}

impl<T> IndexMut<(usize, usize)> for QueueSlotGrid<T> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut T {
        &mut self.cells[row * self.width + column]
    }
}
