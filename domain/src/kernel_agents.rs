//! The agents on which a kernel runs, and the part of its slots that it holds on each of them.
//!
//! A report names the agents of a kernel and not the amounts on each, so that the amounts are divided evenly: in whole units, or
//! in units of the last decimal place where an amount is not whole. A remainder goes to the first agents of the list, one unit to
//! each. So parts differ by at most one unit, and their sum is exactly the amount of the kernel.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::decimal::Amount;
use super::fault::{Fault, MAX_FAULTS};
use super::maps::FastSet;
use super::names::check_name;
use super::reading::AtMost;
use super::slots::SlotAmounts;

/// The most agents of one kernel. The largest jobs of the largest clusters have fewer.
pub const MAX_AGENTS_OF_KERNEL: usize = 10_000;

/// The agents of a kernel. Written as a report has them: a name, a list of names, or null.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum KernelAgents {
    /// None is reported.
    #[default]
    Unknown,
    One(String),
    /// At least two, in the order of the report.
    Several(Box<[String]>),
}

/// The part of a kernel that is on one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentPart<'k> {
    /// `None`: no agent is reported.
    pub agent: Option<&'k str>,
    pub slots: Cow<'k, SlotAmounts>,
}

impl KernelAgents {
    /// `None`: no agent is known.
    pub fn of_one(name: Option<String>) -> Self {
        name.map_or(Self::Unknown, Self::One)
    }

    /// In the order of the kernel's list.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Unknown => &[],
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }

    /// The agent of a kernel that runs on one alone.
    pub fn only(&self) -> Option<&String> {
        match self {
            Self::One(name) => Some(name),
            Self::Unknown | Self::Several(_) => None,
        }
    }

    /// The parts of a kernel with these slots: one for each agent, and one without an agent where none is reported.
    pub fn parts<'k>(&'k self, slots: &'k SlotAmounts) -> impl Iterator<Item = AgentPart<'k>> + 'k {
        let names = self.names();
        let count = names.len().max(1);
        (0..count).map(move |at| AgentPart {
            agent: names.get(at).map(String::as_str),
            slots: if count == 1 { Cow::Borrowed(slots) } else { Cow::Owned(part_of_slots(slots, at, count)) },
        })
    }
}

impl From<Vec<String>> for KernelAgents {
    fn from(mut names: Vec<String>) -> Self {
        if names.len() > 1 { Self::Several(names.into()) } else { Self::of_one(names.pop()) }
    }
}

/// The part with the index `at` of slots that are divided into `count` parts. Slots of which it has nothing are left out.
fn part_of_slots(slots: &SlotAmounts, at: usize, count: usize) -> SlotAmounts {
    slots.map(|amount| part_of_amount(amount, at as u128, count as u128)).filtered(|amount| !amount.is_zero())
}

fn part_of_amount(amount: Amount, at: u128, count: u128) -> Amount {
    let mut unit = Amount::ONE.units();
    while !amount.units().is_multiple_of(unit) {
        unit /= 10;
    }
    let units = amount.units() / unit;
    let remainder = u128::from(at < units % count);
    Amount::from_units((units / count + remainder) * unit)
}

/// The agents of a report: a name, or a list of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportedAgents {
    Name(String),
    List(Vec<String>),
}

impl ReportedAgents {
    /// The agents, or the faults of the names, for a value that is itself at `pointer`.
    pub fn check(self, pointer: &str) -> Result<KernelAgents, Vec<Fault>> {
        match self {
            Self::Name(name) => match check_name(&name) {
                Ok(()) => Ok(KernelAgents::One(name)),
                Err(error) => Err(vec![Fault::about(pointer, "invalid_name", error)]),
            },
            Self::List(names) if names.is_empty() => {
                Err(vec![Fault::about(pointer, "empty", "must name at least one agent")])
            }
            Self::List(names) => check_agent_names(names, pointer),
        }
    }
}

/// The agents of these names, which may be none, or the faults of the list at `pointer`.
pub fn check_agent_names(names: Vec<String>, pointer: &str) -> Result<KernelAgents, Vec<Fault>> {
    let mut seen = FastSet::default();
    let fault = |(at, name): (usize, &str), is_new: bool| {
        let place = format!("{pointer}/{at}");
        match check_name(name) {
            Err(error) => Some(Fault::about(place, "invalid_name", error)),
            Ok(()) if is_new => None,
            Ok(()) => Some(Fault::about(place, "duplicate_agent", format!("names the agent {name:?} twice"))),
        }
    };
    let named = names.iter().map(String::as_str).enumerate();
    let faults: Vec<Fault> =
        named.filter_map(|(at, name)| fault((at, name), seen.insert(name))).take(MAX_FAULTS).collect();
    drop(seen);
    if faults.is_empty() { Ok(names.into()) } else { Err(faults) }
}

impl<'de> Deserialize<'de> for ReportedAgents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReportedAgentsVisitor)
    }
}

struct ReportedAgentsVisitor;

impl<'de> Visitor<'de> for ReportedAgentsVisitor {
    type Value = ReportedAgents;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ReportedAgents, E> {
        Ok(ReportedAgents::Name(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<ReportedAgents, A::Error> {
        let AtMost(names) = AtMost::<String, MAX_AGENTS_OF_KERNEL>::deserialize(SeqAccessDeserializer::new(names))?;
        Ok(ReportedAgents::List(names))
    }
}
