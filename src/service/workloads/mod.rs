//! Workloads as users ask about them: what waits, since when, at which position, and whether it can start at all.
//!
//! A workload is not stored: it follows from its kernels. Those that have not ended are in memory, as plans need them
//! (`group/live_kernels`), so that a list of them needs the database only for the numbers of members that have ended. Workloads of
//! which all members have ended are read from the database page by page.
//!
//! Positions follow from the group's order of everything that waits and can ever start. They are calculated for each
//! request, because the order depends on the present time. The reasons why workloads wait are those of a scheduling cycle
//! (`cycle_plans`).

pub mod answer;
pub(in crate::service) mod ended;
pub(in crate::service) mod ranked;

use std::collections::HashMap;

use self::answer::WorkloadItem;
use self::ranked::{RankedWorkload, rank_workloads};
use super::input::page::{CursorKey, Page, PageWindow, cut_window};
use super::reported_workloads::{assessed_workloads, find_workload};
use super::{Caller, Error, Result, Service};
use crate::domain::cycle::WaitReason;
use crate::domain::ids::{ProjectId, UserId};
use crate::domain::time::{MICROS_PER_SECOND, Timestamp};
use crate::domain::workloads::WorkloadStatus;
use crate::service::visible_group::VisibleGroup;
use crate::store;

/// The conditions of a list of workloads.
#[derive(Clone, Debug)]
pub struct WorkloadFilter {
    pub status: WorkloadStatus,
    pub domain: Option<String>,
    pub project: Option<ProjectId>,
    pub user: Option<UserId>,
    /// The queue that workloads count for.
    pub queue: Option<String>,
    pub reason: Option<WaitReason>,
    /// Only workloads that have waited for more than this, in seconds.
    pub waiting_longer_than: Option<u64>,
}

/// The order of a list of workloads. Those without the value come last; equal ones are ordered by id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkloadOrder {
    #[default]
    Position,
    /// The first submission first.
    Submitted,
    /// The one that waits longest first.
    Waiting,
}

impl WorkloadOrder {
    pub const ALL: [Self; 3] = [Self::Position, Self::Submitted, Self::Waiting];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::Submitted => "submitted",
            Self::Waiting => "waiting",
        }
    }

    fn key(self, ranked: &RankedWorkload) -> Vec<CursorKey> {
        let number = match self {
            Self::Position => ranked.position,
            Self::Submitted => ranked.workload.submitted_at().map(ascending),
            Self::Waiting => ranked.workload.waiting_since().map(ascending),
        };
        vec![CursorKey::Number(number.unwrap_or(u64::MAX)), CursorKey::Text(ranked.workload.id.to_string())]
    }
}

/// A number that ascends with the time.
fn ascending(at: Timestamp) -> u64 {
    at.micros().cast_unsigned() ^ (1 << 63)
}

impl WorkloadFilter {
    fn admits(&self, group: &VisibleGroup, ranked: &RankedWorkload, now: Timestamp) -> bool {
        let Some(kernel) = ranked.workload.representative() else { return false };
        let domain = || group.facts().rows.project(kernel.owner.project).map(|row| &*row.domain_name);
        let reason = ranked.waiting.as_ref().map(|waiting| waiting.reason);
        let has_waited = |seconds: u64| {
            let micros = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(MICROS_PER_SECOND);
            let waited = |since: Timestamp| now.micros().saturating_sub(since.micros()) > micros;
            ranked.workload.waiting_since().is_some_and(waited)
        };
        self.user.is_none_or(|user| user == kernel.owner.user)
            && self.project.is_none_or(|project| project == kernel.owner.project)
            && self.domain.as_deref().is_none_or(|name| domain() == Some(name))
            && self.queue.as_deref().is_none_or(|queue| queue == ranked.queue)
            && self.reason.is_none_or(|wanted| reason == Some(wanted))
            && self.waiting_longer_than.is_none_or(has_waited)
    }
}

impl Service {
    /// The name of the workloads of a group in page cursors.
    pub fn workload_list(status: WorkloadStatus, order: WorkloadOrder) -> String {
        match status {
            // They have one order.
            WorkloadStatus::Ended => "workloads:ended".to_owned(),
            _ => format!("workloads:{}", order.as_str()),
        }
    }

    /// The workloads of a group that match. Keys of users see only the workloads of their own users. Workloads that have
    /// ended are ordered by their ends, the last one first.
    #[tracing::instrument(
        name = "service.workloads.workloads",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn workloads(
        &self,
        caller: &Caller,
        group: &str,
        mut filter: WorkloadFilter,
        order: WorkloadOrder,
        window: &PageWindow,
    ) -> Result<Page<WorkloadItem>> {
        if let Some(user) = filter.user {
            caller.require_user(user)?;
        }
        filter.user = caller.only_user().or(filter.user);
        let group = self.group(caller, group)?;
        if filter.status == WorkloadStatus::Ended {
            return self.ended_workloads(&group, &filter, window).await;
        }
        let now = self.clock().now();
        let kernels = self.live_kernels(group.published()).await?;
        let reasons = self.cycle_reasons(&group).await?;
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let has_status = |at: &usize| assessed.workloads[*at].status() == filter.status;
            let wanted: Vec<usize> = (0..assessed.workloads.len()).filter(has_status).collect();
            let mut all = rank_workloads(self, &group, &assessed, &reasons, now, &wanted)?;
            all.retain(|ranked| filter.admits(&group, ranked, now));
            all.sort_by_cached_key(|ranked| order.key(ranked));
            Ok(cut_window(&Self::workload_list(filter.status, order), &all, |ranked| order.key(ranked), window))
        };
        let page = self.permits.run(group.access().client(), work).await?;
        let shown: Vec<&RankedWorkload> = page.rows.iter().map(|(_, ranked)| ranked).collect();
        let ended = self.count_ended(&group, &shown).await?;
        let forecasts = self.newest_forecasts(&group).await?;
        let people = self.people();
        let Page { rows, has_next, has_previous, total } = page;
        let item = |(cursor, ranked): (_, RankedWorkload)| {
            let ended = ended.get(&*ranked.workload.id).copied().unwrap_or_default();
            let item = ranked.item(group.facts(), &people, ended)?;
            Some((cursor, item.with_forecast(forecasts.as_deref())))
        };
        Ok(Page { rows: rows.into_iter().filter_map(item).collect(), has_next, has_previous, total })
    }

    /// One workload with the ids of its kernels. `id` is that of the workload, or of one of its kernels. With `helps`, it has what
    /// would let it start earlier.
    #[tracing::instrument(
        name = "service.workloads.workload",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn workload(&self, caller: &Caller, group: &str, id: &str, helps: bool) -> Result<WorkloadItem> {
        let group = self.group(caller, group)?;
        let now = self.clock().now();
        let live = self.find_ranked(&group, id, now).await?;
        let (ranked, ended) = match live {
            Some(ranked) => {
                let ended = self.count_ended(&group, &[&ranked]).await?;
                (Some(ranked), ended.into_values().sum::<u64>())
            }
            None => (self.ended_workload(&group, id).await?, 0),
        };
        let unknown = || {
            let detail = format!("there is no workload {id:?} in {:?}", group.name);
            Error::NotFound { code: "unknown_workload", detail }
        };
        let ranked = ranked.ok_or_else(unknown)?;
        let item = ranked.item(group.facts(), &self.people(), ended).ok_or_else(unknown)?;
        // For a user's key, workloads of other users do not exist.
        caller.require_user(UserId(item.user_uuid)).map_err(|_| unknown())?;
        let helps = match helps {
            true if item.members.pending > 0 => Some(self.find_helps(&group, &item.workload_id).await?),
            true => Some(Vec::new()),
            false => None,
        };
        let item = item.with_forecast(self.newest_forecasts(&group).await?.as_deref());
        Ok(WorkloadItem { kernel_ids: Some(ranked.kernel_ids()), helps, ..item })
    }

    /// The workload that has not ended and has the id, or has a kernel with the id.
    async fn find_ranked(&self, group: &VisibleGroup, id: &str, now: Timestamp) -> Result<Option<RankedWorkload>> {
        let kernels = self.live_kernels(group.published()).await?;
        let reasons = self.cycle_reasons(group).await?;
        let work = || {
            let assessed = assessed_workloads(group.published(), &kernels);
            let wanted = find_workload(&assessed.workloads, id);
            Ok(rank_workloads(self, group, &assessed, &reasons, now, wanted.as_slice())?.pop())
        };
        self.permits.run(group.access().client(), work).await
    }

    /// The numbers of members that have ended, by workload.
    async fn count_ended(&self, group: &VisibleGroup, shown: &[&RankedWorkload]) -> Result<HashMap<String, u64>> {
        let (mut gangs, mut sessions, mut users) = (Vec::new(), Vec::new(), Vec::new());
        for kernel in shown.iter().filter_map(|ranked| ranked.workload.representative()) {
            if let Some(gang) = &kernel.gang_id {
                gangs.push(gang.as_str());
            } else {
                sessions.push(kernel.session);
                users.push(kernel.owner.user);
            }
        }
        users.sort_unstable();
        users.dedup();
        let db = self.reads_for(group.access().client());
        let of_gangs = store::workloads::count_of_gangs(&db, group.key, &gangs).await?;
        let of_sessions = store::workloads::count_of_sessions(&db, group.key, &users, &sessions).await?;
        let of_sessions = of_sessions.into_iter().map(|(session, count)| (session.to_string(), count));
        Ok(of_gangs.into_iter().chain(of_sessions).collect())
    }
}

/// The status with this name.
pub fn status_of_text(text: &str) -> Result<WorkloadStatus> {
    one_of("/status", "unknown_status", text, WorkloadStatus::ALL.map(|status| (status.as_str(), status)))
}

/// The order with this name.
pub fn order_of_text(text: &str) -> Result<WorkloadOrder> {
    one_of("/order", "invalid_value", text, WorkloadOrder::ALL.map(|order| (order.as_str(), order)))
}

/// The reason with this name.
pub fn reason_of_text(text: &str) -> Result<WaitReason> {
    text.parse().map_err(|()| {
        let names: Vec<&str> = WaitReason::choices().into_iter().map(|reason| reason.name).collect();
        Error::about("/reason", "invalid_value", format!("is not one of {}", names.join(", ")))
    })
}

fn one_of<T, const N: usize>(pointer: &str, code: &'static str, text: &str, known: [(&str, T); N]) -> Result<T> {
    let names = known.each_ref().map(|(name, _)| *name).join(", ");
    let found = known.into_iter().find(|(name, _)| *name == text).map(|(_, value)| value);
    found.ok_or_else(|| Error::about(pointer, code, format!("is not one of {names}")))
}
