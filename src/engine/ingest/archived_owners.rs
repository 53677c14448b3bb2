//! Archived people that a report names and that stay archived, because groups beyond the reach of its key have them, too.

use std::collections::{BTreeMap, HashMap};

use super::domain_assignment::BatchWarning;
use super::incoming::{ForeignParts, NamedOwner};
use crate::domain::ids::{KernelId, ProjectId};
use crate::engine::people::PeopleDirectory;

/// The parts of each kernel's owner that its senders must leave archived. A sender that reaches all groups may restore those of
/// another one.
pub fn foreign_parts(taken: &[&NamedOwner]) -> HashMap<KernelId, ForeignParts> {
    let mut parts: HashMap<KernelId, ForeignParts> = HashMap::new();
    if taken.iter().any(|named| named.foreign.any()) {
        for named in taken {
            parts.entry(named.kernel).and_modify(|known| *known = known.both(named.foreign)).or_insert(named.foreign);
        }
    }
    parts
}

/// Warnings about owners that stay archived, one for each project; each with its part of the batch.
pub fn warnings(people: &PeopleDirectory, names: &[NamedOwner]) -> Vec<(usize, BatchWarning)> {
    let mut counts: BTreeMap<(usize, ProjectId), u64> = BTreeMap::new();
    for named in names.iter().filter(|named| named.foreign.any()) {
        let ForeignParts { user, project, domain } = named.foreign;
        let known = people.project(named.owner.project);
        let is_archived = (user && people.hides_user(named.owner.user))
            || (project && known.is_some_and(|known| known.archived_at.is_some()))
            || (domain && known.is_some_and(|known| people.hides_domain(&known.domain_name)));
        if is_archived {
            *counts.entry((named.part, named.owner.project)).or_default() += 1;
        }
    }
    let detail = "the user, the project or its domain is archived, and groups that the key does not reach have it too: it stays archived";
    let warning = |((part, project), kernels)| {
        (part, BatchWarning { code: "archived_elsewhere", detail: detail.to_owned(), project, kernels })
    };
    counts.into_iter().map(warning).collect()
}
