//! The options of a cycle, in the shape that `scheduler_opts.cycle` stores. Names are kept as text until they are
//! checked, so that one answer can name all faults.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::choices::NamedChoice;
use crate::decimal::Amount;
use crate::fault::{Fault, escape_key};
use crate::option_facts::{OptionFacts, OptionValues};
use crate::queues::MAX_WEIGHT;
use crate::reading::{DecodeError, read_from};
use crate::reclaim::{NodeOrder, PlanOptions};

const MAX_DEPTH: i64 = 1_000_000;
const MAX_BUDGET_MS: i64 = 60_000;

const fn choice(name: &'static str, summary: &'static str) -> NamedChoice {
    NamedChoice { name, summary }
}

/// The actions in the order in which they usually run. Their code is in `actions`.
const ACTIONS: [NamedChoice; 4] = [
    choice("allocate", "Starts workloads in order, until one waits for room."),
    choice("backfill", "Starts what fits behind a workload that waits for room."),
    choice("reclaim", "Evicts for a queue below its share what other queues hold above theirs."),
    choice("preempt", "Evicts in a queue what has a lower priority."),
];
/// They come first wherever a request has them, because free room goes before evictions.
const FIRST_ACTIONS: [&str; 2] = ["allocate", "backfill"];
/// The scores of nodes. Their code is in `scores`.
const SCORES: [OptionFacts; 5] = [
    score("least_requested", "Least requested", "1 on an empty node, 0 on a full one: spreads work."),
    score("most_requested", "Most requested", "1 on a full node, 0 on an empty one: packs work."),
    score("balanced", "Balanced", "1 where all slots of the node are equally full."),
    score(SAME_DOMAIN, "Same domain", "1 where all members of the workload fit beside each other."),
    score(
        "untainted",
        "Untainted",
        "1 on a node without `PreferNoSchedule` taints that the workload does not tolerate.",
    ),
];
/// The score whose weight may name a label.
pub const SAME_DOMAIN: &str = "same_domain";

const fn score(name: &'static str, title: &'static str, summary: &'static str) -> OptionFacts {
    OptionFacts::new(name, title, OptionValues::Decimal { maximum: MAX_WEIGHT }, summary)
}

fn score_names() -> impl Iterator<Item = &'static str> {
    SCORES.iter().map(|score| score.key)
}

const ORDERS: [NamedChoice; 2] = [
    choice("sequencer", "The order of the group's scheduler."),
    choice("queues", "Queues take turns, and each gives its first workload."),
];
const QUEUE_ORDERS: [NamedChoice; 2] = [
    choice("saturation", "The queue with the smallest part of its share comes first."),
    choice("score", "The queue with the highest score comes first."),
];
const BACKFILLS: [NamedChoice; 3] = [
    choice("none", "Nothing starts behind a workload that waits for room."),
    choice("skip", "Whatever fits starts."),
    choice("easy", "The first workload that waits for room keeps a reservation that nothing may delay."),
];

/// The options of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CycleOptions {
    /// `allocate`, `backfill`, `reclaim`, `preempt`: at least one, each at most once. The first two always come first.
    pub actions: Vec<String>,
    /// `sequencer` or `queues`.
    pub order: String,
    /// `saturation` or `score`, read with the order `queues`. Absent: that of the group's scheduler if it is one of the two,
    /// else `saturation`.
    pub queue_order: Option<String>,
    /// `none`, `skip` or `easy`; without the action `backfill` it is `none`.
    pub backfill: String,
    /// Weights of node scores, 0 to 1,000,000. Absent: `untainted` 2, and `most_requested` 1, or `least_requested` 1
    /// where the plans spread.
    pub node_order: Option<BTreeMap<String, ScoreWeight>>,
    /// How many workloads the cycle looks at, 1 to 1,000,000; absent: all.
    pub depth: Option<i64>,
    /// For all searches of the cycle together, 0 to 60,000; absent: that of `options`.
    pub search_budget_ms: Option<i64>,
}

impl Default for CycleOptions {
    fn default() -> Self {
        Self {
            actions: ACTIONS.iter().map(|action| action.name.to_owned()).collect(),
            order: ORDERS[0].name.to_owned(),
            queue_order: None,
            backfill: "skip".to_owned(),
            node_order: None,
            depth: None,
            search_budget_ms: None,
        }
    }
}

/// The weight of a node score, and for `same_domain` the label whose values are the domains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum ScoreWeight {
    Plain(Amount),
    InDomains(DomainWeight),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DomainWeight {
    pub weight: Amount,
    pub topology_key: String,
}

impl ScoreWeight {
    fn weight(&self) -> Amount {
        match self {
            Self::Plain(weight) | Self::InDomains(DomainWeight { weight, .. }) => *weight,
        }
    }
}

impl<'de> Deserialize<'de> for ScoreWeight {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WeightOrObject)
    }
}

struct WeightOrObject;

impl<'de> Visitor<'de> for WeightOrObject {
    type Value = ScoreWeight;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a weight, or an object with `weight` and `topology_key`")
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<ScoreWeight, E> {
        Amount::deserialize(value.into_deserializer()).map(ScoreWeight::Plain)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<ScoreWeight, E> {
        Amount::deserialize(value.into_deserializer()).map(ScoreWeight::Plain)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<ScoreWeight, E> {
        Amount::deserialize(value.into_deserializer()).map(ScoreWeight::Plain)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<ScoreWeight, E> {
        Amount::deserialize(value.into_deserializer()).map(ScoreWeight::Plain)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<ScoreWeight, A::Error> {
        DomainWeight::deserialize(MapAccessDeserializer::new(object)).map(ScoreWeight::InDomains)
    }
}

/// The starts that go on behind a workload that waits for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackfillMode {
    Nothing,
    Skip,
    Easy,
}

/// The options after their check.
pub(crate) struct CycleSettings {
    /// In the order in which they run.
    pub actions: Vec<&'static str>,
    pub by_queues: bool,
    pub by_score: bool,
    pub backfill: BackfillMode,
    /// By index of the registry of scores.
    pub weights: Vec<Amount>,
    pub topology_key: Option<String>,
    pub depth: usize,
    pub search_budget_ms: u64,
}

impl CycleSettings {
    pub fn has(&self, action: &str) -> bool {
        self.actions.contains(&action)
    }
}

fn not_one_of(known: &[NamedChoice]) -> String {
    let names: Vec<&str> = known.iter().map(|choice| choice.name).collect();
    format!("is not one of {}", names.join(", "))
}

impl CycleOptions {
    /// Reads the options from their stored form. Absent keys have their defaults. The pointers of faults are relative to the
    /// options.
    pub fn parse(value: &Value) -> Result<Self, Vec<Fault>> {
        if !value.is_object() {
            return Err(vec![Fault::new("", "invalid_value", "`cycle` is not an object")]);
        }
        let options: Self =
            read_from(value.clone(), "invalid_value").map_err(|misread: DecodeError| vec![misread.option_fault()])?;
        options.check(&PlanOptions::default())?;
        Ok(options)
    }

    /// The options with the keys of a request in place of their own; `null` sets a key back to its default.
    pub fn patched(&self, patch: &Map<String, Value>) -> Result<Self, Vec<Fault>> {
        let mut merged = match self.to_json() {
            Value::Object(keys) => keys,
            _ => Map::new(),
        };
        for (key, value) in patch {
            merged.insert(key.clone(), value.clone());
        }
        merged.retain(|_, value| !value.is_null());
        Self::parse(&Value::Object(merged))
    }

    /// The options in force; those that are off are left out.
    pub fn to_json(&self) -> Value {
        let keys = serde_json::to_value(self).ok().and_then(|value| value.as_object().cloned()).unwrap_or_default();
        keys.into_iter().filter(|(_, value)| !value.is_null()).collect()
    }

    /// Every key that the options can have, at every depth.
    pub fn keys() -> Value {
        let weights: Map<String, Value> = score_names().map(|name| (name.to_owned(), Value::Null)).collect();
        let mut keys = serde_json::to_value(Self::default()).unwrap_or_default();
        keys["node_order"] = Value::Object(weights);
        keys
    }

    /// The facts about the options.
    pub fn facts() -> Vec<OptionFacts> {
        let fact = OptionFacts::new;
        vec![
            fact(
                "actions",
                "Actions",
                OptionValues::Choices(|| ACTIONS.to_vec()),
                "What a cycle may do, in this order.",
            ),
            fact(
                "order",
                "Order",
                OptionValues::Choice(|| ORDERS.to_vec()),
                "The order in which workloads get their turn.",
            ),
            fact(
                "queue_order",
                "Order of queues",
                OptionValues::Choice(|| QUEUE_ORDERS.to_vec()),
                "Which queue gets the next turn, where queues take turns.",
            )
            .unset("as the scheduler"),
            fact(
                "backfill",
                "Backfill",
                OptionValues::Choice(|| BACKFILLS.to_vec()),
                "What starts behind a workload that waits for room.",
            ),
            fact(
                "node_order",
                "Scores of nodes",
                OptionValues::Object(|| SCORES.to_vec()),
                "The weights that choose among nodes with room.",
            )
            .unset("packed, away from taints"),
            fact(
                "depth",
                "Depth",
                OptionValues::Whole { minimum: 1, maximum: MAX_DEPTH },
                "How many workloads a cycle looks at.",
            )
            .in_unit("workloads")
            .unset("all"),
            fact(
                "search_budget_ms",
                "Search budget of a cycle",
                OptionValues::Whole { minimum: 0, maximum: MAX_BUDGET_MS },
                "The limit for all searches of victims of a cycle, counted in steps.",
            )
            .in_unit("milliseconds")
            .unset("that of the division"),
        ]
    }

    /// True if queues take turns; otherwise the caller gives each workload its position.
    pub fn takes_turns(&self) -> bool {
        self.order == "queues"
    }

    /// The starts that go on behind a workload that waits for room.
    pub fn backfill_mode(&self) -> BackfillMode {
        let backfills = self.actions.iter().any(|action| action == "backfill");
        match self.backfill.as_str() {
            "skip" if backfills => BackfillMode::Skip,
            "easy" if backfills => BackfillMode::Easy,
            _ => BackfillMode::Nothing,
        }
    }

    /// Chooses the order of queues after the group's scheduler, unless one is chosen.
    pub fn order_queues_as(&mut self, scheduler: &str) {
        let order = QUEUE_ORDERS.iter().find(|order| order.name == scheduler);
        if self.queue_order.is_none() {
            self.queue_order = order.map(|order| order.name.to_owned());
        }
    }

    /// Checks every option. The pointers of faults are relative to the options.
    pub(crate) fn check(&self, plan: &PlanOptions) -> Result<CycleSettings, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut choose = |key: &str, given: &str, known: &[NamedChoice]| {
            if !known.iter().any(|choice| choice.name == given) {
                faults.push(Fault::about(format!("/{key}"), "invalid_value", not_one_of(known)));
            }
        };
        choose("order", &self.order, &ORDERS);
        if let Some(order) = &self.queue_order {
            choose("queue_order", order, &QUEUE_ORDERS);
        }
        choose("backfill", &self.backfill, &BACKFILLS);
        let actions = self.chosen_actions(&mut faults);
        self.check_node_order(&mut faults);
        let mut in_range = |key: &str, value: Option<i64>, least: i64, most: i64| {
            if value.is_some_and(|value| value < least || value > most) {
                faults.push(Fault::about(format!("/{key}"), "out_of_range", format!("must be {least} to {most}")));
            }
        };
        in_range("depth", self.depth, 1, MAX_DEPTH);
        in_range("search_budget_ms", self.search_budget_ms, 0, MAX_BUDGET_MS);
        if !faults.is_empty() {
            return Err(faults);
        }
        Ok(CycleSettings {
            by_queues: self.takes_turns(),
            by_score: self.queue_order.as_deref() == Some("score"),
            backfill: self.backfill_mode(),
            weights: self.score_weights(plan.node_order),
            topology_key: self.topology_key(),
            depth: self.depth.map_or(usize::MAX, |depth| usize::try_from(depth).unwrap_or(usize::MAX)),
            search_budget_ms: self
                .search_budget_ms
                .map_or(plan.search_budget_ms, |budget| u64::try_from(budget).unwrap_or_default()),
            actions,
        })
    }

    fn chosen_actions(&self, faults: &mut Vec<Fault>) -> Vec<&'static str> {
        if self.actions.is_empty() {
            faults.push(Fault::new("/actions", "empty", "`actions` must name at least one"));
        }
        let mut chosen: Vec<&'static str> = Vec::new();
        for (at, name) in self.actions.iter().enumerate() {
            let pointer = format!("/actions/{at}");
            match ACTIONS.iter().find(|known| known.name == name) {
                None => faults.push(Fault::about(pointer, "invalid_value", not_one_of(&ACTIONS))),
                Some(action) if chosen.contains(&action.name) => {
                    faults.push(Fault::about(pointer, "duplicate", format!("names {name} twice")));
                }
                Some(action) => chosen.push(action.name),
            }
        }
        // The sort is stable, so that the others keep the order of the request.
        chosen.sort_by_key(|action| FIRST_ACTIONS.iter().position(|first| first == action).unwrap_or(usize::MAX));
        chosen
    }

    fn check_node_order(&self, faults: &mut Vec<Fault>) {
        for (name, weight) in self.node_order.iter().flatten() {
            let pointer = format!("/node_order/{}", escape_key(name));
            if !score_names().any(|known| known == name) {
                let known = score_names().collect::<Vec<_>>().join(", ");
                faults.push(Fault::about(pointer, "unknown_score", format!("is not one of {known}")));
            } else if weight.weight() > MAX_WEIGHT {
                faults.push(Fault::about(pointer, "out_of_range", format!("must be at most {MAX_WEIGHT}")));
            } else if matches!(weight, ScoreWeight::InDomains(_)) && name != SAME_DOMAIN {
                faults.push(Fault::about(pointer, "invalid_value", "has no topology_key; it is one weight"));
            }
        }
    }

    fn score_weights(&self, plans: NodeOrder) -> Vec<Amount> {
        let usual = match plans {
            NodeOrder::Pack => "most_requested",
            NodeOrder::Spread => "least_requested",
        };
        let weight = |name: &str| match &self.node_order {
            Some(weights) => weights.get(name).map_or(Amount::ZERO, ScoreWeight::weight),
            None if name == "untainted" => Amount::whole(2),
            None if name == usual => Amount::whole(1),
            None => Amount::ZERO,
        };
        score_names().map(weight).collect()
    }

    fn topology_key(&self) -> Option<String> {
        match self.node_order.as_ref()?.get(SAME_DOMAIN)? {
            ScoreWeight::InDomains(domains) => Some(domains.topology_key.clone()),
            ScoreWeight::Plain(_) => None,
        }
    }
}
