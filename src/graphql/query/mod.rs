//! Queries, one file for each kind of row.

pub mod buckets;
pub mod division;
pub mod groups;
pub mod nodes;
pub mod operations;
pub mod people;
pub mod queues;
pub mod shares;
pub mod simulations;
pub mod usage_records;

use std::sync::Arc;

use async_graphql::{Context, MergedObject};

use super::anonymous;
use crate::service::{Caller, Error, Result, Service};

/// Everything that can be read.
#[derive(MergedObject, Default)]
pub struct Query(
    groups::GroupQuery,
    shares::ShareQuery,
    buckets::BucketQuery,
    operations::OperationsQuery,
    queues::QueueQuery,
    division::DivisionQuery,
    nodes::NodeQuery,
    simulations::SimulationQuery,
    people::PeopleQuery,
    usage_records::UsageRecordQuery,
);

/// The service behind the schema.
pub fn service<'a>(ctx: &Context<'a>) -> Result<&'a Arc<Service>> {
    ctx.data_opt().ok_or_else(|| Error::internal("a schema without a service"))
}

/// Who asks.
pub fn caller<'a>(ctx: &Context<'a>) -> Result<&'a Caller> {
    ctx.data_opt().ok_or_else(anonymous)
}
