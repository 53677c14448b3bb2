//! The facts about everything that can be chosen or set, put together from the registries and from the tables of options. What is
//! added there appears here, and with it in `GET /metadata` and on the pages.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::choices::NamedChoice;
use crate::decay::RegisteredDecay;
use crate::division::score_weights::ScoreOptions;
use crate::division::{QueueState, algorithm_choices, algorithm_options};
use crate::flat::FlatPart;
use crate::option_facts::{OptionFacts, OptionValues};
use crate::options::{FairShareOptions, group_options};
use crate::queues::queue_key_facts;
use crate::reclaim::{PlanOptions, ReclaimOptions, ReclaimRule, ReclaimVerdict, plugins};
use crate::sequencer::Sequencer;

/// A sequencer, which orders pending workloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(example = json!({
    "name": "fairshare", "summary": "The user with the least usage for the weight starts first.", "progressive": true, "queues": false
}))]
pub struct SchedulerFacts {
    /// The value of `scheduler`.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// True if the sequencer has a progressive order.
    pub progressive: bool,
    /// True if queues take turns.
    pub queues: bool,
}

/// The facts about an option.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = OptionFacts, no_recursion, example = json!({
    "key": "half_life_days", "title": "Half-life", "section": "What counts as used", "type": "integer", "minimum": "1",
    "maximum": "3650", "decimals": 0, "default": 7, "unset": null, "unit": "days",
    "summary": "After this time usage counts half: a short one forgives quickly, a long one remembers heavy users.",
    "choices": [], "read_by": [], "options": []
}))]
pub struct OptionEntry {
    pub key: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The title of the options with which this one is shown; null: it stands with those around it.
    pub section: Option<&'static str>,
    /// `integer`, `decimal`, `boolean`, `text`, `time`, `choice` (one of the choices), `choices` (a list of them), `tiers` (lists of
    /// plug-ins), `amounts` (decimals by slot), `slots` (names of slots) or `object` (further options).
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The smallest legal number, as a text; null if the values are no numbers.
    pub minimum: Option<String>,
    /// The largest legal number, as a text; null if the values are no numbers.
    pub maximum: Option<String>,
    /// The largest number of decimals; null if the values are no numbers.
    pub decimals: Option<u32>,
    /// Null: the option has no default, and `unset` says what its absence means.
    pub default: Value,
    /// The meaning of an absent value, where there is no default.
    pub unset: Option<&'static str>,
    pub unit: Option<&'static str>,
    /// One sentence or two.
    pub summary: &'static str,
    pub choices: Vec<NamedChoice>,
    /// The algorithms that read the option; empty: all of them.
    pub read_by: Vec<&'static str>,
    /// The options inside an `object`.
    pub options: Vec<OptionEntry>,
}

/// A key of a queue.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = QueueKeyFacts, example = json!({
    "key": "priority", "type": "integer", "minimum": "-2147483648", "maximum": "2147483647", "decimals": 0, "default": 0,
    "choices": []
}))]
pub struct QueueKeyEntry {
    pub key: &'static str,
    /// The kind of values, as of options.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub minimum: Option<String>,
    pub maximum: Option<String>,
    pub decimals: Option<u32>,
    /// Null: none.
    pub default: Value,
    pub choices: Vec<NamedChoice>,
}

/// The facts that follow from the rules.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct RuleFacts {
    /// The sequencers.
    pub schedulers: Vec<SchedulerFacts>,
    /// The sequencer of a group that names none.
    #[schema(example = "fairshare")]
    pub default_scheduler: &'static str,
    /// The kinds of decay.
    pub decays: Vec<NamedChoice>,
    /// The algorithms that divide capacity over queues.
    pub division_algorithms: Vec<NamedChoice>,
    /// The plug-ins of reclaims.
    pub reclaim_plugins: Vec<NamedChoice>,
    /// The verdicts of plans of reclaims.
    pub reclaim_verdicts: Vec<NamedChoice>,
    /// The rules that refuse a plan or protect a workload.
    pub reclaim_rules: Vec<NamedChoice>,
    /// The states of a queue, from good to bad.
    pub queue_states: Vec<NamedChoice>,
    /// The options of a resource group.
    pub options: Vec<OptionEntry>,
    /// The options of a division, and of the order by score. A stateless division takes the same.
    pub division_options: Vec<OptionEntry>,
    /// The options of plans of reclaims.
    pub reclaim_options: Vec<OptionEntry>,
    /// The keys of a queue besides its name.
    pub queue_keys: Vec<QueueKeyEntry>,
    /// The weight of a domain, project or user.
    pub weight: OptionEntry,
}

impl OptionEntry {
    fn new(facts: &OptionFacts, default: Value, read_by: &[&'static str]) -> Self {
        let inner = |option: &OptionFacts| Self::new(option, default.get(option.key).cloned().unwrap_or_default(), &[]);
        Self {
            key: facts.key,
            title: facts.title,
            section: None,
            kind: facts.values.kind(),
            minimum: facts.values.minimum(),
            maximum: facts.values.maximum(),
            decimals: facts.values.decimals(),
            unset: facts.unset,
            unit: facts.unit,
            summary: facts.summary,
            choices: facts.values.choices(),
            read_by: read_by.to_vec(),
            options: facts.values.options().iter().map(inner).collect(),
            default,
        }
    }

    /// The options of a part of an object, with the defaults of that part.
    fn of_part<P: FlatPart>(read_by: &[&'static str]) -> Vec<Self> {
        Self::of_facts(&P::facts(), &serde_json::to_value(P::default()).unwrap_or_default(), read_by)
    }

    fn of_facts(facts: &[OptionFacts], defaults: &Value, read_by: &[&'static str]) -> Vec<Self> {
        let default = |option: &OptionFacts| defaults.get(option.key).cloned().unwrap_or_default();
        facts.iter().map(|option| Self::new(option, default(option), read_by)).collect()
    }
}

/// The options of all algorithms and of the order by score, in the order of the registries.
fn division_options() -> Vec<OptionEntry> {
    let defaults = serde_json::to_value(ReclaimOptions::default()).unwrap_or_default();
    let of_algorithms = algorithm_options()
        .into_iter()
        .flat_map(|(algorithm, facts)| OptionEntry::of_facts(&facts, &defaults, &[algorithm]));
    of_algorithms.chain(OptionEntry::of_part::<ScoreOptions>(&[])).collect()
}

impl RuleFacts {
    pub fn collect() -> Self {
        let scheduler = |sequencer: Sequencer| SchedulerFacts {
            name: sequencer.name(),
            summary: sequencer.summary(),
            progressive: sequencer.progressive().is_some(),
            queues: sequencer.takes_turns(),
        };
        let defaults = FairShareOptions::default();
        let option = |option: &crate::options::GroupOption| OptionEntry {
            section: Some(option.section),
            ..OptionEntry::new(&option.facts, option.get(&defaults), &[])
        };
        let queue_key = |facts: crate::queues::QueueKeyFacts| QueueKeyEntry {
            key: facts.key,
            kind: facts.values.kind(),
            minimum: facts.values.minimum(),
            maximum: facts.values.maximum(),
            decimals: facts.values.decimals(),
            default: facts.default_value(),
            choices: facts.values.choices(),
        };
        let weight = OptionFacts::new(
            "weight",
            "Weight",
            OptionValues::Weight,
            "What entitles a domain, a project or a user to usage, compared with its siblings.",
        )
        .unset("the default weight of the group");
        Self {
            schedulers: Sequencer::all().map(scheduler).collect(),
            default_scheduler: Sequencer::DEFAULT_NAME,
            decays: RegisteredDecay::choices(),
            division_algorithms: algorithm_choices(),
            reclaim_plugins: plugins::plugin_choices(),
            reclaim_verdicts: ReclaimVerdict::choices(),
            reclaim_rules: ReclaimRule::choices(),
            queue_states: QueueState::choices(),
            options: group_options().iter().map(option).collect(),
            division_options: division_options(),
            reclaim_options: OptionEntry::of_part::<PlanOptions>(&[]),
            queue_keys: queue_key_facts().into_iter().map(queue_key).collect(),
            weight: OptionEntry::new(&weight, Value::Null, &[]),
        }
    }
}
