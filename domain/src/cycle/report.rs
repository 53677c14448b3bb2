//! The part of an answer about the workloads that wait, with the figures of the final state (CYCLE §2).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::never::ImpedimentIndices;
use super::outcome::{CycleWaiting, HeldAmounts, NoDetails, RefusingPredicates, WaitDetails, WaitReason};
use super::placement::{FailedPlacement, PlacementRequest, place, undo};
use super::predicates::{self, PREDICATES};
use super::reasons::NotedReason;
use super::state::CycleState;
use crate::decimal::Amount;
use crate::division::fraction::{Fraction, largest_ratio};
use crate::maps::FastMap;
use crate::queues::Bound;
use crate::time::{MICROS_PER_SECOND, Timestamp};

/// A moment in whole seconds, rounded up: the workload can start then, and maybe not a moment before.
fn seconds_text(micros: i64) -> String {
    let seconds = micros.saturating_add(MICROS_PER_SECOND - 1).div_euclid(MICROS_PER_SECOND);
    Timestamp::from_seconds(seconds).to_string()
}

/// The figures of everything that waits.
pub struct WaitingReport<'c, 'a> {
    cycle: &'c mut CycleState<'a>,
    /// By shape, group and number: the placement in the final state; `None` if there is room.
    placements: FastMap<(usize, usize, usize), Option<FailedPlacement>>,
    /// By kind: the figures of `no_room`.
    rooms: FastMap<usize, WaitDetails>,
}

impl<'c, 'a> WaitingReport<'c, 'a> {
    pub fn new(cycle: &'c mut CycleState<'a>) -> Self {
        Self { cycle, placements: FastMap::default(), rooms: FastMap::default() }
    }

    /// All workloads of which members wait: first those with a position, then those that never start, by id.
    pub fn waiting(mut self) -> Vec<CycleWaiting> {
        let mut order: Vec<usize> = (0..self.cycle.progress.len()).filter(|w| self.members(*w) > 0).collect();
        let facts = self.cycle.facts;
        order.sort_by_key(|workload| {
            let position = self.cycle.progress[*workload].position.filter(|_| self.cycle.never[*workload].is_none());
            (position.is_none(), position, &facts.workloads[*workload].input.workload_id)
        });
        order.into_iter().map(|workload| self.row(workload)).collect()
    }

    /// How many members of the workload wait. What its own `parallel_limit` holds back does not.
    fn members(&self, workload: usize) -> usize {
        let (shape, progress) = (self.cycle.facts.shape_of(workload), &self.cycle.progress[workload]);
        shape.most.saturating_sub(progress.started).min(shape.count - progress.started)
    }

    fn row(&mut self, workload: usize) -> CycleWaiting {
        let facts = self.cycle.facts;
        let waiting = &facts.workloads[workload];
        let shape = facts.shape_of(workload);
        let never = self.cycle.never[workload];
        let (reason, details, blocked_by) = match never {
            Some(never) => (never_reason(never), self.never_details(workload, never), None),
            None => self.reason(workload),
        };
        let reservation = self.cycle.reservation.as_ref().filter(|known| known.workload == workload && never.is_none());
        let progress = &self.cycle.progress[workload];
        let running = shape.rest_of.map_or(0, |running| self.cycle.running.count(running));
        CycleWaiting {
            workload_id: Arc::clone(&waiting.input.workload_id),
            queue: Arc::clone(&self.cycle.turn.tree.queues[waiting.queue].name),
            position: progress.position.filter(|_| never.is_none()),
            members: self.members(workload),
            started: running + progress.started >= shape.gang,
            reason,
            details,
            blocked_by: blocked_by
                .map(|other| Arc::clone(&facts.workloads[other].input.workload_id))
                .into_iter()
                .collect(),
            reserved_at: reservation.map(|known| seconds_text(known.at)),
        }
    }

    /// The reason with its figures, and the workload that is in the way.
    fn reason(&mut self, workload: usize) -> (WaitReason, WaitDetails, Option<usize>) {
        let facts = self.cycle.facts;
        let shape = facts.shape_of(workload);
        let noted = self.cycle.progress[workload].reason.clone().unwrap_or(NotedReason::Depth);
        let mut need = vec![Amount::ZERO; facts.capacity.len()];
        let progress = &self.cycle.progress[workload];
        progress.write_need(facts, workload, &mut need);
        let number = progress.missing(shape).max(1);
        let mut unplaced = None;
        let reason = if noted.is_recomputed() || matches!(noted, NotedReason::QueueShare(_)) {
            match self.cycle.check_bounds(workload, &need) {
                Err(bound) => bound,
                Ok(()) if noted.is_recomputed() => {
                    unplaced = self.placement(workload, number);
                    unplaced.as_ref().map_or(noted, |unplaced| NotedReason::of(unplaced, number))
                }
                Ok(()) => noted,
            }
        } else {
            noted
        };
        let blocked_by = match &reason {
            NotedReason::Behind(other) | NotedReason::Reserved { by: other, .. } => Some(*other),
            _ => None,
        };
        (reason.code(), self.details(workload, &reason, unplaced.as_ref(), number), blocked_by)
    }

    /// Tries to place members in the final state. Nothing changes.
    fn placement(&mut self, workload: usize, number: usize) -> Option<FailedPlacement> {
        let facts = self.cycle.facts;
        let shape = facts.shape_of(workload);
        let progress = &self.cycle.progress[workload];
        let group = progress.next_group(shape).unwrap_or_default();
        let key = (facts.workloads[workload].shape, group, number);
        let is_shared = progress.started == 0 || !shape.looks_at_others();
        if is_shared && let Some(known) = self.placements.get(&key) {
            return known.clone();
        }
        let used = progress.used.clone();
        let placed = place(&mut self.cycle.room, PlacementRequest { workload, used: &used, number, group: None }, None);
        if let Ok(placed) = &placed {
            undo(&mut self.cycle.room, workload, placed, None);
        }
        let unplaced = placed.err();
        if is_shared {
            self.placements.insert(key, unplaced.clone());
        }
        unplaced
    }

    fn details(
        &mut self,
        workload: usize,
        reason: &NotedReason,
        unplaced: Option<&FailedPlacement>,
        number: usize,
    ) -> WaitDetails {
        let groups = &self.cycle.facts.shape_of(workload).groups;
        let kind = groups[unplaced.map_or(0, |unplaced| unplaced.skipped)].kind;
        match reason {
            NotedReason::NoRoom => self.no_room(workload, kind),
            NotedReason::Gang => {
                WaitDetails::Gang { fit: unplaced.map_or(0, |u| u.fit), minimum: number, reported: None }
            }
            NotedReason::Predicates => {
                let refused = unplaced.and_then(|unplaced| unplaced.refused.clone());
                self.refused(refused.or_else(|| self.cycle.room.refusals(workload, kind)).unwrap_or_default())
            }
            NotedReason::QueueLimit { queue, column } => self.bound(*queue, *column, false),
            NotedReason::Quota { queue, column } => self.bound(*queue, *column, true),
            NotedReason::QueueShare(queue) => {
                let (tree, share) = (&self.cycle.turn.tree, self.cycle.turn.fair_share);
                WaitDetails::Share {
                    queue: Arc::clone(&tree.queues[*queue].name),
                    share: tree.amounts(share.row(*queue)),
                    held: HeldAmounts::BySlot(tree.amounts(tree.allocated.row(*queue))),
                }
            }
            NotedReason::Reserved { until, .. } => WaitDetails::Reserved { until: seconds_text(*until) },
            NotedReason::ReclaimRefused(refusal) => WaitDetails::Refused {
                rule: refusal.rule,
                level: refusal.level.clone(),
                slot: refusal.slot,
                reclaimer_ratio: refusal.reclaimer_ratio.clone(),
                victim_ratio: refusal.victim_ratio.clone(),
            },
            NotedReason::Behind(_) | NotedReason::Depth | NotedReason::Budget => WaitDetails::Nothing(NoDetails {}),
        }
    }

    fn bound(&self, queue: usize, column: usize, is_quota: bool) -> WaitDetails {
        let tree = &self.cycle.turn.tree;
        let amount = |bound: Bound| Some(bound.unwrap_or(Amount::MAX));
        let (grid, held) = if is_quota {
            (&tree.quota, &self.cycle.held.non_preemptible)
        } else {
            (&tree.limit, &self.cycle.held.allocated)
        };
        let bound = grid[(queue, column)];
        WaitDetails::Bound {
            queue: Arc::clone(&tree.queues[queue].name),
            slot: tree.slots[column].as_str(),
            limit: if is_quota { None } else { amount(bound) },
            quota: if is_quota { amount(bound) } else { None },
            held: HeldAmounts::One(held[(queue, column)]),
        }
    }

    /// The slot that is scarcest on the agents that pass the predicates.
    fn no_room(&mut self, workload: usize, kind: usize) -> WaitDetails {
        let facts = self.cycle.facts;
        let is_shared = !facts.shape_of(workload).looks_at_others();
        if is_shared && let Some(known) = self.rooms.get(&kind) {
            return known.clone();
        }
        let room = &self.cycle.room;
        let agents: Vec<usize> = (0..facts.rows).filter(|agent| room.admits(workload, kind, *agent)).collect();
        let free =
            |column: usize| agents.iter().map(move |agent| u128::try_from(room.free(*agent, column)).unwrap_or(0));
        let asked = |column: usize| {
            let request = &facts.kinds[kind].request;
            request.iter().find(|(at, _)| *at == column).map_or(0, |(_, units)| *units)
        };
        let columns = facts.kinds[kind].request.iter().map(|(column, _)| *column);
        let most = |column: usize| free(column).max().unwrap_or(0);
        let (column, _) = largest_ratio(columns, |column| Fraction::new(asked(column), most(column)));
        let amount = |of: &dyn Fn(usize) -> u128| column.map_or(Amount::ZERO, |column| Amount::from_units(of(column)));
        let details = WaitDetails::NoRoom {
            slot: column.map(|column| self.cycle.turn.tree.slots[column].as_str()),
            asked: amount(&asked),
            most_free: amount(&most),
            free: amount(&|column| free(column).fold(0, u128::saturating_add)),
        };
        if is_shared {
            self.rooms.insert(kind, details.clone());
        }
        details
    }

    /// The predicates that refuse agents, each with their number.
    fn refused(&self, by_predicate: Vec<usize>) -> WaitDetails {
        let counts = PREDICATES.iter().zip(by_predicate).filter(|(_, count)| *count > 0);
        let refused: BTreeMap<&'static str, usize> =
            counts.map(|(predicate, count)| (predicate.name(), count)).collect();
        WaitDetails::Predicates(RefusingPredicates { refused, agents: self.cycle.facts.agents.len() })
    }

    fn never_details(&self, workload: usize, never: ImpedimentIndices) -> WaitDetails {
        let facts = self.cycle.facts;
        let tree = &self.cycle.turn.tree;
        let need = facts.asked_by_minimum(facts.workloads[workload].shape);
        let too_large = |scope, column: usize, asked, most| WaitDetails::TooLarge {
            scope,
            slot: Some(tree.slots[column].as_str()),
            asked,
            most,
            queue: None,
        };
        match never {
            ImpedimentIndices::Predicates { kind } => {
                self.refused(self.cycle.room.refusals(workload, kind).unwrap_or_default())
            }
            ImpedimentIndices::Agent { kind } => {
                let (column, asked, most) = self.largest_agent(kind);
                too_large("agent", column, asked, most)
            }
            ImpedimentIndices::Group { column } => {
                too_large("group", column, need[column], facts.full_capacity[column])
            }
            ImpedimentIndices::Queue { queue, column } => WaitDetails::TooLarge {
                scope: "queue",
                slot: Some(tree.slots[column].as_str()),
                asked: need[column],
                most: tree.limit[(queue, column)].unwrap_or(Amount::MAX),
                queue: Some(Arc::clone(&tree.queues[queue].name)),
            },
            ImpedimentIndices::Members { fit } => {
                let count = |number: usize| Amount::whole(number as u64);
                let asked = count(facts.shape_of(workload).minimum().max(1));
                WaitDetails::TooLarge { scope: "members", slot: None, asked, most: count(fit), queue: None }
            }
        }
    }

    /// The slot of which the agents that a member could run on have least for it: (slot, asked, most there is).
    fn largest_agent(&self, kind: usize) -> (usize, Amount, Amount) {
        let facts = self.cycle.facts;
        let member = &facts.kinds[kind];
        let lasting = predicates::lasting();
        let most = |column: usize| {
            let eligible = (0..facts.rows).filter(|agent| member.refusing[*agent] & lasting == 0);
            eligible.map(|agent| facts.total[(agent, column)]).max().unwrap_or(0)
        };
        let asked = |column: usize| member.request.iter().find(|(at, _)| *at == column).map_or(0, |(_, units)| *units);
        let columns = member.request.iter().map(|(column, _)| *column);
        let (column, _) = largest_ratio(columns, |column| Fraction::new(asked(column), most(column)));
        let column = column.unwrap_or_default();
        (column, Amount::from_units(asked(column)), Amount::from_units(most(column)))
    }
}

fn never_reason(never: ImpedimentIndices) -> WaitReason {
    if never.is_too_large() { WaitReason::TooLarge } else { WaitReason::Predicates }
}
