//! Queries for jobs, their runs and the audit log.

use std::sync::Arc;

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::types::{AuditEntry, Job, JobRun, MetadataNode};
use crate::service::audit_log::AuditQuery;
use crate::service::jobs::{JobControl, RunFilter};
use crate::service::metadata::ServerMetadata as ServiceMetadata;
use crate::service::{Error, Result as ServiceResult, Service};

/// The runner of jobs.
pub fn jobs<'a>(ctx: &Context<'a>) -> ServiceResult<&'a Arc<dyn JobControl>> {
    ctx.data_opt().ok_or_else(|| Error::internal("a schema without jobs"))
}

#[derive(Default)]
pub struct OperationsQuery;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl OperationsQuery {
    /// The jobs of the service, with their schedules and last runs.
    async fn jobs(&self, ctx: &Context<'_>) -> Result<Vec<Job>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let jobs = service(ctx)?.jobs(caller(ctx)?, &**jobs(ctx)?).await?;
        guard::spend_rows(ctx, jobs.iter().map(|job| job.last_runs.len()).sum())?;
        Ok(jobs.into_iter().map(Job::from).collect())
    }

    /// Everything that can be chosen or set: names with their sentences, and options with type, range, default, unit and sentence. For
    /// every role.
    async fn metadata(&self, ctx: &Context<'_>) -> Result<MetadataNode> {
        Ok(ServiceMetadata::collect(&**jobs(ctx)?).into())
    }

    /// Runs of jobs, newest first: of a job, for a group, or only those that have ended without success.
    async fn job_runs(
        &self,
        ctx: &Context<'_>,
        job: Option<String>,
        resource_group: Option<String>,
        #[graphql(default)] failed: bool,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<JobRun>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window = PageArgs { first, last, before, after, offset }.window(Service::JOB_RUN_LIST, "")?;
        let filter = RunFilter { job: job.as_deref(), group: resource_group.as_deref(), failed };
        let page = service(ctx)?.job_runs(caller(ctx)?, &**jobs(ctx)?, filter, &window).await?;
        Ok(connect(ctx, "", page, JobRun)?)
    }

    /// Changes by people, newest first: of a group, of a kind, by an actor, of a target (alone or among other things, like
    /// `domain:research`, `option:order` or `queue:vision`), from `from` until `to` (instants, or days of which the last is
    /// included).
    async fn audit_log(
        &self,
        ctx: &Context<'_>,
        resource_group: Option<String>,
        action: Option<String>,
        actor: Option<String>,
        target: Option<String>,
        from: Option<String>,
        to: Option<String>,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<AuditEntry>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window = PageArgs { first, last, before, after, offset }.window(Service::AUDIT_LIST, "")?;
        let filter = AuditQuery { resource_group, action, actor, target, from, to }.read(&service(ctx)?.people())?;
        let page = service(ctx)?.audit_log(caller(ctx)?, &filter, &window).await?;
        Ok(connect(ctx, "", page, AuditEntry)?)
    }
}
