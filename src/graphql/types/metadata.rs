//! The facts about everything that can be chosen or set, as GraphQL shows them.

use async_graphql::SimpleObject;

use crate::domain::choices::NamedChoice as DomainChoice;
use crate::domain::metadata::{OptionEntry, QueueKeyEntry, SchedulerFacts as DomainScheduler};
use crate::graphql::scalars::JsonString;
use crate::service::metadata::{JobFacts, ServerMetadata as ServiceMetadata};

/// A name to choose, with its meaning.
#[derive(SimpleObject)]
#[graphql(name = "Choice", rename_fields = "snake_case")]
pub struct NamedChoiceNode {
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

impl From<DomainChoice> for NamedChoiceNode {
    fn from(DomainChoice { name, summary }: DomainChoice) -> Self {
        Self { name, summary }
    }
}

/// A sequencer, which orders pending workloads.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct SchedulerFacts {
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// True if the sequencer has a progressive order.
    pub progressive: bool,
    /// True if queues take turns.
    pub queues: bool,
}

impl From<DomainScheduler> for SchedulerFacts {
    fn from(DomainScheduler { name, summary, progressive, queues }: DomainScheduler) -> Self {
        Self { name, summary, progressive, queues }
    }
}

/// The facts about an option.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct OptionFacts {
    pub key: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The title of the options with which this one is shown; null: it stands with those around it.
    pub section: Option<&'static str>,
    /// `integer`, `decimal`, `boolean`, `text`, `time`, `choice` (one of the choices), `choices` (a list of them), `tiers` (lists of
    /// plug-ins), `amounts` (decimals by slot), `slots` (names of slots) or `object` (further options).
    #[graphql(name = "type")]
    pub kind: &'static str,
    /// The smallest legal number; null if the values are no numbers.
    pub minimum: Option<String>,
    /// The largest legal number; null if the values are no numbers.
    pub maximum: Option<String>,
    /// The largest number of decimals; null if the values are no numbers.
    pub decimals: Option<u32>,
    /// Null: the option has no default, and `unset` says what its absence means.
    pub default: Option<JsonString>,
    /// The meaning of an absent value, where there is no default.
    pub unset: Option<&'static str>,
    pub unit: Option<&'static str>,
    /// One sentence or two.
    pub summary: &'static str,
    pub choices: Vec<NamedChoiceNode>,
    /// The algorithms that read the option; empty: all of them.
    pub read_by: Vec<&'static str>,
    /// The options inside an `object`.
    pub options: Vec<OptionFacts>,
}

impl From<OptionEntry> for OptionFacts {
    fn from(option: OptionEntry) -> Self {
        Self {
            key: option.key,
            title: option.title,
            section: option.section,
            kind: option.kind,
            minimum: option.minimum,
            maximum: option.maximum,
            decimals: option.decimals,
            default: written(option.default),
            unset: option.unset,
            unit: option.unit,
            summary: option.summary,
            choices: all(option.choices),
            read_by: option.read_by,
            options: all(option.options),
        }
    }
}

/// A key of a queue.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case")]
pub struct QueueKeyFacts {
    pub key: &'static str,
    /// The kind of values, as of options.
    #[graphql(name = "type")]
    pub kind: &'static str,
    pub minimum: Option<String>,
    pub maximum: Option<String>,
    pub decimals: Option<u32>,
    /// Null: none.
    pub default: Option<JsonString>,
    pub choices: Vec<NamedChoiceNode>,
}

impl From<QueueKeyEntry> for QueueKeyFacts {
    fn from(key: QueueKeyEntry) -> Self {
        let QueueKeyEntry { key, kind, minimum, maximum, decimals, default, choices } = key;
        Self { key, kind, minimum, maximum, decimals, default: written(default), choices: all(choices) }
    }
}

/// A job of the server.
#[derive(SimpleObject)]
#[graphql(rename_fields = "snake_case", name = "JobFacts")]
pub struct JobEntry {
    pub name: &'static str,
    pub summary: &'static str,
    /// The object of one run: `group`, a resource group, or `server`, all that belongs to none.
    pub scope: &'static str,
    /// The cron expression in UTC by which the job starts by itself; null: it runs only on request.
    pub schedule: Option<String>,
}

impl From<JobFacts> for JobEntry {
    fn from(JobFacts { name, summary, scope, schedule }: JobFacts) -> Self {
        Self { name, summary, scope: scope.as_str(), schedule }
    }
}

/// Everything that can be chosen or set, with its ranges, defaults and sentences. It is made from the same tables as the checks.
#[derive(SimpleObject)]
#[graphql(name = "Metadata", rename_fields = "snake_case")]
pub struct MetadataNode {
    /// The sequencers.
    pub schedulers: Vec<SchedulerFacts>,
    /// The sequencer of a group that names none.
    pub default_scheduler: &'static str,
    /// The kinds of decay.
    pub decays: Vec<NamedChoiceNode>,
    /// The algorithms that divide capacity over queues.
    pub division_algorithms: Vec<NamedChoiceNode>,
    /// The plug-ins of reclaims.
    pub reclaim_plugins: Vec<NamedChoiceNode>,
    /// The verdicts of plans of reclaims.
    pub reclaim_verdicts: Vec<NamedChoiceNode>,
    /// The rules that refuse a plan or protect a workload.
    pub reclaim_rules: Vec<NamedChoiceNode>,
    /// The states of a queue, from good to bad.
    pub queue_states: Vec<NamedChoiceNode>,
    /// The options of a resource group.
    pub options: Vec<OptionFacts>,
    /// The options of a division, and of the order by score. A stateless division takes the same.
    pub division_options: Vec<OptionFacts>,
    /// The options of plans of reclaims.
    pub reclaim_options: Vec<OptionFacts>,
    /// The keys of a queue besides its name.
    pub queue_keys: Vec<QueueKeyFacts>,
    /// The weight of a domain, project or user.
    pub weight: OptionFacts,
    /// The jobs of the server.
    pub jobs: Vec<JobEntry>,
    /// The roles that a key can have.
    pub roles: Vec<NamedChoiceNode>,
    /// The actions of the audit log, each in a word or two.
    pub audit_actions: Vec<NamedChoiceNode>,
    /// The windows of fairness that end now, from short to long.
    pub fairness_windows: Vec<String>,
    /// The time for which a person who signs in on the web pages stays signed in, in seconds.
    pub session_seconds: i64,
}

impl From<ServiceMetadata> for MetadataNode {
    fn from(
        ServiceMetadata { rules, jobs, roles, audit_actions, fairness_windows, session_seconds }: ServiceMetadata,
    ) -> Self {
        Self {
            schedulers: all(rules.schedulers),
            default_scheduler: rules.default_scheduler,
            decays: all(rules.decays),
            division_algorithms: all(rules.division_algorithms),
            reclaim_plugins: all(rules.reclaim_plugins),
            reclaim_verdicts: all(rules.reclaim_verdicts),
            reclaim_rules: all(rules.reclaim_rules),
            queue_states: all(rules.queue_states),
            options: all(rules.options),
            division_options: all(rules.division_options),
            reclaim_options: all(rules.reclaim_options),
            queue_keys: all(rules.queue_keys),
            weight: rules.weight.into(),
            jobs: all(jobs),
            roles: all(roles),
            audit_actions: all(audit_actions),
            fairness_windows,
            session_seconds,
        }
    }
}

fn all<T: From<F>, F>(found: Vec<F>) -> Vec<T> {
    found.into_iter().map(T::from).collect()
}

fn written(default: serde_json::Value) -> Option<JsonString> {
    (!default.is_null()).then_some(JsonString(default))
}
