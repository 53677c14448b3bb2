//! The options of a cycle, in the shape that `scheduler_opts.cycle` stores. Names are kept as text until they are
//! checked, so that one answer can name all faults.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::cycle::scores;
use crate::decimal::Amount;
use crate::fault::{Fault, escape_key};
use crate::queues::MAX_WEIGHT;
use crate::reclaim::{NodeOrder, PlanOptions};

const MAX_DEPTH: i64 = 1_000_000;
const MAX_BUDGET_MS: i64 = 60_000;
/// The actions in the order in which they usually run. The first ones come first wherever a request has them, because
/// free room goes before evictions.
const USUAL_ACTIONS: [&str; 4] = ["allocate", "backfill", "reclaim", "preempt"];
const FIRST_ACTIONS: [&str; 2] = ["allocate", "backfill"];
const ORDERS: [&str; 2] = ["sequencer", "queues"];
const QUEUE_ORDERS: [&str; 2] = ["saturation", "score"];
const BACKFILLS: [&str; 3] = ["none", "skip", "easy"];

/// The options of a cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CycleOptions {
    /// `allocate`, `backfill`, `reclaim`, `preempt`: at least one, each at most once. The first two always come first.
    pub actions: Vec<String>,
    /// `sequencer` or `queues`.
    pub order: String,
    /// `saturation` or `score`, read with the order `queues`.
    pub queue_order: String,
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
            actions: USUAL_ACTIONS.map(str::to_owned).to_vec(),
            order: ORDERS[0].to_owned(),
            queue_order: QUEUE_ORDERS[0].to_owned(),
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
pub(crate) enum Backfill {
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
    pub backfill: Backfill,
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

impl CycleOptions {
    /// Checks every option. The pointers of faults are relative to the options.
    pub(crate) fn check(&self, plan: &PlanOptions) -> Result<CycleSettings, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut choose = |key: &str, given: &str, known: &[&str]| {
            if !known.contains(&given) {
                let said = format!("is not one of {}", known.join(", "));
                faults.push(Fault::about(format!("/{key}"), "invalid_value", said));
            }
        };
        choose("order", &self.order, &ORDERS);
        choose("queue_order", &self.queue_order, &QUEUE_ORDERS);
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
        let backfills = actions.contains(&"backfill");
        Ok(CycleSettings {
            by_queues: self.order == "queues",
            by_score: self.queue_order == "score",
            backfill: match self.backfill.as_str() {
                "skip" if backfills => Backfill::Skip,
                "easy" if backfills => Backfill::Easy,
                _ => Backfill::Nothing,
            },
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
            match USUAL_ACTIONS.iter().find(|known| *known == name) {
                None => {
                    let said = format!("is not one of {}", USUAL_ACTIONS.join(", "));
                    faults.push(Fault::about(pointer, "invalid_value", said));
                }
                Some(action) if chosen.contains(action) => {
                    faults.push(Fault::about(pointer, "duplicate", format!("names {name} twice")));
                }
                Some(action) => chosen.push(action),
            }
        }
        // The sort is stable, so that the others keep the order of the request.
        chosen.sort_by_key(|action| FIRST_ACTIONS.iter().position(|first| first == action).unwrap_or(usize::MAX));
        chosen
    }

    fn check_node_order(&self, faults: &mut Vec<Fault>) {
        for (name, weight) in self.node_order.iter().flatten() {
            let pointer = format!("/node_order/{}", escape_key(name));
            if !scores::names().any(|known| known == name) {
                let known = scores::names().collect::<Vec<_>>().join(", ");
                faults.push(Fault::about(pointer, "unknown_score", format!("is not one of {known}")));
            } else if weight.weight() > MAX_WEIGHT {
                faults.push(Fault::about(pointer, "out_of_range", format!("must be at most {MAX_WEIGHT}")));
            } else if matches!(weight, ScoreWeight::InDomains(_)) && name != scores::SAME_DOMAIN {
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
        scores::names().map(weight).collect()
    }

    fn topology_key(&self) -> Option<String> {
        match self.node_order.as_ref()?.get(scores::SAME_DOMAIN)? {
            ScoreWeight::InDomains(domains) => Some(domains.topology_key.clone()),
            ScoreWeight::Plain(_) => None,
        }
    }
}
