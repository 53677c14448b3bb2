//! Compares a sequence with the order that is in force elsewhere, such as the queue of another scheduler (FAIR_SHARE §13).

use std::borrow::Cow;
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::SequencedWorkloads;
use crate::api::input_warning::InputWarning;
use crate::api::sequence::{OwnerPlaces, PendingWorkload, SequenceAgreement};
use crate::domain::agreement::{ComparedOrders, OrderAgreement};
use crate::domain::ids::Member;
use crate::domain::maps::FastMap;
use crate::domain::names::MAX_LABEL;
use crate::domain::sequencer::SequenceWorkload;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::service::{Fault, RequestFaults, Result};

/// The number of owners in each list of an answer.
const MAX_ANSWERED_OWNERS: usize = 20;
/// The number of places that a shadow report shows.
const MAX_SHOWN_PLACES: usize = 200;
/// The number of owners whose places are added to a shadow report in each round; those with the most places come first.
const MAX_COUNTED_OWNERS: usize = 10_000;

/// The names of an owner; the UUID in place of a name that is not known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShownOwner {
    pub user_name: String,
    pub project_name: String,
}

/// The places that an owner gains; below 0 for a loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerGain {
    pub owner: Member,
    pub shown: ShownOwner,
    pub places: i64,
}

/// A workload with its places in both orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ComparedPlace {
    pub workload_id: String,
    /// The user's name, or the UUID where there was none.
    pub user_name: String,
    /// The project's name, or the UUID where there was none.
    pub project_name: String,
    /// From 1, among the workloads of both orders.
    pub place: u32,
    /// The place in the current order, likewise.
    pub current_place: u32,
}

/// A sequence beside the current order.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderComparison {
    pub agreement: OrderAgreement,
    /// The first places of the sequence, at most 200.
    pub first_places: Vec<ComparedPlace>,
    /// The owners who gain or lose places, those with the most places first, at most 10,000.
    pub owners: Vec<OwnerGain>,
}

/// The positions of the current order by workload.
pub(super) struct CurrentOrder<'o> {
    positions: FastMap<&'o str, u32>,
}

impl<'o> CurrentOrder<'o> {
    /// Reads the current order. A workload that it names twice is a fault, because it has no single place then.
    pub(super) fn read(ids: &'o [String]) -> Result<Self> {
        let mut positions = FastMap::default();
        positions.reserve(ids.len());
        let mut faults = RequestFaults::default();
        for (at, id) in (0u32..).zip(ids) {
            if let Some(first) = positions.insert(id.as_str(), at) {
                let detail = format!("names the workload of /current_order/{first} again");
                faults.push(Fault::about(format!("/current_order/{at}"), "duplicate", detail));
                if faults.are_enough() {
                    break;
                }
            }
        }
        faults.or(Self { positions })
    }

    /// The warning about workloads of the current order that are none of `workloads`; `None` if there are none.
    pub(super) fn warning(&self, workloads: &[SequenceWorkload<'_>]) -> Option<InputWarning> {
        let mut is_known = vec![false; self.positions.len()];
        for at in workloads.iter().filter_map(|workload| self.positions.get(&*workload.id)) {
            is_known[*at as usize] = true;
        }
        let first = is_known.iter().position(|known| !known)?;
        let count = is_known.iter().filter(|known| !**known).count() as u64;
        let detail = "none of the workloads that are ordered has this id, so that it is not compared";
        Some(InputWarning::at(format!("/current_order/{first}"), "unknown_workload", detail).counted(count))
    }

    /// Compares `order`, positions of all of `workloads`, with the current order. The figures are those of the workloads among
    /// the first `head` of either order.
    pub(super) fn compare(
        &self,
        workloads: &[SequenceWorkload<'_>],
        order: &[u32],
        head: usize,
        names: &OwnerNameLookup<'_>,
    ) -> OrderComparison {
        let workload = |position: u32| &workloads[order[position as usize] as usize];
        let positions = order.iter().map(|at| self.positions.get(&*workloads[*at as usize].id).copied());
        let compared = ComparedOrders::of(positions, self.positions.len());
        let first_places = compared.iter().take(MAX_SHOWN_PLACES).map(|(position, place, current)| {
            let ShownOwner { user_name, project_name } = names.shown(workload(position).owner);
            let workload_id = shortened(&workload(position).id);
            ComparedPlace { workload_id, user_name, project_name, place: place + 1, current_place: current + 1 }
        });
        let gained = compared.places_gained(|position| workload(position).owner);
        let mut gained: Vec<(Member, i64)> = gained.into_iter().filter(|(_, places)| *places != 0).collect();
        gained.sort_unstable_by_key(|(owner, places)| (Reverse(places.unsigned_abs()), *owner));
        gained.truncate(MAX_COUNTED_OWNERS);
        let owners = gained.into_iter().map(|(owner, places)| OwnerGain { owner, shown: names.shown(owner), places });
        OrderComparison {
            agreement: compared.agreement_of_heads(head),
            first_places: first_places.collect(),
            owners: owners.collect(),
        }
    }
}

/// The id as a shadow report shows it. The report is stored, so that its ids have a length.
fn shortened(id: &str) -> String {
    match id.char_indices().nth(MAX_LABEL) {
        Some((end, _)) => format!("{}\u{2026}", &id[..end]),
        None => id.to_owned(),
    }
}

impl OrderComparison {
    /// The comparison as answers show it.
    pub fn answer(&self) -> SequenceAgreement {
        let OrderAgreement { compared, same_place, kendall_tau } = self.agreement;
        let (gain, lose) = (self.owners_by(|places| places > 0), self.owners_by(|places| places < 0));
        SequenceAgreement { compared, same_place, kendall_tau, gain, lose }
    }

    /// The owners whose places are wanted: those with the most places first, then by name.
    fn owners_by(&self, is_wanted: impl Fn(i64) -> bool) -> Vec<OwnerPlaces> {
        let mut owners: Vec<&OwnerGain> = self.owners.iter().filter(|owner| is_wanted(owner.places)).collect();
        owners.sort_by_key(|owner| (Reverse(owner.places.unsigned_abs()), &owner.shown, owner.owner));
        let shown = |owner: &OwnerGain| OwnerPlaces {
            user_name: owner.shown.user_name.clone(),
            project_name: owner.shown.project_name.clone(),
            places: owner.places.unsigned_abs(),
        };
        owners.into_iter().take(MAX_ANSWERED_OWNERS).map(shown).collect()
    }
}

impl SequencedWorkloads<'_> {
    /// The agreement with the current order, if the request has one.
    pub fn agreement(&self) -> Option<SequenceAgreement> {
        self.comparison.as_ref().map(|comparison| comparison.answer())
    }
}

/// The names of owners: those that the group has, otherwise those of the request.
pub(super) struct OwnerNameLookup<'a> {
    rows: &'a RankedRows,
    /// The names that the request gives to owners that the group does not know.
    given: FastMap<Member, (Option<String>, Option<String>)>,
}

impl<'a> OwnerNameLookup<'a> {
    /// Remembers the names of the request for the owners without a row. `owners` has one for each of `pending`.
    pub(super) fn new(rows: &'a RankedRows, pending: &[PendingWorkload<'_>], owners: &[Member]) -> Self {
        let mut given: FastMap<Member, (Option<String>, Option<String>)> = FastMap::default();
        for (workload, owner) in pending.iter().zip(owners) {
            if rows.user(*owner).is_none() && !given.contains_key(owner) {
                let text = |name: &Option<Cow<'_, str>>| name.as_deref().map(str::to_owned);
                given.insert(*owner, (text(&workload.user), text(&workload.project)));
            }
        }
        Self { rows, given }
    }

    fn shown(&self, owner: Member) -> ShownOwner {
        let (row, project) = (self.rows.user(owner), self.rows.project(owner.project));
        let given = self.given.get(&owner);
        let user_name = row.and_then(|row| row.user_name.as_deref()).or_else(|| given?.0.as_deref());
        let project_name = project.and_then(|row| row.project_name.as_deref()).or_else(|| given?.1.as_deref());
        ShownOwner {
            user_name: user_name.map_or_else(|| owner.user.to_string(), str::to_owned),
            project_name: project_name.map_or_else(|| owner.project.to_string(), str::to_owned),
        }
    }
}
