//! How workloads of one submission time follow each other: by id. Ids lie far apart in memory, and most are told apart by a few of
//! their bytes, which are kept side by side.

use std::cell::OnceCell;
use std::cmp::Ordering;

use super::Workload;

/// The ids of workloads that are put in order.
pub struct Ids<'w> {
    workloads: &'w [Workload<'w>],
    /// Of each id the first bytes that not all ids have in common, as a number; made for the first two workloads of one time.
    beginnings: OnceCell<Vec<u64>>,
}

impl<'w> Ids<'w> {
    pub fn new(workloads: &'w [Workload<'w>]) -> Self {
        Self { workloads, beginnings: OnceCell::new() }
    }

    /// The place of a workload among those of the same time.
    pub fn place(&self, at: u32) -> Place<'w> {
        let beginnings = self.beginnings.get_or_init(|| beginnings(self.workloads));
        Place { beginning: beginnings[at as usize], at, workloads: self.workloads }
    }
}

/// Ascends with the id; workloads without a time keep the order they were given.
#[derive(Clone, Copy)]
pub struct Place<'w> {
    beginning: u64,
    at: u32,
    workloads: &'w [Workload<'w>],
}

impl Place<'_> {
    fn id(&self) -> Option<&str> {
        let workload = &self.workloads[self.at as usize];
        workload.submitted_at.map(|_| &*workload.id)
    }
}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_id = || self.id().cmp(&other.id()).then(self.at.cmp(&other.at));
        self.beginning.cmp(&other.beginning).then_with(by_id)
    }
}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Place<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Place<'_> {}

fn beginnings(workloads: &[Workload]) -> Vec<u64> {
    let first = workloads.first().map_or(&[][..], |workload| workload.id.as_bytes());
    let common = workloads.iter().fold(first, |common, workload| in_common(common, workload.id.as_bytes())).len();
    let beginning = |workload: &Workload| number(&workload.id.as_bytes()[common..]);
    workloads.iter().map(|workload| workload.submitted_at.map_or(0, |_| beginning(workload))).collect()
}

/// What both begin with.
fn in_common<'b>(one: &'b [u8], other: &[u8]) -> &'b [u8] {
    if other.starts_with(one) {
        return one;
    }
    let equal = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    &one[..equal]
}

/// Up to eight bytes as a number that ascends as they do. A shorter text and one that goes on with zeros have the same.
fn number(bytes: &[u8]) -> u64 {
    let mut first = [0; 8];
    let taken = bytes.len().min(first.len());
    first[..taken].copy_from_slice(&bytes[..taken]);
    u64::from_be_bytes(first)
}
