//! Usages in few bytes: the numbers of many buckets in one block, exactly. A number takes as many bytes as it has, and those
//! of whole amounts are a million millions times smaller there.

use std::sync::Arc;

use super::decimal::Number;
use super::slots::{SlotName, Usages};

/// What each of many rows used, and of how many records.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// Where each row begins.
    starts: Vec<u32>,
    bytes: Vec<u8>,
    /// The slots that rows name.
    slots: Arc<[SlotName]>,
}

impl Packed {
    pub fn slots(&self) -> &[SlotName] {
        &self.slots
    }

    /// What its blocks take, in bytes.
    pub fn memory(&self) -> usize {
        let slots = size_of_val(&*self.slots) + 2 * size_of::<usize>();
        self.starts.capacity() * size_of::<u32>() + self.bytes.capacity() + slots
    }

    /// The records and the entries of a row.
    fn row(&self, at: usize) -> (u64, Entries<'_>) {
        let mut bytes = &self.bytes[self.begin(at)..];
        let records = take_number(&mut bytes);
        (records, Entries { bytes, behind: self.bytes.len() - self.begin(at + 1) })
    }

    /// Where the row begins; behind the last row is the end.
    fn begin(&self, at: usize) -> usize {
        self.starts.get(at).map_or(self.bytes.len(), |start| *start as usize)
    }

    pub fn get(&self, at: usize) -> (Usages, u64) {
        let (records, entries) = self.row(at);
        (entries.map(|(slot, number)| (self.slots[slot], number.usage())).collect(), records)
    }

    /// The usages of a row, each with the place of its slot.
    pub fn usages(&self, at: usize) -> impl Iterator<Item = (usize, Number)> + '_ {
        self.row(at).1
    }

    pub fn insert(&mut self, at: usize, usage: &Usages, records: u64) {
        let begin = self.begin(at);
        if self.starts.len() == self.starts.capacity() {
            self.starts.reserve_exact(1 + self.starts.len() / 16);
        }
        self.starts.insert(at, offset(begin));
        self.replace(at, begin, begin, usage, records);
    }

    pub fn set(&mut self, at: usize, usage: &Usages, records: u64) {
        self.replace(at, self.begin(at), self.begin(at + 1), usage, records);
    }

    fn replace(&mut self, at: usize, begin: usize, end: usize, usage: &Usages, records: u64) {
        let mut row = Vec::with_capacity(64);
        put_number(&mut row, records);
        for (slot, usage) in usage.iter() {
            put_number(&mut row, self.place(slot) as u64);
            usage.put_bytes(&mut row);
        }
        let (before, after) = (end - begin, row.len());
        let missing = (self.bytes.len() + after).saturating_sub(self.bytes.capacity() + before);
        if missing > 0 {
            let room = after.saturating_sub(before) + self.bytes.len() / 16;
            self.bytes.reserve_exact(room);
        }
        self.bytes.splice(begin..end, row);
        for start in &mut self.starts[at + 1..] {
            *start = offset(*start as usize + after - before);
        }
    }

    /// The place of a slot, which may be new here.
    fn place(&mut self, slot: SlotName) -> usize {
        if let Some(known) = self.slots.iter().position(|known| *known == slot) {
            return known;
        }
        self.slots = self.slots.iter().copied().chain([slot]).collect();
        self.slots.len() - 1
    }

    pub fn remove(&mut self, at: usize) {
        let (begin, end) = (self.begin(at), self.begin(at + 1));
        self.bytes.drain(begin..end);
        self.starts.remove(at);
        for start in &mut self.starts[at..] {
            *start -= offset(end - begin);
        }
    }

    pub fn remove_first(&mut self, count: usize) {
        let end = self.begin(count);
        self.bytes.drain(..end);
        self.starts.drain(..count);
        for start in &mut self.starts {
            *start -= offset(end);
        }
    }

    pub fn truncate(&mut self, count: usize) {
        self.bytes.truncate(self.begin(count));
        self.starts.truncate(count);
    }
}

/// What stands behind the records of a row: places of slots with their usages.
struct Entries<'a> {
    /// To the end of all rows, because a number is read faster where more bytes follow it.
    bytes: &'a [u8],
    /// How many of them are of later rows.
    behind: usize,
}

impl Iterator for Entries<'_> {
    type Item = (usize, Number);

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.len() <= self.behind {
            return None;
        }
        let slot = usize::try_from(take_number(&mut self.bytes)).unwrap_or(0);
        Some((slot, Number::take_bytes(&mut self.bytes)))
    }
}

fn offset(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put_number(row: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        row.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
        number >>= 7;
    }
    row.push(u8::try_from(number).unwrap_or(0));
}

fn take_number(row: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = row.split_first() {
        *row = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}
