//! Queues in mutations: read like those of REST bodies, with the same faults.

use async_graphql::InputObject;
use serde_json::{Map, Value};

use super::scalars::{DateTime, Decimal, JsonString};
use super::types::{OverQuotaBy, QueueMode};
use crate::domain::division;
use crate::domain::queues::QueueConfig;
use crate::service::input::json;
use crate::service::{Error, Fault, Result};

/// A queue. What is left out, or null, has its default.
#[derive(InputObject, Debug)]
#[graphql(rename_fields = "snake_case")]
pub struct QueueInput {
    name: String,
    parent: Option<String>,
    priority: Option<i32>,
    weight: Option<Decimal>,
    mode: Option<QueueMode>,
    /// Left out: a queue keeps its age, a new one is as old as the write.
    created_at: Option<DateTime>,
    /// By slot: amounts, or `unlimited`.
    quota: Option<JsonString>,
    limit: Option<JsonString>,
    guarantee: Option<JsonString>,
    /// One number, or numbers by slot.
    over_quota_weight: Option<JsonString>,
    children_over_quota_by: Option<OverQuotaBy>,
    min_share_ratio: Option<Decimal>,
    reclaimable: Option<bool>,
    /// Seconds.
    preempt_min_runtime: Option<u64>,
    /// Seconds.
    reclaim_min_runtime: Option<u64>,
}

impl QueueInput {
    fn into_json(self) -> Map<String, Value> {
        let decimal = |value: Option<Decimal>| value.map(|d| d.0.into());
        let map = |value: Option<JsonString>| value.map(|j| j.0);
        let mode = self.mode.map(division::QueueMode::from);
        let follows = self.children_over_quota_by.map(division::OverQuotaBy::from);
        let given = [
            ("name", Some(self.name.into())),
            ("parent", self.parent.map(Value::from)),
            ("priority", self.priority.map(Value::from)),
            ("weight", decimal(self.weight)),
            ("mode", mode.and_then(|m| serde_json::to_value(m).ok())),
            ("created_at", self.created_at.map(|t| t.0.to_string().into())),
            ("quota", map(self.quota)),
            ("limit", map(self.limit)),
            ("guarantee", map(self.guarantee)),
            ("over_quota_weight", map(self.over_quota_weight)),
            ("children_over_quota_by", follows.and_then(|f| serde_json::to_value(f).ok())),
            ("min_share_ratio", decimal(self.min_share_ratio)),
            ("reclaimable", self.reclaimable.map(Value::from)),
            ("preempt_min_runtime", self.preempt_min_runtime.map(Value::from)),
            ("reclaim_min_runtime", self.reclaim_min_runtime.map(Value::from)),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// Reads the queues of a mutation; every fault is named.
pub fn read_queues(inputs: Vec<QueueInput>) -> Result<Vec<QueueConfig>> {
    let (mut queues, mut faults) = (Vec::new(), Vec::new());
    for (at, input) in inputs.into_iter().enumerate() {
        let text = Value::Object(input.into_json()).to_string();
        match json::read::<QueueConfig>(text.as_bytes()) {
            Ok(queue) => queues.push(queue),
            Err(error) => {
                let Fault { pointer, code, detail } = error.into();
                faults.push(Fault::new(format!("/queues/{at}{pointer}"), code, detail));
            }
        }
    }
    if faults.is_empty() { Ok(queues) } else { Err(Error::Invalid(faults)) }
}
