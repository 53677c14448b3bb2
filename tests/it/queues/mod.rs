//! Queues, demand, divisions and plans of live groups, on real databases.

mod closed_loop;
mod configuration;
mod demand;
mod history;
mod plans;
mod sequencing;
mod together;
mod traces;

use fairshared::domain::queues::QueueConfig;
use fairshared::service::division::GroupDivision;
use fairshared::service::queues::QueuesWrite;
use serde_json::Value;

use crate::support::fixture::{Fixture, GROUP, admin};

fn config(value: &Value) -> QueueConfig {
    serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{value}: {e}"))
}

/// Makes these the only queues.
async fn set_queues(f: &Fixture, queues: &Value) {
    let queues = queues.as_array().unwrap().iter().map(config).collect();
    let write = QueuesWrite { queues, prune: true, ..QueuesWrite::default() };
    f.service.put_queues(admin(), GROUP.to_owned(), write).await.unwrap();
}

async fn division(f: &Fixture) -> GroupDivision {
    f.service.division(&admin(), GROUP, false).await.unwrap()
}
