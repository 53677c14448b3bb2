//! Workloads that can never start. Each rule compares what the minimum of a workload asks for with what is there at most, and
//! not with what is free, so that neither an order nor a scheduling cycle is needed.
//!
//! The rules are those of scheduling cycles (CYCLE §3), with their predicates. They are asked in this order, and the first one
//! that refuses is the answer:
//! 1. Fewer members than the minimum have an agent whose labels and taints they pass.
//! 2. Fewer members fit on such an agent when it is empty.
//! 3. The minimum, with what its running members hold, asks for more than the capacity of the group,
//! 4. or than the limit of its queue, or of a queue above.
//! 5. Fewer equal members than the minimum fit on all empty agents together. Members that differ are left to cycles, because the
//!    answer depends on how they are placed.
//!
//! An agent that is down or takes no work counts in 1, 2 and 5, because it may come back. In a group without agents only rule 4
//! can refuse: nothing is known of what there is.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cycle::predicates::first_lasting_refusal;
use crate::cycle::shapes::{AgentRules, MemberRules};
use crate::cycle::start_rules::{MemberFit, MemberLack, find_excess, find_lack};
use crate::decimal::Amount;
use crate::division::fraction::{Fraction, largest_ratio};
use crate::maps::FastMap;
use crate::placement_rules::{AGENT_ID_LABEL, Labels, PlacementRules, Taint};
use crate::queues::{Bound, QueueConfigs};
use crate::slots::{SlotAmounts, SlotName};

/// Reported members need no labels of agents by themselves; their affinity has all requirements.
static NO_LABELS: Labels = Labels::new();

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

    pub fn slots(&self) -> &'a SlotAmounts {
        self.slots
    }

    /// The predicate by which the agent refuses members with these rules for as long as it has its labels and taints.
    pub fn lasting_refusal(&self, rules: Option<&PlacementRules>) -> Option<&'static str> {
        let member = MemberRules {
            labels: &NO_LABELS,
            expressions: rules.map_or(&[], |rules| &rules.affinity.agents),
            tolerations: rules.map_or(&[], |rules| &rules.tolerations),
        };
        // An agent that is down or takes no work may come back.
        let agent = AgentRules { labels: &self.labels, taints: self.taints, schedulable: true };
        first_lasting_refusal(&member, &agent)
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
    /// The totals of all agents together, also of those that take no members now.
    full_capacity: SlotAmounts,
    queues: &'a QueueConfigs,
    fits: FastMap<MemberDemand<'a>, Arc<KindFit>>,
}

impl<'a> StartLimits<'a> {
    pub fn new(agents: Vec<AgentTotals<'a>>, queues: &'a QueueConfigs) -> Self {
        let mut full_capacity = SlotAmounts::default();
        for agent in &agents {
            full_capacity.add(agent.slots);
        }
        Self { agents, full_capacity, queues, fits: FastMap::default() }
    }

    /// The reason why the workload can never start; `None` if there is none that needs no order.
    pub fn impediment(&mut self, demand: &StartDemand<'a>) -> Option<StartImpediment> {
        let mut needed: Vec<MemberDemand<'a>> = demand.members.iter().take(demand.needed).copied().collect();
        if !self.agents.is_empty() {
            if let Some(impediment) = self.lacking_members(demand) {
                return Some(impediment);
            }
            let able = demand.members.iter().copied().filter(|member| self.fit(*member).count > 0);
            needed = able.take(demand.needed).collect();
        }
        let mut asked = demand.held.clone();
        for member in &needed {
            asked.add(member.slots);
        }
        self.beyond_capacity(&asked)
            .or_else(|| self.beyond_queue_limit(demand.queue, &asked))
            .or_else(|| self.too_many_members(&needed))
    }

    /// The impediment of a workload of which fewer members than the start needs could ever run.
    fn lacking_members(&mut self, demand: &StartDemand<'a>) -> Option<StartImpediment> {
        let needed = demand.needed.min(demand.members.len());
        let fit = |member: &MemberDemand<'a>| {
            let fit = self.fit(*member);
            MemberFit { count: 1, has_agent: fit.is_admitted, could_run: fit.count > 0 }
        };
        match find_lack(demand.members.iter().map(fit), needed)? {
            MemberLack::Agents(member) => {
                let refused = self.fit(demand.members[member]).refused.clone();
                Some(StartImpediment::Predicates { refused, agents: self.agents.len() as u64 })
            }
            MemberLack::Room(member) => {
                let member = demand.members[member];
                let fit = self.fit(member);
                too_large(ImpedimentScope::Agent, member.slots, |slot| fit.most.get(slot))
            }
        }
    }

    fn fit(&mut self, member: MemberDemand<'a>) -> Arc<KindFit> {
        let made = self.fits.entry(member).or_insert_with(|| Arc::new(kind_fit(member, &self.agents)));
        Arc::clone(made)
    }

    fn beyond_capacity(&self, asked: &SlotAmounts) -> Option<StartImpediment> {
        let capacity = |slot| self.full_capacity.get(slot).unwrap_or(Amount::ZERO);
        let rows = asked.iter().map(|(slot, asked)| (slot, asked, capacity(slot)));
        let (slot, asked, most) = find_excess(rows.filter(|_| !self.agents.is_empty()))?;
        Some(StartImpediment::TooLarge { scope: ImpedimentScope::Group, slot, asked, most })
    }

    fn beyond_queue_limit(&self, queue: &str, asked: &SlotAmounts) -> Option<StartImpediment> {
        let mut next = self.queues.get_key_value(queue);
        // A chain of parents is never longer than the number of queues.
        for _ in 0..self.queues.len() {
            let (name, config) = next?;
            let rows = asked.iter().filter_map(|(slot, asked)| match config.limit.get(slot) {
                Some(Bound::Limited(limit)) => Some((slot, asked, limit)),
                _ => None,
            });
            if let Some((slot, asked, most)) = find_excess(rows) {
                return Some(StartImpediment::TooLarge {
                    scope: ImpedimentScope::Queue(Arc::clone(name)),
                    slot,
                    asked,
                    most,
                });
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
    for agent in agents {
        if let Some(predicate) = agent.lasting_refusal(member.rules) {
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
