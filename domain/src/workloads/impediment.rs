//! Workloads that can never start. Each rule compares what the minimum of a workload asks for with what is there at most, and
//! not with what is free, so that neither an order nor a scheduling cycle is needed.
//!
//! The rules are asked in this order, and the first one that refuses is the answer:
//! 1. Fewer members than the minimum have an agent whose labels and taints they pass.
//! 2. Fewer members fit on such an agent when it is empty.
//! 3. The minimum asks for more than the capacity of the group,
//! 4. or than the limit of its queue, or of a queue above.
//! 5. Fewer equal members than the minimum fit on all empty agents together. Members that differ are left to cycles, because the
//!    answer depends on how they are placed.
//!
//! An agent that is down or takes no work counts in 1, 2 and 5, because it may come back. In a group without agents only rule 4
//! can refuse: nothing is known of what there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decimal::Amount;
use crate::division::fraction::{Fraction, largest_ratio};
use crate::maps::FastMap;
use crate::placement_rules::{AGENT_ID_LABEL, Labels, PlacementRules, Taint};
use crate::queues::{Bound, QueueConfigs};
use crate::slots::{SlotAmounts, SlotName};

/// The total that a workload exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImpedimentScope {
    Agent,
    Group,
    Queue(Arc<str>),
    /// The number of members.
    Members,
}

impl ImpedimentScope {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Group => "group",
            Self::Queue(_) => "queue",
            Self::Members => "members",
        }
    }
}

/// The reason why a workload can never start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartImpediment {
    /// It asks for more of a slot than there is.
    TooLarge { scope: ImpedimentScope, slot: SlotName, asked: Amount, most: Amount },
    /// More members have to run at the same time than fit.
    TooManyMembers { asked: u64, most: u64 },
    /// No agent admits a member: the number of agents that refuse it by the predicate that does, of all agents.
    Predicates { refused: BTreeMap<&'static str, u64>, agents: u64 },
}

impl StartImpediment {
    /// The name of the reason in answers.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } | Self::TooManyMembers { .. } => "too_large",
            Self::Predicates { .. } => "predicates",
        }
    }
}

/// An agent as it is when it is empty.
#[derive(Clone, Debug)]
pub struct AgentTotals<'a> {
    labels: Labels,
    taints: &'a [Taint],
    slots: &'a SlotAmounts,
}

impl<'a> AgentTotals<'a> {
    pub fn new(agent_id: &str, labels: &Labels, taints: &'a [Taint], slots: &'a SlotAmounts) -> Self {
        let mut labels = labels.clone();
        labels.insert(AGENT_ID_LABEL.to_owned(), agent_id.to_owned());
        Self { labels, taints, slots }
    }
}

/// The demand of one member that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberDemand<'a> {
    pub rules: Option<&'a PlacementRules>,
    pub slots: &'a SlotAmounts,
}

/// The demand of a workload that waits.
#[derive(Clone, Debug)]
pub struct StartDemand<'a> {
    /// The members that wait, in the order in which they are placed.
    pub members: Vec<MemberDemand<'a>>,
    /// How many of them the next start needs; at least 1.
    pub needed: usize,
    /// The slots that members of the same minimum hold already.
    pub held: SlotAmounts,
    pub queue: &'a str,
}

/// The fit of members of one kind on the empty agents.
#[derive(Clone, Debug, Default)]
struct KindFit {
    refused: BTreeMap<&'static str, u64>,
    /// True if an agent admits such a member.
    is_admitted: bool,
    /// The largest total of each slot on agents that admit it.
    most: SlotAmounts,
    /// The number of such members that fit on all agents together.
    count: u64,
}

/// The totals that workloads are compared with. Members of one kind are compared with the agents once.
pub struct StartLimits<'a> {
    agents: Vec<AgentTotals<'a>>,
    capacity: &'a SlotAmounts,
    queues: &'a QueueConfigs,
    fits: FastMap<MemberDemand<'a>, Arc<KindFit>>,
}

impl<'a> StartLimits<'a> {
    pub fn new(agents: Vec<AgentTotals<'a>>, capacity: &'a SlotAmounts, queues: &'a QueueConfigs) -> Self {
        Self { agents, capacity, queues, fits: FastMap::default() }
    }

    /// The reason why the workload can never start; `None` if there is none that needs no order.
    pub fn impediment(&mut self, demand: &StartDemand<'a>) -> Option<StartImpediment> {
        let mut needed: Vec<MemberDemand<'a>> = demand.members.iter().take(demand.needed).copied().collect();
        if !self.agents.is_empty() {
            match self.needed_members(demand) {
                Ok(members) => needed = members,
                Err(impediment) => return Some(impediment),
            }
        }
        let mut asked = demand.held.clone();
        for member in &needed {
            asked.add(member.slots);
        }
        self.beyond_capacity(&asked)
            .or_else(|| self.beyond_queue_limit(demand.queue, &asked))
            .or_else(|| self.too_many_members(&needed))
    }

    /// The first members that could ever run, as many as the start needs.
    fn needed_members(&mut self, demand: &StartDemand<'a>) -> Result<Vec<MemberDemand<'a>>, StartImpediment> {
        let needed = demand.needed.min(demand.members.len());
        let (mut found, mut admitted) = (Vec::with_capacity(needed), 0);
        let (mut first_refused, mut first_too_large) = (None, None);
        for member in &demand.members {
            let fit = self.fit(*member);
            if !fit.is_admitted {
                first_refused.get_or_insert(fit);
                continue;
            }
            admitted += 1;
            if fit.count > 0 {
                found.push(*member);
            } else {
                first_too_large.get_or_insert((member.slots, fit));
            }
            if found.len() == needed {
                return Ok(found);
            }
        }
        let agents = self.agents.len() as u64;
        let predicates = |fit: &KindFit| StartImpediment::Predicates { refused: fit.refused.clone(), agents };
        let impediment = match (first_refused, first_too_large) {
            (Some(fit), _) if admitted < needed => Some(predicates(&fit)),
            (_, Some((slots, fit))) => too_large(ImpedimentScope::Agent, slots, |slot| fit.most.get(slot)),
            _ => None,
        };
        impediment.map_or(Ok(found), Err)
    }

    fn fit(&mut self, member: MemberDemand<'a>) -> Arc<KindFit> {
        let made = self.fits.entry(member).or_insert_with(|| Arc::new(kind_fit(member, &self.agents)));
        Arc::clone(made)
    }

    fn beyond_capacity(&self, asked: &SlotAmounts) -> Option<StartImpediment> {
        let capacity = |slot| self.capacity.get(slot).unwrap_or(Amount::ZERO);
        let exceeds = asked.iter().any(|(slot, asked)| asked > capacity(slot));
        let is_known = !self.agents.is_empty();
        (exceeds && is_known).then(|| too_large(ImpedimentScope::Group, asked, |slot| Some(capacity(slot))))?
    }

    fn beyond_queue_limit(&self, queue: &str, asked: &SlotAmounts) -> Option<StartImpediment> {
        let mut next = self.queues.get_key_value(queue);
        // A chain of parents is never longer than the number of queues.
        for _ in 0..self.queues.len() {
            let (name, config) = next?;
            let limit = |slot| match config.limit.get(slot) {
                Some(Bound::Limited(limit)) => Some(limit),
                _ => None,
            };
            if asked.iter().any(|(slot, asked)| limit(slot).is_some_and(|limit| asked > limit)) {
                let limited: SlotAmounts = asked.iter().filter(|(slot, _)| limit(*slot).is_some()).collect();
                return too_large(ImpedimentScope::Queue(Arc::clone(name)), &limited, limit);
            }
            next = self.queues.get_key_value(config.parent.as_deref()?);
        }
        None
    }

    fn too_many_members(&mut self, needed: &[MemberDemand<'a>]) -> Option<StartImpediment> {
        let first = *needed.first()?;
        let is_near_others = first.rules.is_some_and(|r| !r.affinity.with.is_empty() || !r.affinity.against.is_empty());
        if self.agents.is_empty() || is_near_others || needed.iter().any(|member| *member != first) {
            return None;
        }
        let (asked, most) = (needed.len() as u64, self.fit(first).count);
        (most < asked).then_some(StartImpediment::TooManyMembers { asked, most })
    }
}

fn kind_fit(member: MemberDemand<'_>, agents: &[AgentTotals<'_>]) -> KindFit {
    let mut fit = KindFit::default();
    let none = PlacementRules::default();
    let rules = member.rules.unwrap_or(&none);
    for agent in agents {
        let refuses = if !rules.affinity.agents.iter().all(|requirement| requirement.accepts(&agent.labels)) {
            Some("labels")
        } else if !rules.tolerates(agent.taints) {
            Some("taints")
        } else {
            None
        };
        if let Some(predicate) = refuses {
            *fit.refused.entry(predicate).or_default() += 1;
            continue;
        }
        fit.is_admitted = true;
        for (slot, total) in agent.slots.iter() {
            if fit.most.get(slot).is_none_or(|most| most < total) {
                fit.most.set(slot, total);
            }
        }
        fit.count = fit.count.saturating_add(members_on(agent.slots, member.slots));
    }
    fit
}

/// The number of members with these slots that fit on an empty agent.
fn members_on(total: &SlotAmounts, asked: &SlotAmounts) -> u64 {
    let of_slot = |(slot, asked): (SlotName, Amount)| {
        let total = total.get(slot).unwrap_or(Amount::ZERO);
        u64::try_from(total.units() / asked.units()).unwrap_or(u64::MAX)
    };
    asked.iter().filter(|(_, asked)| !asked.is_zero()).map(of_slot).min().unwrap_or(u64::MAX)
}

/// The impediment with the slot of which the most is asked for, compared with what there is; the first one by name among
/// equals. `None` if nothing is asked for.
fn too_large(
    scope: ImpedimentScope,
    asked: &SlotAmounts,
    most: impl Fn(SlotName) -> Option<Amount>,
) -> Option<StartImpediment> {
    let asked = asked.iter().filter(|(_, asked)| !asked.is_zero());
    let rows = asked.map(|(slot, asked)| (slot, asked, most(slot).unwrap_or(Amount::ZERO)));
    let (found, _) = largest_ratio(rows, |(_, asked, most)| Fraction::of(asked, most));
    found.map(|(slot, asked, most)| StartImpediment::TooLarge { scope, slot, asked, most })
}
