//! Orders workloads of the same submission time by id. Ids are scattered over the memory, and a few bytes distinguish
//! most of them, so these bytes are kept side by side.

use std::cell::OnceCell;

use super::SequenceWorkload;
use crate::letters::first_letters;

/// The ids of the workloads that are put in order.
pub struct WorkloadIds<'w> {
    workloads: &'w [SequenceWorkload<'w>],
    /// The first letters of each id after the common prefix of all ids. Computed when two workloads with the same time
    /// occur.
    letters: OnceCell<Vec<u128>>,
}

impl<'w> WorkloadIds<'w> {
    pub fn new(workloads: &'w [SequenceWorkload<'w>]) -> Self {
        Self { workloads, letters: OnceCell::new() }
    }

    /// Orders workloads of the same time. Workloads without a time keep the order of the input.
    pub fn sort<N>(&self, equals: &mut [(N, u32)]) {
        let letters = self.letters.get_or_init(|| letters_of_ids(self.workloads));
        let of = |(_, at): &(N, u32)| letters[*at as usize];
        equals.sort_by_cached_key(of);
        for alike in equals.chunk_by_mut(|a, b| of(a) == of(b)).filter(|alike| alike.len() > 1) {
            alike.sort_by(|(_, a), (_, b)| self.id(*a).cmp(&self.id(*b)).then(a.cmp(b)));
        }
    }

    fn id(&self, at: u32) -> Option<&str> {
        let workload = &self.workloads[at as usize];
        workload.submitted_at.map(|_| &*workload.id)
    }
}

fn letters_of_ids(workloads: &[SequenceWorkload]) -> Vec<u128> {
    let first = workloads.first().map_or(&[][..], |workload| workload.id.as_bytes());
    let common = workloads.iter().fold(first, |common, workload| in_common(common, workload.id.as_bytes())).len();
    let letters = |workload: &SequenceWorkload| first_letters(&workload.id.as_bytes()[common..]);
    workloads.iter().map(|workload| workload.submitted_at.map_or(0, |_| letters(workload))).collect()
}

/// The common prefix of both.
fn in_common<'b>(one: &'b [u8], other: &[u8]) -> &'b [u8] {
    if other.starts_with(one) {
        return one;
    }
    let equal = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    &one[..equal]
}
