//! Rows of usages in few bytes, exactly. In each column a number takes as many bytes as the largest one there, so that all rows are
//! equally long.

use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::decimal::{Count, Grain, Proportion, Usage, WeighedSum};
use super::interned::Interned;
use super::slots::{SlotName, Usages};

/// What is kept of one bucket.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub unit_days: u32,
    pub records: u64,
    pub usage: Usages,
}

/// Some rows that follow each other, and what part of them counts.
pub type Run = (Range<usize>, Proportion);

/// The usages of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Column {
    slot: SlotName,
    grain: Grain,
    width: u8,
}

impl Column {
    /// The column that has room for one more number.
    fn with(self, usage: Usage) -> Self {
        let grain = self.grain.fit(usage);
        // What was counted in a coarser grain takes more bytes now.
        let width = if grain == self.grain { self.width } else { grain.width_of(self.grain, self.width) };
        Self { grain, width: width.max(grain.count(usage).width()), ..self }
    }

    fn holds(self, usage: Usage) -> bool {
        self.grain.counts(usage) && self.grain.count(usage).width() <= self.width
    }
}

/// How rows are laid out: days of the unit, records, then the usages by slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Layout {
    unit_days: u8,
    records: u8,
    /// By slot.
    columns: Box<[Column]>,
}

impl Default for Layout {
    /// Of no rows; a row takes at least two bytes.
    fn default() -> Self {
        Self { unit_days: 1, records: 1, columns: Box::default() }
    }
}

/// Most owners use the same slots in like amounts, so that few layouts serve them all.
static LAYOUTS: LazyLock<Mutex<Interned<Layout>>> = LazyLock::new(Mutex::default);

impl Layout {
    /// This layout as all have it who use it.
    fn shared(&self) -> Arc<Self> {
        let mut known = LAYOUTS.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(self, || Arc::new(self.clone()))
    }

    /// The layout that has room for one more row.
    fn with(&self, entry: &Entry) -> Self {
        let mut columns = self.columns.to_vec();
        for (slot, usage) in entry.usage.iter() {
            match columns.binary_search_by_key(&slot, |column| column.slot) {
                Ok(at) => columns[at] = columns[at].with(usage),
                Err(at) => columns.insert(at, Column { slot, grain: Grain::COARSEST, width: 0 }.with(usage)),
            }
        }
        Self {
            unit_days: self.unit_days.max(Count::from(u64::from(entry.unit_days)).width()),
            records: self.records.max(Count::from(entry.records).width()),
            columns: columns.into(),
        }
    }

    fn holds(&self, entry: &Entry) -> bool {
        let fits = |number: u64, width: u8| Count::from(number).width() <= width;
        let of = |slot| self.columns.iter().find(|column| column.slot == slot);
        fits(entry.unit_days.into(), self.unit_days)
            && fits(entry.records, self.records)
            && entry.usage.iter().all(|(slot, usage)| of(slot).is_some_and(|column| column.holds(usage)))
    }

    /// Bytes of a row before the usages.
    fn head(&self) -> usize {
        usize::from(self.unit_days) + usize::from(self.records)
    }

    /// Bytes of a row.
    fn stride(&self) -> usize {
        self.head() + self.columns.iter().map(|column| usize::from(column.width)).sum::<usize>()
    }

    /// Writes a row that it [`holds`](Self::holds).
    fn put(&self, entry: &Entry, row: &mut [u8]) {
        let (unit_days, row) = row.split_at_mut(self.unit_days.into());
        let (records, mut row) = row.split_at_mut(self.records.into());
        Count::from(u64::from(entry.unit_days)).put(unit_days);
        Count::from(entry.records).put(records);
        for column in &self.columns {
            let (number, rest) = row.split_at_mut(column.width.into());
            column.grain.count(entry.usage.get(column.slot).unwrap_or_default()).put(number);
            row = rest;
        }
    }

    fn records(&self, row: &[u8]) -> u64 {
        Count::of(&row[self.unit_days.into()..self.head()]).into()
    }

    /// The usages of a row. Zeros are left out, as in all usages.
    fn usage(&self, row: &[u8]) -> Usages {
        let mut row = &row[self.head()..];
        let mut usages = Usages::default();
        for column in &self.columns {
            let (number, rest) = row.split_at(column.width.into());
            row = rest;
            let usage = column.grain.usage(Count::of(number));
            if !usage.is_zero() {
                usages.append(column.slot, usage);
            }
        }
        usages
    }
}

/// Rows of one layout, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    layout: Arc<Layout>,
    bytes: Vec<u8>,
}

impl Packed {
    /// What its block takes, in bytes. The layout is shared.
    pub fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// The bytes of some rows.
    fn span(&self, rows: Range<usize>) -> Range<usize> {
        let stride = self.layout.stride();
        rows.start * stride..rows.end * stride
    }

    fn row(&self, at: usize) -> &[u8] {
        &self.bytes[self.span(at..at + 1)]
    }

    pub fn get(&self, at: usize) -> Entry {
        let row = self.row(at);
        let unit_days = u64::from(Count::of(&row[..self.layout.unit_days.into()]));
        let unit_days = u32::try_from(unit_days).unwrap_or(u32::MAX);
        Entry { unit_days, records: self.layout.records(row), usage: self.layout.usage(row) }
    }

    pub fn unit_days(&self, at: usize) -> u32 {
        let number = Count::of(&self.row(at)[..self.layout.unit_days.into()]);
        u32::try_from(u64::from(number)).unwrap_or(u32::MAX)
    }

    pub fn records(&self, at: usize) -> u64 {
        self.layout.records(self.row(at))
    }

    pub fn usage(&self, at: usize) -> Usages {
        self.layout.usage(self.row(at))
    }

    /// Reads one of so many bytes.
    pub fn fetch(&self, line: usize) -> u8 {
        self.bytes.iter().step_by(line).fold(0, |sum, byte| sum ^ byte)
    }

    pub fn insert(&mut self, at: usize, entry: &Entry) {
        self.make_room(entry);
        let stride = self.layout.stride();
        // Most are short and many, so they grow by little.
        if self.bytes.capacity() < self.bytes.len() + stride {
            self.bytes.reserve_exact(stride * (1 + at / 16));
        }
        let (begin, end) = (at * stride, self.bytes.len());
        self.bytes.resize(end + stride, 0);
        self.bytes.copy_within(begin..end, begin + stride);
        self.put(at, entry);
    }

    pub fn set(&mut self, at: usize, entry: &Entry) {
        self.make_room(entry);
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: &Entry) {
        let row = self.span(at..at + 1);
        self.layout.put(entry, &mut self.bytes[row]);
    }

    /// Lays all rows out anew if the entry does not fit.
    fn make_room(&mut self, entry: &Entry) {
        if self.layout.holds(entry) {
            return;
        }
        let next = self.layout.with(entry);
        let (before, stride) = (self.layout.stride(), next.stride());
        let count = self.bytes.len() / before;
        let mut bytes = vec![0; count * stride];
        for (at, row) in bytes.chunks_exact_mut(stride).enumerate() {
            next.put(&self.get(at), row);
        }
        *self = Self { layout: next.shared(), bytes };
    }

    pub fn remove(&mut self, rows: Range<usize>) {
        self.bytes.drain(self.span(rows));
    }

    pub fn truncate(&mut self, count: usize) {
        self.bytes.truncate(count * self.layout.stride());
    }

    /// The sum of the rows of all runs, each times its part, by slot.
    pub fn weighed(&self, runs: &[Run]) -> Usages {
        let (stride, mut begin) = (self.layout.stride(), self.layout.head());
        let mut sums = Usages::default();
        for column in &self.layout.columns {
            let sum = Cells { bytes: &self.bytes, begin, stride, column: *column }.weighed(runs);
            begin += usize::from(column.width);
            if !sum.is_zero() {
                sums.append(column.slot, sum);
            }
        }
        sums
    }
}

/// The numbers of one column.
struct Cells<'a> {
    bytes: &'a [u8],
    /// Where the first one is.
    begin: usize,
    stride: usize,
    column: Column,
}

impl Cells<'_> {
    fn weighed(&self, runs: &[Run]) -> Usage {
        let mut sum = WeighedSum::new(self.column.grain);
        match self.column.width {
            0..=8 => runs.iter().for_each(|(rows, part)| sum.add(self.short(rows.clone()), *part)),
            9..=12 => runs.iter().for_each(|(rows, part)| sum.add(self.long(rows.clone()), *part)),
            _ => {
                for (at, part) in runs.iter().flat_map(|(rows, part)| rows.clone().map(move |at| (at, part))) {
                    sum.add_usage(self.column.grain.usage(Count::of(self.cell(at))), *part);
                }
            }
        }
        sum.rounded()
    }

    fn cell(&self, at: usize) -> &[u8] {
        let begin = self.begin + at * self.stride;
        &self.bytes[begin..begin + usize::from(self.column.width)]
    }

    /// The sum of numbers of at most 8 bytes.
    fn short(&self, rows: Range<usize>) -> u128 {
        let unused = 64 - 8 * u32::from(self.column.width);
        let mask = u64::MAX.checked_shr(unused).unwrap_or(0);
        let number = |at: usize| {
            let begin = self.begin + at * self.stride;
            // Reading a fixed number of bytes is faster than reading as many as there are.
            match self.bytes[begin..].first_chunk() {
                Some(bytes) => u64::from_le_bytes(*bytes) & mask,
                None => Count::of(self.cell(at)).into(),
            }
        };
        rows.map(|at| u128::from(number(at))).sum()
    }

    /// The sum of numbers of at most 12 bytes, which are below [`WeighedSum::MOST`].
    fn long(&self, rows: Range<usize>) -> u128 {
        let number = |at: usize| {
            let mut all = [0; 16];
            all[..self.column.width.into()].copy_from_slice(self.cell(at));
            u128::from_le_bytes(all)
        };
        rows.map(number).sum()
    }
}
