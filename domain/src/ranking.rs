//! Rows ordered by rank (FAIR_SHARE §7): by ascending exponent, equal ones by id. Rows do not store their ranks; the
//! rank follows from the position. So a row that moves changes no other row, and the next ranking shares with this one
//! every chunk in which no row has moved.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::Arc;

use super::factor::Exponent;

/// A row that can be ranked.
pub trait RankedRow {
    type Id: Ord;

    fn exponent(&self) -> Exponent;

    /// The id, which orders rows with equal exponents.
    fn id(&self) -> &Self::Id;
}

/// A row with its rank.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedRow<R> {
    /// The rank from 1 on; equal exponents share one (1, 2, 2, 4). 0 outside of the ranking.
    pub rank: u32,
    row: Arc<R>,
}

impl<R> PlacedRow<R> {
    /// A row outside of the ranking.
    pub fn outside(row: R) -> Self {
        Self { rank: 0, row: Arc::new(row) }
    }

    /// A row with its rank.
    pub fn new(rank: u32, row: Arc<R>) -> Self {
        Self { rank, row }
    }

    pub fn into_parts(self) -> (u32, Arc<R>) {
        (self.rank, self.row)
    }

    /// The rank; `None` outside of the ranking.
    pub fn place(&self) -> Option<u32> {
        (self.rank > 0).then_some(self.rank)
    }
}

impl<R> Deref for PlacedRow<R> {
    type Target = R;

    fn deref(&self) -> &R {
        &self.row
    }
}

/// A row with the sort key of its exponent, so that most comparisons do not read the row.
type RankingEntry<R> = (u64, Arc<R>);

/// The number of rows in a full chunk. A chunk is split at twice this number.
const CHUNK_ROWS: usize = 256;
/// A chunk with fewer rows than this is merged with the next one.
const CHUNK_MIN_ROWS: usize = 64;
/// Up to this number of rows a linear search is faster than a binary one.
const LINEAR_SEARCH_MAX_ROWS: usize = 32;

#[derive(Clone, Debug)]
pub struct RowRanking<R> {
    chunks: Vec<Arc<[RankingEntry<R>]>>,
    /// The last key of each chunk.
    bounds: Vec<u64>,
    /// The number of rows before each chunk.
    starts: Vec<u32>,
    len: u32,
}

impl<R> Default for RowRanking<R> {
    fn default() -> Self {
        Self { chunks: Vec::new(), bounds: Vec::new(), starts: Vec::new(), len: 0 }
    }
}

impl<R> RowRanking<R> {
    pub fn len(&self) -> usize {
        self.len as usize
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The rows in the order of ranks.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<R>> {
        self.entries().map(|(_, row)| row)
    }

    /// The rows in the order of ranks, each with its rank.
    pub fn ranked(&self) -> impl Iterator<Item = (u32, &Arc<R>)> {
        let (mut rank, mut last) = (0, None);
        (1u32..).zip(self.entries()).map(move |(place, (key, row))| {
            if last != Some(*key) {
                (rank, last) = (place, Some(*key));
            }
            (rank, row)
        })
    }

    /// [`RowRanking::ranked`] with shared rows, for callers that keep them.
    pub fn placed(&self) -> impl Iterator<Item = PlacedRow<R>> {
        self.ranked().map(|(rank, row)| PlacedRow::new(rank, Arc::clone(row)))
    }

    /// The row at a position, from 0 on.
    pub fn at(&self, place: u32) -> Option<PlacedRow<R>> {
        let chunk = self.starts.partition_point(|start| *start <= place).checked_sub(1)?;
        let (key, row) = self.chunks[chunk].get((place - self.starts[chunk]) as usize)?;
        Some(PlacedRow { rank: self.rank_of_key(*key), row: Arc::clone(row) })
    }

    /// The rank of an exponent: the number of rows with smaller exponents, plus 1.
    pub fn rank(&self, exponent: Exponent) -> u32 {
        self.rank_of_key(exponent.sort_key())
    }

    /// Finds the ranks of several exponents one after the other.
    pub fn walk(&self) -> RankWalk<'_, R> {
        RankWalk { ranking: self, chunk: self.chunks.len(), at: 0, key: 0 }
    }

    fn rank_of_key(&self, key: u64) -> u32 {
        self.walk().rank_of_key(key)
    }

    fn entries(&self) -> impl Iterator<Item = &RankingEntry<R>> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    fn push(&mut self, chunk: Arc<[RankingEntry<R>]>) {
        let Some((last, _)) = chunk.last() else { return };
        self.bounds.push(*last);
        self.starts.push(self.len);
        self.len += u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        self.chunks.push(chunk);
    }
}

/// Finds ranks of exponents. It is fastest if they ascend, because each search begins at the last result.
pub struct RankWalk<'a, R> {
    ranking: &'a RowRanking<R>,
    /// The chunk of the last result; the number of chunks before the first search.
    chunk: usize,
    /// The number of rows of that chunk that come before the result.
    at: usize,
    key: u64,
}

impl<R> RankWalk<'_, R> {
    /// [`RowRanking::rank`].
    pub fn rank(&mut self, exponent: Exponent) -> u32 {
        self.rank_of_key(exponent.sort_key())
    }

    fn rank_of_key(&mut self, key: u64) -> u32 {
        let ranking = self.ranking;
        let is_ahead = key >= self.key && ranking.bounds.get(self.chunk).is_some_and(|last| key <= *last);
        if !is_ahead {
            self.chunk = ranking.bounds.partition_point(|last| *last < key);
            self.at = 0;
        }
        self.key = key;
        let Some(rows) = ranking.chunks.get(self.chunk) else { return ranking.len + 1 };
        let rest = &rows[self.at..];
        let near =
            if is_ahead { rest.iter().take(LINEAR_SEARCH_MAX_ROWS).position(|(other, _)| *other >= key) } else { None };
        self.at += near.unwrap_or_else(|| rest.partition_point(|(other, _)| *other < key));
        ranking.starts[self.chunk] + u32::try_from(self.at).unwrap_or(u32::MAX) + 1
    }
}

impl<R: RankedRow> RowRanking<R> {
    /// The ranking of rows, which must ascend by id.
    pub fn of(rows: Vec<Arc<R>>) -> Self {
        let mut entries: Vec<RankingEntry<R>> = rows.into_iter().map(entry_of_row).collect();
        // A stable sort keeps rows with equal keys in the order of their ids, without reading the rows.
        entries.sort_by_key(|(key, _)| *key);
        let mut ranking = Self::default();
        entries.chunks(CHUNK_ROWS).for_each(|chunk| ranking.push(chunk.into()));
        ranking
    }

    pub fn place(&self, row: &Arc<R>) -> PlacedRow<R> {
        PlacedRow { rank: self.rank(row.exponent()), row: Arc::clone(row) }
    }

    /// The ranking without the rows `gone` (as they are in this ranking) and with the rows `come`.
    #[must_use]
    pub fn changed(&self, gone: Vec<Arc<R>>, come: Vec<Arc<R>>) -> Self {
        let (gone, come) = (sorted_entries(gone), sorted_entries(come));
        let (mut gone, mut come) = (gone.as_slice(), come.as_slice());
        let mut next = NextRanking::default();
        for (at, chunk) in self.chunks.iter().enumerate() {
            let is_last = at + 1 == self.chunks.len();
            let until = |entries: &[RankingEntry<R>]| match chunk.last() {
                Some(last) if !is_last => entries.partition_point(|entry| order(entry, last) != Ordering::Greater),
                _ => entries.len(),
            };
            let (leave, stay) = gone.split_at(until(gone));
            let (join, wait) = come.split_at(until(come));
            (gone, come) = (stay, wait);
            next.take(chunk, leave, join);
        }
        next.open.extend(come.iter().cloned());
        next.finish()
    }
}

fn entry_of_row<R: RankedRow>(row: Arc<R>) -> RankingEntry<R> {
    (row.exponent().sort_key(), row)
}

fn order<R: RankedRow>(a: &RankingEntry<R>, b: &RankingEntry<R>) -> Ordering {
    a.0.cmp(&b.0).then_with(|| a.1.id().cmp(b.1.id()))
}

fn sorted_entries<R: RankedRow>(rows: Vec<Arc<R>>) -> Vec<RankingEntry<R>> {
    let mut entries: Vec<RankingEntry<R>> = rows.into_iter().map(entry_of_row).collect();
    entries.sort_unstable_by(order);
    entries
}

/// A ranking that is being built from another one, chunk by chunk.
struct NextRanking<R> {
    made: RowRanking<R>,
    /// Rows that are not in a chunk yet.
    open: Vec<RankingEntry<R>>,
}

impl<R> Default for NextRanking<R> {
    fn default() -> Self {
        Self { made: RowRanking::default(), open: Vec::new() }
    }
}

impl<R: RankedRow> NextRanking<R> {
    fn take(&mut self, chunk: &Arc<[RankingEntry<R>]>, leave: &[RankingEntry<R>], join: &[RankingEntry<R>]) {
        if self.open.len() >= CHUNK_MIN_ROWS {
            self.close();
        }
        if leave.is_empty() && join.is_empty() && self.open.is_empty() {
            return self.made.push(Arc::clone(chunk));
        }
        let (mut leave, mut join) = (leave.iter().peekable(), join.iter().peekable());
        for entry in chunk.iter() {
            while let Some(new) = join.next_if(|new| order(new, entry) == Ordering::Less) {
                self.open.push(new.clone());
            }
            while leave.next_if(|old| order(old, entry) == Ordering::Less).is_some() {}
            if leave.next_if(|old| order(old, entry) == Ordering::Equal).is_none() {
                self.open.push(entry.clone());
            }
        }
        self.open.extend(join.cloned());
        if self.open.len() >= 2 * CHUNK_ROWS {
            self.close();
        }
    }

    /// Turns the open rows into chunks of nearly equal length. A short remainder would otherwise move from chunk to
    /// chunk.
    fn close(&mut self) {
        let count = self.open.len().div_ceil(CHUNK_ROWS).max(1);
        let rows = self.open.len().div_ceil(count).max(1);
        self.open.chunks(rows).for_each(|chunk| self.made.push(chunk.into()));
        self.open.clear();
    }

    fn finish(mut self) -> RowRanking<R> {
        self.close();
        self.made
    }
}
