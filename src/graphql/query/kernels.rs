//! Queries for kernels and for gaps.

use async_graphql::{Context, Enum, Object, Result};

use super::{caller, service};
use crate::domain::kernel::KernelPhase;
use crate::graphql::connection::{FactsList, PageArgs, connect};
use crate::graphql::guard;
use crate::graphql::scalars::Uuid;
use crate::graphql::types::{KernelNode, UsageGapNode};
use crate::service::Service;
use crate::service::kernels::KernelFilter;

/// Where a kernel is in its life.
#[derive(Enum, Clone, Copy, Debug, PartialEq, Eq)]
#[graphql(rename_items = "SCREAMING_SNAKE_CASE")]
pub enum KernelStatus {
    Pending,
    Running,
    Suspended,
    Terminated,
}

impl From<KernelStatus> for KernelPhase {
    fn from(status: KernelStatus) -> Self {
        match status {
            KernelStatus::Pending => Self::Pending,
            KernelStatus::Running => Self::Running,
            KernelStatus::Suspended => Self::Suspended,
            KernelStatus::Terminated => Self::Terminated,
        }
    }
}

#[derive(Default)]
pub struct KernelQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the arguments of every list")]
impl KernelQueries {
    /// Kernels of a resource group by id; pages go forwards only.
    async fn kernels(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        status: Option<KernelStatus>,
        domain_name: Option<String>,
        project_id: Option<Uuid>,
        user_uuid: Option<Uuid>,
        first: Option<i64>,
        after: Option<String>,
    ) -> Result<FactsList<KernelNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let args = PageArgs { first, after, ..PageArgs::default() };
        let window = args.window(Service::KERNEL_LIST, &resource_group)?;
        let service = service(ctx)?;
        let filter = KernelFilter {
            user: user_uuid.map(|id| service.people().user_of_uuid(id.0)),
            project: project_id.map(|id| service.people().project_of_uuid(id.0)),
            domain: domain_name,
            phase: status.map(KernelPhase::from),
        };
        let caller = caller(ctx)?;
        let page = service.kernels(caller, &resource_group, filter, &window).await?;
        let people = service.people();
        Ok(connect(ctx, &resource_group, page, |kernel| KernelNode::new(kernel, &people, caller))?)
    }

    /// Times in which nothing served, newest first.
    async fn usage_gaps(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        first: Option<i64>,
        last: Option<i64>,
        before: Option<String>,
        after: Option<String>,
        offset: Option<i64>,
    ) -> Result<FactsList<UsageGapNode>> {
        guard::charge_rows(ctx, guard::DATABASE_LIST_ROWS)?;
        let window = PageArgs { first, last, before, after, offset }.window(Service::GAP_LIST, &resource_group)?;
        let page = service(ctx)?.gaps(caller(ctx)?, &resource_group, &window).await?;
        Ok(connect(ctx, &resource_group, page, UsageGapNode::from)?)
    }
}
