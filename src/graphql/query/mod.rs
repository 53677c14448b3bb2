//! Queries, one file for each kind of row.

pub mod access;
pub mod buckets;
pub mod connectors;
pub mod division;
pub mod explain;
pub mod fairness;
pub mod groups;
pub mod kernels;
pub mod nodes;
pub mod operations;
pub mod people;
pub mod queues;
pub mod shares;
pub mod simulations;
pub mod usage_records;
pub mod usage_report;
pub mod workloads;

use std::sync::Arc;

use async_graphql::{Context, MergedObject};

use super::missing_key_error;
use crate::service::{Caller, Error, Result, Service};

/// Everything that can be read. Queries are merged in groups: one long row of them would need more stack for each request.
#[derive(MergedObject, Default)]
pub struct Query(ShareQueries, PlanQueries, UsageQueries, PeopleQueries);

/// Groups, and how people stand in them.
#[derive(MergedObject, Default)]
struct ShareQueries(
    groups::GroupQuery,
    shares::ShareQuery,
    buckets::BucketQueries,
    fairness::FairnessQueries,
    explain::ExplainQueries,
);

/// Queries of running kernels, of kernels that are to run, and of simulations.
#[derive(MergedObject, Default)]
struct PlanQueries(
    queues::QueueQuery,
    division::DivisionQueries,
    simulations::SimulationQuery,
    kernels::KernelQueries,
    workloads::WorkloadQueries,
    connectors::ConnectorQueries,
);

/// Queries of usage.
#[derive(MergedObject, Default)]
struct UsageQueries(usage_records::UsageRecordQuery, usage_report::UsageReportQuery, operations::OperationsQuery);

/// People and keys, and anything by its global id.
#[derive(MergedObject, Default)]
struct PeopleQueries(people::PersonQueries, access::AccessQuery, nodes::NodeQuery);

/// The service behind the schema.
pub fn service<'a>(ctx: &Context<'a>) -> Result<&'a Arc<Service>> {
    ctx.data_opt().ok_or_else(|| Error::internal("a schema without a service"))
}

/// The caller of the request.
pub fn caller<'a>(ctx: &Context<'a>) -> Result<&'a Caller> {
    ctx.data_opt().ok_or_else(missing_key_error)
}
