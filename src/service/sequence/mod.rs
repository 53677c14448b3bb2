//! Orders pending workloads, from published state only (FAIR_SHARE §9).

pub mod agreement;
mod domain_weights;
mod explained;
mod impediments;
pub mod memory;
mod owners;
pub mod pending;
mod progressive;
mod request;
pub mod waiting;
mod warnings;

use std::num::NonZeroU32;
use std::sync::Arc;

use self::agreement::{CurrentOrder, OrderComparison, OwnerNameLookup};
use self::domain_weights::DomainWeights;
pub use self::explained::ExplainedWorkload;
use self::owners::{owners, placed};
use super::connectors::memory::RememberedComparison;
use super::forecasts::group_forecasts::GroupForecasts;
use super::{Caller, Error, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::api::sequence::{PendingWorkload, PlacedWorkload};
use crate::domain::decimal::Amount;
use crate::domain::factor::Exponent;
use crate::domain::ids::{Member, Owner, ProjectId};
use crate::domain::maps::FastMap;
use crate::domain::options::{FairshareOrder, SequenceMode};
use crate::domain::parallel;
use crate::domain::sequencer::progressive::{DomainByProject, PlacementCharge, ProgressiveSequence};
use crate::domain::sequencer::{OrderDecision, QueueClaims, SequenceWorkload};
use crate::domain::slots::SlotAmounts;
use crate::domain::time::Timestamp;
use crate::domain::workloads::StartImpediment;
use crate::engine::group::live_kernels::LiveKernelList;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::snapshots::division::SnapshotDivision;
use crate::engine::group::snapshots::entitlements::EntitledPart;
use crate::engine::group::snapshots::rows::RankedRows;
use crate::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use crate::engine::people::PeopleDirectory;
use crate::process::random;
use crate::service::visible_group::VisibleGroup;

/// The number of started kernels that can be charged within about a millisecond.
const INLINE_MAX_KERNELS: usize = 5_000;

/// The input of a sequence.
#[derive(Debug, Default)]
pub struct SequenceInput<'a> {
    pub workloads: Vec<PendingWorkload<'a>>,
    /// `None` stands for the group's option.
    pub mode: Option<SequenceMode>,
    pub placed: Vec<PlacedWorkload<'a>>,
    /// The number of workloads in the answer; `None` for all.
    pub limit: Option<NonZeroU32>,
    /// True if the answer contains for each workload the reason why it waits.
    pub explain: bool,
    /// True if the answer contains for each workload its newest forecast.
    pub forecast: bool,
    /// The impediment of each workload that can never start; `None` if these are not known yet.
    pub impediments: Option<Vec<Option<StartImpediment>>>,
    /// The ids of the workloads in the order that is in force now; `None` if it is not to be compared.
    pub current_order: Option<Vec<String>>,
}

/// Workloads in the order in which they should start.
pub struct SequencedWorkloads<'a> {
    pub group: VisibleGroup,
    /// The time at which the order was computed.
    pub at: Timestamp,
    pub mode: SequenceMode,
    pub workloads: Vec<SequenceWorkload<'a>>,
    /// The known standings of the owners, one for each workload.
    pub known: Vec<Option<KnownOwner>>,
    /// Positions in `workloads`; the first one starts first.
    pub order: Vec<u32>,
    /// For each of `order`: the charge, and the factor of its user after it; empty if nothing is charged.
    pub charged: Vec<PlacementCharge>,
    /// For each of `order`: the reason why it waits; empty unless requested.
    pub explained: Vec<ExplainedWorkload>,
    /// The impediments of those of `workloads` that can never start; empty unless requested.
    pub impediments: Vec<Option<StartImpediment>>,
    /// The sequence beside the order that is in force now; `None` unless requested.
    pub comparison: Option<Arc<OrderComparison>>,
    /// The newest forecasts; `None` unless requested, or if there are none.
    pub forecasts: Option<Arc<GroupForecasts>>,
    /// Probable mistakes in the request.
    pub warnings: Vec<InputWarning>,
}

/// The standing of a workload's owner in a group.
#[derive(Clone, Copy, Debug)]
pub struct KnownOwner {
    pub factor: f64,
    pub exponent: Exponent,
}

/// True if the order needs little besides the workloads of the request. Otherwise queues may have to be divided first, or many
/// kernels charged or ordered. `kernels` are those that are ordered in place of workloads of a request.
pub fn is_ordered_at_once(group: &VisibleGroup, kernels: Option<&LiveKernelList>) -> bool {
    let has_few =
        group.options.order == FairshareOrder::Flat || group.facts().outstanding.count() <= INLINE_MAX_KERNELS;
    has_few && kernels.is_none_or(|kernels| kernels.len() <= INLINE_MAX_KERNELS) && !group.scheduler.takes_turns()
}

impl SequencedWorkloads<'_> {
    /// The ids of the workloads in their order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.order.iter().map(|at| &*self.workloads[*at as usize].id)
    }

    /// The rows that the order was computed from.
    pub fn rows(&self) -> &RankedRows {
        &self.group.facts().rows
    }

    /// The entitled share of the owner, if the group knows the owner.
    pub fn entitled(&self, owner: Member) -> Option<EntitledPart> {
        self.rows().user(owner)?;
        Some(self.group.published().entitlements().entitlement(&Owner::User(owner)).entitled)
    }
}

impl Service {
    /// Orders pending workloads. No workload is invented, and none is dropped except by the limit.
    pub fn sequence<'a>(
        &self,
        caller: &Caller,
        group: &str,
        input: SequenceInput<'a>,
    ) -> Result<SequencedWorkloads<'a>> {
        self.sequence_in(caller, self.group(caller, group)?, input)
    }

    /// [`Service::sequence`] in a snapshot of the group that the caller has already.
    pub fn sequence_in<'a>(
        &self,
        caller: &Caller,
        group: VisibleGroup,
        input: SequenceInput<'a>,
    ) -> Result<SequencedWorkloads<'a>> {
        caller.require_reporter()?;
        let names_all = caller.require_all_groups().is_ok();
        let sequenced = self.order_with_names(group, input, self.clock().now(), names_all)?;
        if let Some(comparison) = &sequenced.comparison {
            self.comparisons.keep(RememberedComparison {
                id: random::id(),
                group: sequenced.group.key,
                client: caller.client(),
                taken_at: self.engine.trusted_time(sequenced.at),
                comparison: Arc::clone(comparison),
                is_counted: false,
            });
        }
        Ok(sequenced)
    }

    /// [`Service::sequence`] for a group that may differ from the stored one, as of `now`.
    pub(in crate::service) fn order_of<'a>(
        &self,
        group: VisibleGroup,
        input: SequenceInput<'a>,
        now: Timestamp,
    ) -> Result<SequencedWorkloads<'a>> {
        self.order_with_names(group, input, now, false)
    }

    /// [`Service::order_of`]. With `names_all`, warnings may suggest names of all users and projects of the server,
    /// otherwise only those of the group.
    fn order_with_names<'a>(
        &self,
        group: VisibleGroup,
        mut input: SequenceInput<'a>,
        now: Timestamp,
        names_all: bool,
    ) -> Result<SequencedWorkloads<'a>> {
        let form = progressive_form(&group, input.mode)?;
        let current_order = input.current_order.take();
        let current_order = current_order.as_deref().map(CurrentOrder::read).transpose()?;
        // The directory is not locked while workloads are ordered.
        let (owners, placed) = {
            let people = self.people();
            (owners(&people, &input.workloads)?, placed(&people, group.facts(), &input.placed)?)
        };
        let known = known_owners(&group.facts().rows, &owners);
        // If the group knows an owner, it also knows the owner's project.
        let unknown = owners.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(owner, _)| owner);
        let domain_assignments =
            domain_assignments(&self.people(), group.facts(), unknown.chain(placed.iter().map(|(_, owner)| owner)));
        let mut warnings = warnings::find(self, &group, names_all, &input, (&owners, &known), &placed);
        let names =
            current_order.as_ref().map(|_| OwnerNameLookup::new(&group.facts().rows, &input.workloads, &owners));
        let impediments = match input.impediments.take() {
            Some(known) => known,
            None if input.explain => impediments::find(group.facts(), &input.workloads, &owners),
            None => Vec::new(),
        };
        let placed = placed.into_iter().map(|(at, owner)| (owner, &input.placed[at])).collect();
        let forecasts = if input.forecast { self.forecasts.newest(group.key, now) } else { None };
        let (limit, explain) = (input.limit.map_or(usize::MAX, |limit| limit.get() as usize), input.explain);
        // A comparison needs the places of all workloads, because those behind the limit lose what the others gain.
        let most = if current_order.is_some() { usize::MAX } else { limit };
        let (mode, ordered) = match form {
            None => {
                let standings =
                    DomainWeights { facts: group.facts(), domain_assignments: &domain_assignments, known: &known };
                (SequenceMode::Plain, plain_order(&group, input.workloads, owners, &standings, now, most, explain)?)
            }
            Some(form) => {
                let asked = progressive::ProgressiveRequest {
                    workloads: input.workloads,
                    owners,
                    placed,
                    domain_assignments,
                    most,
                    explain,
                };
                (SequenceMode::Progressive, asked.order(group.facts(), form, self.engine.trusted_time(now)))
            }
        };
        let OrderedPrefix { workloads, mut order, mut charged, mut decisions } = ordered;
        let comparison = current_order.as_ref().zip(names).map(|(current, names)| {
            warnings.extend(current.warning(&workloads));
            Arc::new(current.compare(&workloads, &order, limit, &names))
        });
        order.truncate(limit);
        charged.truncate(limit);
        decisions.truncate(limit);
        let explained = explained::explain_workloads(&workloads, &order, decisions);
        Ok(SequencedWorkloads {
            group,
            at: now,
            mode,
            workloads,
            known,
            order,
            charged,
            explained,
            impediments,
            comparison,
            forecasts,
            warnings,
        })
    }
}

/// The progressive form of the group's order; `None` if the order is plain.
fn progressive_form(
    group: &VisibleGroup,
    asked: Option<SequenceMode>,
) -> Result<Option<&'static dyn ProgressiveSequence>> {
    let form = group.scheduler.progressive();
    match (asked, form) {
        (Some(SequenceMode::Progressive), None) => {
            let name = group.scheduler.name();
            let detail = format!("is `progressive`, and the group's scheduler `{name}` has no progressive order");
            Err(Error::about("/mode", "unsupported_mode", detail))
        }
        _ if asked.unwrap_or(group.options.sequence_mode) == SequenceMode::Plain => Ok(None),
        _ => Ok(form),
    }
}

/// Workloads with the positions of the first ones.
struct OrderedPrefix<'a> {
    workloads: Vec<SequenceWorkload<'a>>,
    order: Vec<u32>,
    /// The charges of these; empty if nothing is charged.
    charged: Vec<PlacementCharge>,
    /// The reasons why these do not come before their predecessors; empty unless requested.
    decisions: Vec<OrderDecision>,
}

fn plain_order<'a>(
    group: &VisibleGroup,
    mut pending: Vec<PendingWorkload<'a>>,
    owners: Vec<Member>,
    standings: &DomainWeights,
    now: Timestamp,
    most: usize,
    explain: bool,
) -> Result<OrderedPrefix<'a>> {
    let claims = group
        .scheduler
        .takes_turns()
        .then(|| division_claims(group.published(), &mut pending, &owners, now))
        .transpose()?;
    let workloads = workloads(pending, owners, |_| ());
    let mut order = match &claims {
        None => group.scheduler.order(&workloads, standings),
        Some((division, queue, requests)) => {
            let claims = QueueClaims {
                tree: &division.tree,
                fair_share: &division.shares.fair_share,
                score_weights: &group.options.division.options.score.score_weights,
                queue,
                requests,
            };
            group.scheduler.order_by_turns(&workloads, standings, &claims)
        }
    };
    order.truncate(most);
    let mut decisions = Vec::new();
    if explain {
        let queues = claims.as_ref().map(|(_, queues, _)| queues.as_slice());
        decisions = group.scheduler.decisions(&order, &workloads, standings, queues);
    }
    Ok(OrderedPrefix { workloads, order, charged: Vec::new(), decisions })
}

/// Converts pending workloads into those that are ordered. `look` gets each of them first.
fn workloads<'a>(
    pending: Vec<PendingWorkload<'a>>,
    owners: Vec<Member>,
    mut look: impl FnMut(&mut PendingWorkload<'a>),
) -> Vec<SequenceWorkload<'a>> {
    let of = |(mut w, owner): (PendingWorkload<'a>, Member)| {
        look(&mut w);
        SequenceWorkload { id: w.workload_id, owner, submitted_at: w.submitted_at, priority: w.priority }
    };
    let mut workloads: Vec<SequenceWorkload<'a>> = pending.into_iter().zip(owners).map(of).collect();
    // Collected in place of the larger pending workloads, so the vector has spare capacity.
    workloads.shrink_to_fit();
    workloads
}

fn known_owners(rows: &RankedRows, owners: &[Member]) -> Vec<Option<KnownOwner>> {
    parallel::map_items(owners, |owner| {
        let share = &rows.user(*owner)?.share;
        Some(KnownOwner { factor: share.fair_share_factor, exponent: share.exponent })
    })
}

/// The domains of projects that the group does not have yet.
fn domain_assignments<'o>(
    people: &PeopleDirectory,
    facts: &GroupSnapshotData,
    owners: impl Iterator<Item = &'o Member>,
) -> DomainByProject {
    let new = owners.map(|owner| owner.project).filter(|project| facts.rows.project(*project).is_none());
    new.filter_map(|id| Some((id, Arc::clone(&people.project(id)?.domain_name)))).collect()
}

/// The slots of all tasks of a workload.
fn total_slots(workload: &mut PendingWorkload<'_>) -> Option<Box<SlotAmounts>> {
    let slots = workload.requested_slots.take()?;
    match workload.count {
        None | Some(1) => Some(slots),
        Some(count) => Some(Box::new(slots.map(|amount| amount.checked_mul(u64::from(count)).unwrap_or(Amount::MAX)))),
    }
}

type DivisionClaims = (Arc<SnapshotDivision>, Vec<usize>, Vec<SlotAmounts>);

/// The amounts that queues deserve; and for each workload its queue and its request.
fn division_claims(
    group: &GroupSnapshot,
    pending: &mut [PendingWorkload],
    owners: &[Member],
    now: Timestamp,
) -> Result<DivisionClaims> {
    let division = group.division(now)?;
    let mut places: FastMap<(Option<&str>, ProjectId), usize> = FastMap::default();
    let place = |workload: &PendingWorkload, project: ProjectId| {
        let name = group.facts.queue_of(workload.queue.as_deref(), project);
        // The tree contains every queue that a workload can have, `default` included.
        division.tree.find(name).unwrap_or(0)
    };
    let mut queues = Vec::with_capacity(pending.len());
    for (workload, owner) in pending.iter().zip(owners) {
        let claim = (workload.queue.as_deref(), owner.project);
        queues.push(*places.entry(claim).or_insert_with(|| place(workload, owner.project)));
    }
    drop(places);
    let requests =
        pending.iter_mut().map(|workload| total_slots(workload).map(|slots| *slots).unwrap_or_default()).collect();
    Ok((division, queues, requests))
}
