//! Workloads of which all members have ended, from the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use super::ranked::RankedWorkload;
use super::{WorkloadFilter, WorkloadItem, ascending};
use crate::domain::ids::{GroupKey, KernelId, KernelKey, UserId};
use crate::domain::time::Timestamp;
use crate::domain::workloads::{WorkloadMember, WorkloadMembers, WorkloadStatus, group_members};
use crate::service::input::page::{Cursor, CursorKey, Page, PageWindow};
use crate::service::reported_workloads::queue_of;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Error, Result, Service};
use crate::store::workloads::{EndedFilter, EndedWorkload, QueueCondition};
use crate::store::{self, StoreConnection};

impl Service {
    /// A page of ended workloads, the last to end first.
    pub(super) async fn ended_workloads(
        &self,
        group: &VisibleGroup,
        filter: &WorkloadFilter,
        window: &PageWindow,
    ) -> Result<Page<WorkloadItem>> {
        let after = window.after.as_ref().map(place_of).transpose()?;
        if filter.reason.is_some() || filter.waiting_longer_than.is_some() {
            // An ended workload does not wait.
            return Ok(Page { rows: Vec::new(), has_next: false, has_previous: false, total: 0 });
        }
        let (db, limit) = (self.reads_for(group.access().client()), window.limit as usize);
        let condition = condition(group, filter);
        let (mut page, total) =
            store::workloads::ended_page(&db, group.key, &condition, after, limit as u64 + 1).await?;
        let has_next = page.len() > limit;
        page.truncate(limit);
        let mut workloads = members_of(&db, group, &page).await?;
        let now = self.clock().now();
        let people = self.people();
        // A gang may have kernels of several owners. It is that of one of them, as long as it runs and afterwards.
        let row = |ended: &EndedWorkload| {
            let workload = workloads.remove(&id_of(ended))?;
            let ranked = ranked(group, workload);
            let item = filter.admits(group, &ranked, now).then(|| ranked.item(group.facts(), &people, 0));
            Some((cursor_of(ended), item??))
        };
        let rows = page.iter().filter_map(row).collect();
        Ok(Page { rows, has_next, has_previous: after.is_some(), total })
    }

    /// The ended workload with the id, or of the kernel with the id.
    pub(super) async fn ended_workload(&self, group: &VisibleGroup, id: &str) -> Result<Option<RankedWorkload>> {
        let db = self.reads_for(group.access().client());
        let mut members = store::workloads::members_of_gangs(&db, group.key, &[id]).await?;
        let session: Option<Uuid> = id.parse().ok();
        if let Some(session) = session.filter(|_| members.is_empty()) {
            members = store::workloads::members_of_sessions(&db, group.key, None, &[session]).await?;
        }
        if let Some(kernel) = session.filter(|_| members.is_empty()) {
            members = members_beside(&db, group, KernelId(kernel)).await?;
        }
        Ok(group_members(members).into_iter().next().map(|workload| ranked(group, workload)))
    }
}

/// The members of ended workloads, by id.
async fn members_of(
    db: &StoreConnection,
    group: &VisibleGroup,
    page: &[EndedWorkload],
) -> Result<BTreeMap<String, WorkloadMembers>> {
    let gangs: Vec<&str> = page.iter().filter_map(|ended| ended.gang.as_deref()).collect();
    let sessions: Vec<Uuid> = page.iter().filter_map(|ended| ended.session).collect();
    let mut users: Vec<UserId> = page.iter().filter_map(|ended| ended.user).collect();
    users.sort_unstable();
    users.dedup();
    load_ended(db, group.key, &gangs, &users, &sessions).await
}

/// The members that have ended of gangs, and of sessions of these users, by workload.
pub(in crate::service) async fn load_ended(
    db: &StoreConnection,
    group: GroupKey,
    gangs: &[&str],
    users: &[UserId],
    sessions: &[Uuid],
) -> Result<BTreeMap<String, WorkloadMembers>> {
    let mut members = store::workloads::members_of_gangs(db, group, gangs).await?;
    members.extend(store::workloads::members_of_sessions(db, group, Some(users), sessions).await?);
    Ok(group_members(members).into_iter().map(|workload| (workload.id.to_string(), workload)).collect())
}

/// The ended kernels of the workload that an ended kernel belongs to.
async fn members_beside(db: &StoreConnection, group: &VisibleGroup, kernel: KernelId) -> Result<Vec<WorkloadMember>> {
    let Some(kernel) = store::kernels::find(db, group.key, kernel).await? else { return Ok(Vec::new()) };
    let report = kernel.report;
    if let Some(gang) = report.traits.gang_id.as_deref() {
        return Ok(store::workloads::members_of_gangs(db, group.key, &[gang]).await?);
    }
    let users = [report.owner.user];
    Ok(store::workloads::members_of_sessions(db, group.key, Some(&users), &[report.session.0]).await?)
}

fn ranked(group: &VisibleGroup, workload: WorkloadMembers) -> RankedWorkload {
    let queue = queue_of(group.facts(), &workload).to_owned();
    RankedWorkload { workload: Arc::new(workload), queue, position: None, waiting: None }
}

fn id_of(ended: &EndedWorkload) -> String {
    let session = || ended.session.map(|session| session.to_string()).unwrap_or_default();
    ended.gang.clone().unwrap_or_else(session)
}

fn cursor_of(ended: &EndedWorkload) -> Cursor {
    let key = vec![CursorKey::Number(ascending(ended.ended_at)), CursorKey::Number(ended.first.0.unsigned_abs())];
    Cursor::new(Service::workload_list(WorkloadStatus::Ended, super::WorkloadOrder::default()), key)
}

/// The end and the first kernel that a cursor names.
fn place_of(cursor: &Cursor) -> Result<(Timestamp, KernelKey)> {
    let [CursorKey::Number(end), CursorKey::Number(first)] = cursor.key[..] else { return Err(Error::other_cursor()) };
    let first = i64::try_from(first).map_err(|_| Error::other_cursor())?;
    Ok((Timestamp::from_micros((end ^ (1 << 63)).cast_signed()), KernelKey(first)))
}

fn condition(group: &VisibleGroup, filter: &WorkloadFilter) -> EndedFilter {
    let facts = group.facts();
    let of_queue = |queue: &String| QueueCondition {
        group: group.name.to_string(),
        queue: queue.clone(),
        projects: facts
            .rows
            .projects()
            .map(|row| row.project_id)
            .filter(|project| facts.queue_of(None, *project) == queue)
            .collect(),
    };
    let of_domain = |domain: &String| facts.rows.projects_in(domain).map(|row| row.project_id).collect();
    EndedFilter {
        user: filter.user,
        project: filter.project,
        projects_of_domain: filter.domain.as_ref().map(of_domain),
        queue: filter.queue.as_ref().map(of_queue),
    }
}
