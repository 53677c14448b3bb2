//! Warns about probable mistakes in a request for a sequence. The order does not depend on it.

use super::{KnownOwner, SequenceInput};
use crate::api::input_warning::{InputWarning, MAX_WARNINGS};
use crate::api::sequence::{PendingWorkload, PlacedWorkload};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::parallel;
use crate::domain::slots::{SlotAmounts, SlotName, slot_pointer};
use crate::engine::group::agent_slots::slot_not_offered;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::PeopleDirectory;
use crate::service::people::VisiblePeople;
use crate::service::{Service, VisibleGroup};

/// The number of unknown names for which the nearest known one is suggested. Each search takes milliseconds if many
/// users are known.
const MAX_SUGGESTIONS: u64 = 3;

/// An owner that the server does not know, or a slot that no agent has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum UnknownReference {
    User(uuid::Uuid),
    Project(uuid::Uuid),
    Slot(SlotName),
}

/// The unknown references of a request, each once, in the order of first occurrence.
struct WarningList<'a> {
    people: &'a PeopleDirectory,
    /// The part of the directory that the caller may see.
    visible: VisiblePeople<'a>,
    facts: &'a GroupSnapshotData,
    /// True if names of all groups may be suggested; otherwise only names that this group knows.
    names_all: bool,
    suggestions: u64,
    places: FastMap<UnknownReference, usize>,
    found: Vec<(InputWarning, u64)>,
    /// The number of places that are not listed.
    more: u64,
}

/// The references of a pending or started workload that warnings look at.
struct WorkloadReferences<'a> {
    user: Option<&'a str>,
    project: Option<&'a str>,
    slots: Option<&'a SlotAmounts>,
}

impl<'a> From<&'a PendingWorkload<'_>> for WorkloadReferences<'a> {
    fn from(workload: &'a PendingWorkload<'_>) -> Self {
        let PendingWorkload { user, project, requested_slots, .. } = workload;
        Self { user: user.as_deref(), project: project.as_deref(), slots: requested_slots.as_deref() }
    }
}

impl<'a> From<&'a PlacedWorkload<'_>> for WorkloadReferences<'a> {
    fn from(workload: &'a PlacedWorkload<'_>) -> Self {
        let PlacedWorkload { user, project, requested_slots, .. } = workload;
        Self { user: user.as_deref(), project: project.as_deref(), slots: requested_slots.as_deref() }
    }
}

/// The warnings about the workloads of `input`. `owners` and `known` have an entry for each workload, and `placed` for
/// each started workload, with its index in the request.
pub(super) fn find(
    service: &Service,
    group: &VisibleGroup,
    names_all: bool,
    input: &SequenceInput,
    (owners, known): (&[Member], &[Option<KnownOwner>]),
    placed: &[(usize, Member)],
) -> Vec<InputWarning> {
    let facts = group.facts();
    let doubtful = parallel::map_ranges(owners.len(), |part| {
        let is_doubtful = |at: &usize| {
            known[*at].is_none() || input.workloads[*at].requested_slots.as_deref().is_some_and(|s| lacks_any(facts, s))
        };
        part.filter(is_doubtful).collect::<Vec<usize>>()
    });
    if placed.is_empty() && doubtful.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let (people, places, found) = (&service.people(), FastMap::default(), Vec::new());
    let visible = service.visible_people(group.key_reach(), people);
    let mut warnings = WarningList { people, visible, facts, names_all, suggestions: 0, places, found, more: 0 };
    for at in doubtful.into_iter().flatten() {
        // If the group knows an owner, the server knows it too.
        let owner = known[at].is_none().then_some(owners[at]);
        warnings.look("workloads", at, owner, &WorkloadReferences::from(&input.workloads[at]));
    }
    for (at, owner) in placed {
        warnings.look("placed", *at, Some(*owner), &WorkloadReferences::from(&input.placed[*at]));
    }
    warnings.finish()
}

fn lacks_any(facts: &GroupSnapshotData, slots: &SlotAmounts) -> bool {
    slots.iter().any(|(slot, amount)| !amount.is_zero() && facts.lacks_slot(slot))
}

impl WarningList<'_> {
    fn look(&mut self, list: &str, at: usize, owner: Option<Member>, asked: &WorkloadReferences<'_>) {
        if let Some(Member { user, project }) = owner {
            if !self.visible.has_user(user) {
                self.note(
                    UnknownReference::User(user.0),
                    || pointer(list, at, asked.user, ["user", "user_uuid"]),
                    asked.user,
                );
            }
            if !self.visible.has_project(project) {
                let place = || pointer(list, at, asked.project, ["project", "project_id"]);
                self.note(UnknownReference::Project(project.0), place, asked.project);
            }
        }
        for (slot, amount) in asked.slots.into_iter().flat_map(SlotAmounts::iter) {
            if !amount.is_zero() && self.facts.lacks_slot(slot) {
                let place = || slot_pointer(&format!("/{list}/{at}/requested_slots"), slot);
                self.note(UnknownReference::Slot(slot), place, None);
            }
        }
    }

    /// Counts an occurrence of `reference`. `name` is `Some` if the request refers to it by name.
    fn note(&mut self, reference: UnknownReference, pointer: impl FnOnce() -> String, name: Option<&str>) {
        if let Some(at) = self.places.get(&reference) {
            self.found[*at].1 += 1;
        } else if self.found.len() < MAX_WARNINGS {
            let (code, detail) = self.describe(reference, name);
            self.places.insert(reference, self.found.len());
            self.found.push((InputWarning::at(pointer(), code, detail), 1));
        } else {
            self.more += 1;
        }
    }

    fn describe(&mut self, reference: UnknownReference, name: Option<&str>) -> (&'static str, String) {
        let (code, kind, id) = match reference {
            UnknownReference::User(id) => ("unknown_user", "user", id),
            UnknownReference::Project(id) => ("unknown_project", "project", id),
            UnknownReference::Slot(slot) => {
                return ("slot_not_offered", slot_not_offered(slot, &self.facts.agent_slots));
            }
        };
        let Some(name) = name else {
            return (code, format!("the server knows no {kind} {id}: {COUNTS_AS_NEW}"));
        };
        let detail = format!("the server knows no {kind} {name:?}: {COUNTS_AS_NEW}");
        match self.nearest(reference, name) {
            Some(known) => (code, format!("{detail}; the nearest name that it knows is {known:?}")),
            None => (code, detail),
        }
    }

    fn nearest(&mut self, reference: UnknownReference, name: &str) -> Option<std::sync::Arc<str>> {
        if self.suggestions == MAX_SUGGESTIONS {
            return None;
        }
        self.suggestions += 1;
        let rows = &self.facts.rows;
        match reference {
            UnknownReference::User(_) => {
                self.people.nearest_user_name(name, |id| self.names_all || !rows.memberships(id).is_empty())
            }
            UnknownReference::Project(_) => {
                self.people.nearest_project_name(name, |id| self.names_all || rows.project(id).is_some())
            }
            UnknownReference::Slot(_) => None,
        }
    }

    fn finish(self) -> Vec<InputWarning> {
        let listed = self.found.into_iter().map(|(warning, places)| warning.counted(places));
        listed.chain(InputWarning::unlisted(self.more)).collect()
    }
}

const COUNTS_AS_NEW: &str = "it counts as new, with nothing used";

/// The pointer to the owner in the request: to the name if there is one, otherwise to the id.
fn pointer(list: &str, at: usize, name: Option<&str>, [by_name, by_id]: [&str; 2]) -> String {
    let key = if name.is_some() { by_name } else { by_id };
    format!("/{list}/{at}/{key}")
}
