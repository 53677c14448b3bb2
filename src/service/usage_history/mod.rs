//! Usage of past years from other systems: day totals without kernels, which only usage reports count.

pub mod incoming;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use incoming::HistoryRow;
use serde_json::json;

use super::{Caller, Error, Result, Service};
use crate::domain::bucket::DayUsage;
use crate::domain::ids::ProjectId;
use crate::domain::names::{UNKNOWN_DOMAIN, check_name};
use crate::domain::time::{Day, Timestamp};
use crate::domain::usage_dimensions::UsageDimensions;
use crate::engine::audit::AuditedChange;
use crate::engine::group::transaction::GroupTransaction;
use crate::engine::ingest::earlier::EARLIER_HISTORY;
use crate::engine::ingest::foreign_owners::ForeignOwners;
use crate::engine::people::PeopleDirectory;
use crate::engine::work::run_to_completion;
use crate::store::day_totals::{self, MemberDomain};
use crate::store::day_totals::{earlier, histories};
use crate::store::kernels::first_live_start;
use crate::store::people::{Domain, PeopleRows, Project, User};
use crate::store::retention::STEP_ROWS;

pub use crate::store::day_totals::histories::StoredHistory;

/// The number of days whose rows are removed together. Steps are small so that no other writer waits for long.
const STEP_DAYS: i32 = 31;

/// Rows of a history in a request.
#[derive(Clone, Debug)]
pub struct HistoryRows {
    pub rows: Vec<HistoryRow>,
    /// True if these rows are the last. From then on the history counts and takes no more rows.
    pub complete: bool,
}

/// The result of adding rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredHistoryCounts {
    pub stored: u64,
    /// The number of rows that were left out, because the service counts the kernels of their days itself.
    pub left_out: u64,
    /// The days of these rows.
    pub left_out_days: BTreeSet<Day>,
    /// The first day that the service has recorded.
    pub recorded_from: Option<Day>,
}

impl Service {
    /// The histories of a group by name.
    #[tracing::instrument(
        name = "service.usage_history.list",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn usage_histories(&self, caller: &Caller, group: &str) -> Result<Vec<StoredHistory>> {
        let key = self.group_for_readers(caller, group)?.key;
        Ok(histories::list(&self.reads_for(caller.client()), key).await?)
    }

    /// Adds rows to an incomplete history. Creates the history if it does not exist.
    #[tracing::instrument(
        name = "service.usage_history.put",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn put_history(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        name: String,
        rows: HistoryRows,
    ) -> Result<StoredHistoryCounts> {
        caller.require_admin()?;
        check_name(&name).map_err(|error| Error::invalid_name("/source", error))?;
        if name == EARLIER_HISTORY {
            let detail = format!("reports of kernels make the history {name:?}; give this one another name");
            return Err(Error::Conflict { code: "history_of_kernels", detail });
        }
        let foreign = ForeignOwners::new(&self.engine, &[caller.principal.groups.as_deref()]);
        let change = async move |session: &mut GroupTransaction| store_rows(session, name, rows, foreign).await;
        run_to_completion(Arc::clone(self).change(caller, group, change)).await
    }

    /// Removes a history with its rows.
    #[tracing::instrument(
        name = "service.usage_history.delete",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn delete_history(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        name: String,
        reason: Option<String>,
    ) -> Result<()> {
        caller.require_admin()?;
        let service = Arc::clone(self);
        run_to_completion(async move {
            let begin = async |session: &mut GroupTransaction| {
                let found = histories::find(session.read(), session.key(), &name).await?;
                let StoredHistory { source, .. } = found.ok_or_else(|| unknown_history(&name))?;
                histories::set_complete(session.write(), session.key(), source, false).await?;
                let (target, before) = (name.clone(), Some(json!({"source": name})));
                session
                    .audit(AuditedChange { action: "usage_history.delete", target, before, after: None, reason })
                    .await?;
                Ok((source, histories::days(session.read(), session.key(), source).await?))
            };
            let (source, days) = Arc::clone(&service).change(caller.clone(), group.clone(), begin).await?;
            let (mut from, last) = days.unwrap_or((Day::MAX, Day::MIN));
            while from <= last {
                let to = from.plus(STEP_DAYS - 1);
                let step = async |session: &mut GroupTransaction| {
                    Ok(histories::remove_days(session.write(), session.key(), source, from, to).await?)
                };
                Arc::clone(&service).change(caller.clone(), group.clone(), step).await?;
                from = to.plus(1);
            }
            loop {
                let forget = async |session: &mut GroupTransaction| {
                    Ok(earlier::forget_some(session.write(), session.key(), source, STEP_ROWS).await?)
                };
                if Arc::clone(&service).change(caller.clone(), group.clone(), forget).await? < STEP_ROWS {
                    break;
                }
            }
            let end = async |session: &mut GroupTransaction| {
                // Reports may have added rows of other days meanwhile.
                histories::remove_days(session.write(), session.key(), source, Day::MIN, Day::MAX).await?;
                Ok(histories::remove(session.write(), session.key(), source).await?)
            };
            Arc::clone(&service).change(caller, group, end).await
        })
        .await
    }
}

fn unknown_history(name: &str) -> Error {
    Error::NotFound { code: "unknown_history", detail: format!("there is no history {name:?}") }
}

async fn store_rows(
    session: &mut GroupTransaction,
    name: String,
    HistoryRows { rows, complete }: HistoryRows,
    foreign: ForeignOwners,
) -> Result<StoredHistoryCounts> {
    let key = session.key();
    let source = match histories::find(session.read(), key, &name).await? {
        Some(history) if history.is_complete => {
            let detail =
                format!("the history {name:?} is complete, and its usage counts already; it takes no more rows");
            return Err(Error::Conflict { code: "history_complete", detail });
        }
        Some(history) => history.source,
        None => histories::create(session.write(), key, &name, session.now).await?,
    };
    let recorded_from = day_totals::next_day(session.read(), key, Day::MIN).await?;
    let counted = CountedDays::of(session, &rows, recorded_from).await?;
    let (left_out, rows): (Vec<HistoryRow>, Vec<HistoryRow>) =
        rows.into_iter().partition(|row| counted.contains(row.day));
    let rows = with_domains(&session.people(), rows);
    register_people(session, &rows, &foreign).await?;
    let mut totals: BTreeMap<(Day, MemberDomain), DayUsage> = BTreeMap::new();
    for row in &rows {
        let (domain, charge_class) = (Arc::clone(&row.domain), Arc::clone(&row.charge_class));
        let place = (row.owner, UsageDimensions { domain, charge_class });
        totals.entry((row.day, place)).or_default().add_records(&row.usage, row.jobs);
    }
    histories::add(session.write(), key, source, &totals).await?;
    if complete {
        histories::set_complete(session.write(), key, source, true).await?;
        let after = Some(json!({"source": name}));
        session
            .audit(AuditedChange { action: "usage_history.put", target: name, before: None, after, reason: None })
            .await?;
    }
    let left_out_days = left_out.iter().map(|row| row.day).collect();
    let (stored, left_out) = (rows.len() as u64, left_out.len() as u64);
    Ok(StoredHistoryCounts { stored, left_out, left_out_days, recorded_from })
}

/// The days whose usage the service counts from kernels. Rows of a history for them would count twice.
struct CountedDays {
    /// Days with totals of runs, or of kernels that ended long before they were reported.
    with_totals: BTreeSet<Day>,
    /// Runs may still record days from this one on.
    open_from: Day,
}

impl CountedDays {
    async fn of(session: &GroupTransaction, rows: &[HistoryRow], recorded_from: Option<Day>) -> Result<Self> {
        let (db, key) = (session.read(), session.key());
        let mut sources = vec![day_totals::RECORDED];
        sources.extend(histories::find(db, key, EARLIER_HISTORY).await?.map(|history| history.source));
        let days = rows.iter().map(|row| row.day).min().zip(rows.iter().map(|row| row.day).max());
        let with_totals = match days {
            Some(days) => day_totals::days_with_totals(db, key, &sources, days).await?,
            None => BTreeSet::new(),
        };
        let first_live = first_live_start(db, key).await?.map_or(Day::MAX, Timestamp::day);
        // Reports of kernels may still arrive for days within a look-back.
        let look_back = session.now.day().back(session.engine().longest_look_back());
        let open_from = recorded_from.map_or(Day::MAX, |recorded| recorded.max(look_back)).min(first_live);
        Ok(Self { with_totals, open_from })
    }

    fn contains(&self, day: Day) -> bool {
        day >= self.open_from || self.with_totals.contains(&day)
    }
}

/// Sets the domain of rows that name none: the domain of the project, otherwise the first one that another row names.
fn with_domains(people: &PeopleDirectory, mut rows: Vec<HistoryRow>) -> Vec<HistoryRow> {
    let is_named = |domain: &Arc<str>| **domain != *UNKNOWN_DOMAIN;
    let mut named: BTreeMap<ProjectId, Arc<str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_named(&row.domain)) {
        named.entry(row.owner.project).or_insert_with(|| Arc::clone(&row.domain));
    }
    for row in rows.iter_mut().filter(|row| !is_named(&row.domain)) {
        let known = people.project(row.owner.project).map(|project| &project.domain_name);
        if let Some(domain) = known.filter(|domain| is_named(domain)).or_else(|| named.get(&row.owner.project)) {
            row.domain = Arc::clone(domain);
        }
    }
    rows
}

/// Registers the people that rows are the first to name. They are not added to the group, because they have no kernels
/// there.
async fn register_people(session: &mut GroupTransaction, rows: &[HistoryRow], foreign: &ForeignOwners) -> Result<()> {
    let is_empty = |people: &PeopleRows| people.domains.len() + people.projects.len() + people.users.len() == 0;
    if is_empty(&new_people(&session.people(), rows, foreign, session.now)) {
        return Ok(());
    }
    let lock = session.lock_people().await?;
    // Other processes may have registered the same people meanwhile.
    let new = new_people(&session.people(), rows, foreign, session.now);
    if is_empty(&new) { Ok(()) } else { session.save_people(lock, new).await }
}

fn new_people(people: &PeopleDirectory, rows: &[HistoryRow], foreign: &ForeignOwners, now: Timestamp) -> PeopleRows {
    let (mut domains, mut projects, mut users) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for row in rows {
        let (user, project) = (row.owner.user, row.owner.project);
        for name in [Some(&row.domain), people.project(project).map(|known| &known.domain_name)].into_iter().flatten() {
            if people.domain(name).is_none() {
                domains.entry(Arc::clone(name)).or_insert_with(|| Domain::new(Arc::clone(name), now));
            }
        }
        if let Some(known) = people.project(project) {
            let is_placed = known.domain_pinned || *known.domain_name != *UNKNOWN_DOMAIN;
            if !is_placed && *row.domain != *UNKNOWN_DOMAIN && !foreign.has_project(0, project) {
                let placed = Project { domain_name: Arc::clone(&row.domain), ..Project::clone(known) };
                projects.entry(project).or_insert(placed);
            }
        } else {
            projects.entry(project).or_insert_with(|| {
                let name = row.project.name.as_deref().filter(|name| people.project_called(name).is_none());
                let display_name = row.project.display_name.as_deref().map(Arc::from);
                let new = Project::new(project, Arc::clone(&row.domain), Timestamp::EPOCH, now);
                Project { name: name.map(Arc::from), display_name, ..new }
            });
        }
        if people.user(user).is_none() {
            users.entry(user).or_insert_with(|| {
                let name = row.user.name.as_deref().filter(|name| people.user_called(name).is_none());
                let display_name = row.user.display_name.as_deref().map(Arc::from);
                User { name: name.map(Arc::from), display_name, ..User::new(user, now) }
            });
        }
    }
    PeopleRows {
        domains: domains.into_values().collect(),
        projects: projects.into_values().collect(),
        users: users.into_values().collect(),
    }
}
