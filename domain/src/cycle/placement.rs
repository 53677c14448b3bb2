//! Chooses agents for the members of one workload (CYCLE §4). Members are tried in task order, each on the agent with the
//! best score that has room and passes the predicates; a member that fits nowhere is skipped. Where that does not place
//! enough members, a second try goes by size, and for workloads that want to be near others a third one begins on each
//! agent in turn. There is no other search.

use std::cmp::Reverse;

use super::facts::ResolvedRequest;
use super::room::{AgentOccupancy, CountedMember};
use super::scores::{DomainQuestion, FULL_SCORE};
use super::shapes::WorkloadShape;

/// A state from which a start must not take too much. It follows each member that is placed.
pub trait ReservationGuard {
    /// Takes the member in, unless it takes too much. Returns whether it did.
    fn admit(&mut self, member: CountedMember, agent: usize) -> bool;

    /// Takes a member out again.
    fn dismiss(&mut self, member: CountedMember, agent: usize);
}

/// A member that got an agent: one of a group of equal members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatedMember {
    pub group: usize,
    pub agent: usize,
}

/// Members of a workload that need agents.
#[derive(Clone, Copy)]
pub struct PlacementRequest<'w> {
    pub workload: usize,
    /// By group: the members that have started already.
    pub used: &'w [usize],
    /// How many more have to get an agent.
    pub number: usize,
    /// The only group of which members are placed; absent: all groups.
    pub group: Option<usize>,
}

/// The reason why there are too few agents.
#[derive(Clone, Debug)]
pub struct FailedPlacement {
    /// How many members got one.
    pub fit: usize,
    /// The group of the first member that did not.
    pub skipped: usize,
    /// Where predicates refused every agent to it: how many agents each predicate refused, by index of the registry.
    pub refused: Option<Vec<usize>>,
}

/// Puts the members into the room, and into the room of the reservation that they must not delay. If not all of them fit,
/// nothing changes.
pub fn place(
    room: &mut AgentOccupancy,
    wanted: PlacementRequest,
    mut guard: Option<&mut dyn ReservationGuard>,
) -> Result<Vec<SeatedMember>, FailedPlacement> {
    let facts = room.facts;
    let shape = facts.shape_of(wanted.workload);
    let listed: Vec<usize> = wanted.group.map_or_else(|| (0..shape.groups.len()).collect(), |group| vec![group]);
    let mut failed = match attempt(room, wanted, &listed, None, reborrow(&mut guard)) {
        Ok(placed) => return Ok(placed),
        Err(failed) => failed,
    };
    let mut retry =
        |room: &mut AgentOccupancy, order: &[usize], first: Option<usize>, guard: Option<&mut dyn ReservationGuard>| {
            match attempt(room, wanted, order, first, guard) {
                Ok(placed) => Some(placed),
                Err(other) => {
                    if other.fit > failed.fit {
                        failed = other;
                    }
                    None
                }
            }
        };
    let is_mixed = || shape.groups.iter().any(|group| group.kind != shape.groups[0].kind);
    if wanted.group.is_none()
        && is_mixed()
        && let Some(placed) = retry(room, &by_size(facts, shape), None, reborrow(&mut guard))
    {
        return Ok(placed);
    }
    let first = listed.iter().copied().find(|group| wanted.used[*group] < shape.groups[*group].count);
    if !shape.with.is_empty()
        && let Some(first) = first
    {
        let kind = shape.groups[first].kind;
        let index = room.lend_index(kind);
        let agents: Vec<usize> = index.agents().filter(|a| room.admits(wanted.workload, kind, *a)).collect();
        room.keep_index(kind, index);
        for agent in agents {
            if let Some(placed) = retry(room, &listed, Some(agent), reborrow(&mut guard)) {
                return Ok(placed);
            }
        }
    }
    Err(failed)
}

/// A guard for one call, so that the next one can have it again.
fn reborrow<'g>(guard: &'g mut Option<&mut dyn ReservationGuard>) -> Option<&'g mut dyn ReservationGuard> {
    match guard {
        Some(guard) => Some(&mut **guard),
        None => None,
    }
}

/// The groups by size: the largest first if all members have to run, else the smallest.
fn by_size(facts: &ResolvedRequest, shape: &WorkloadShape) -> Vec<usize> {
    let mut order: Vec<usize> = (0..shape.groups.len()).collect();
    let size = |group: &usize| facts.kinds[shape.groups[*group].kind].size;
    if shape.minimum() >= shape.count {
        order.sort_by_key(|group| Reverse(size(group)));
    } else {
        order.sort_by_key(size);
    }
    order
}

/// One try in an order of groups. The first member may have to go to a certain agent.
fn attempt(
    room: &mut AgentOccupancy,
    wanted: PlacementRequest,
    order: &[usize],
    mut first: Option<usize>,
    mut guard: Option<&mut dyn ReservationGuard>,
) -> Result<Vec<SeatedMember>, FailedPlacement> {
    let facts = room.facts;
    let shape = facts.shape_of(wanted.workload);
    let mut placed = Vec::with_capacity(wanted.number);
    let mut skipped = None;
    for (at, group) in order.iter().copied().enumerate() {
        let kind = shape.groups[group].kind;
        for left in (1..=shape.groups[group].count - wanted.used[group]).rev() {
            if placed.len() == wanted.number {
                return Ok(placed);
            }
            let waiting = || {
                let later = order[at + 1..].iter();
                let later = later.map(|g| (shape.groups[*g].kind, shape.groups[*g].count - wanted.used[*g]));
                first_members(std::iter::once((kind, left)).chain(later), wanted.number - placed.len())
            };
            let Some(agent) = choose(room, wanted.workload, kind, waiting, first.take(), reborrow(&mut guard)) else {
                skipped.get_or_insert_with(|| (group, room.refusals(wanted.workload, kind)));
                break;
            };
            room.put(room.footprint(wanted.workload, kind), agent);
            placed.push(SeatedMember { group, agent });
        }
    }
    if placed.len() == wanted.number {
        return Ok(placed);
    }
    undo(room, wanted.workload, &placed, guard);
    let (skipped, refused) = skipped.unwrap_or_default();
    Err(FailedPlacement { fit: placed.len(), skipped, refused })
}

/// The first members of runs of equal members, as many as `number`.
fn first_members(runs: impl Iterator<Item = (usize, usize)>, number: usize) -> Vec<(usize, usize)> {
    let mut left = number;
    let cut = runs.map(|(kind, count)| {
        let taken = count.min(left);
        left -= taken;
        (kind, taken)
    });
    cut.filter(|(_, count)| *count > 0).collect()
}

/// Takes placed members out of the room again, and out of that of the reservation.
pub fn undo(
    room: &mut AgentOccupancy,
    workload: usize,
    placed: &[SeatedMember],
    guard: Option<&mut dyn ReservationGuard>,
) {
    let shape = room.facts.shape_of(workload);
    let kind = |placed: &SeatedMember| shape.groups[placed.group].kind;
    for member in placed {
        room.take_away(room.footprint(workload, kind(member)), member.agent);
    }
    if let Some(guard) = guard {
        for member in placed {
            guard.dismiss(room.footprint(workload, kind(member)), member.agent);
        }
    }
}

/// The best agent for one member. With a reservation it is the best one that does not delay the reserved workload; the
/// member is then in the room of the reservation.
fn choose(
    room: &mut AgentOccupancy,
    workload: usize,
    kind: usize,
    waiting: impl Fn() -> Vec<(usize, usize)>,
    only: Option<usize>,
    mut guard: Option<&mut dyn ReservationGuard>,
) -> Option<usize> {
    let facts = room.facts;
    let shape = facts.shape_of(workload);
    let member = room.footprint(workload, kind);
    let index = room.lend_index(kind);
    let mut suits = |agent: &usize| {
        room.admits(workload, kind, *agent) && guard.as_mut().is_none_or(|guard| guard.admit(member, *agent))
    };
    let found = match (&facts.domains, only) {
        (_, Some(agent)) => Some(agent).filter(&mut suits),
        (Some((weight, domain_of, domains)), None) if shape.gang > 1 => {
            let scores = DomainQuestion { shape, workload, waiting: waiting() }.scores(room, domains);
            let bonus =
                |agent: usize| scores.get(domain_of[agent]).map_or(0, |score| score.min(&FULL_SCORE) * weight.units());
            let mut agents: Vec<(Reverse<u128>, usize)> =
                index.scored().map(|(agent, score)| (Reverse(score + bonus(agent)), agent)).collect();
            agents.sort_unstable();
            agents.into_iter().map(|(_, agent)| agent).find(&mut suits)
        }
        _ => index.agents().find(&mut suits),
    };
    room.keep_index(kind, index);
    found
}
