//! Shadow reports (FAIR_SHARE §13): how the order of a group and that of another scheduler agree, now and on past days.

use std::cmp::Reverse;

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::connectors::ConnectorMode;
use crate::domain::fairness::DaySpan;
use crate::domain::time::{Day, Timestamp};
use crate::service::sequence::agreement::ComparedPlace;
use crate::service::visible_group::VisibleGroup;
use crate::service::{Caller, Error, Result, Service};
use crate::store::StoreError;
use crate::store::shadow_reports::{self, ShadowComparison, ShadowDay, ShadowOwnerDay};

/// The number of days of a report that names no days.
const DEFAULT_DAYS: u32 = 31;
/// The largest number of days of a report.
const MAX_DAYS: i32 = 366;
/// The largest number of rows of owners and days in a report. An answer of GraphQL has room for this number of rows with all their fields.
const MAX_OWNER_ROWS: u64 = 50_000;

/// The agreement of a group's order with that of another scheduler, now and by day.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(example = json!({
    "cluster": "linux", "mode": "shadow",
    "latest": {
        "taken_at": "2026-01-13T12:00:00Z", "compared": 2, "same_place": 0, "kendall_tau": -1.0,
        "ours": [
            {"workload_id": "7", "user_name": "alice", "project_name": "vision", "place": 1, "current_place": 2},
            {"workload_id": "5", "user_name": "bob", "project_name": "vision", "place": 2, "current_place": 1}
        ]
    },
    "days": [{"date": "2026-01-13", "rounds": 1, "compared": 2, "same_place": 0, "kendall_tau": -1.0}],
    "owners": [
        {"user_name": "alice", "project_name": "vision", "date": "2026-01-13", "places_gained": 1},
        {"user_name": "bob", "project_name": "vision", "date": "2026-01-13", "places_gained": -1}
    ],
    "owners_left_out": 0
}))]
pub struct ShadowReport {
    /// The cluster of the last comparison.
    pub cluster: String,
    /// The mode of its connector.
    pub mode: ConnectorMode,
    pub latest: LatestComparison,
    /// The days of the range that have rounds, by date.
    pub days: Vec<ComparedDay>,
    /// The owners who gained or lost places, by date; those who gained most come first.
    pub owners: Vec<OwnerDay>,
    /// The number of owners that `owners` lacks, because it has at most 50,000 rows. Those with the most places in the range stay.
    pub owners_left_out: u64,
}

/// The last comparison.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LatestComparison {
    #[schema(value_type = String, format = DateTime)]
    pub taken_at: Timestamp,
    /// The number of workloads that were compared.
    pub compared: usize,
    /// The number of those that have the same place in both orders.
    pub same_place: usize,
    /// 1 for equal orders, -1 for an order and its reverse; `null` for fewer than two workloads.
    pub kendall_tau: Option<f64>,
    /// The first workloads of the group's order, at most 200.
    pub ours: Vec<ComparedPlace>,
}

/// The rounds of one day.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ComparedDay {
    #[schema(value_type = String, format = Date)]
    pub date: Day,
    /// The number of rounds with a comparison.
    pub rounds: u64,
    /// The sum over the rounds.
    pub compared: u64,
    /// The sum over the rounds.
    pub same_place: u64,
    /// The mean over the rounds that have one; `null`: none has.
    pub kendall_tau: Option<f64>,
}

/// The places that an owner gained on one day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct OwnerDay {
    /// The user's name, or the UUID where there is none.
    pub user_name: String,
    /// The project's name, or the UUID where there is none.
    pub project_name: String,
    #[schema(value_type = String, format = Date)]
    pub date: Day,
    /// The sum over all rounds and workloads; below 0 for a loss.
    pub places_gained: i64,
}

impl From<ShadowDay> for ComparedDay {
    fn from(day: ShadowDay) -> Self {
        let ShadowDay { day: date, rounds, compared, same_place, kendall_tau } = day;
        Self { date, rounds, compared, same_place, kendall_tau }
    }
}

impl Service {
    /// The shadow report of a group for the days from `from` to `to`, both inclusive: the last 31 unless they are given. It takes
    /// a fixed number of statements, which see one moment.
    #[tracing::instrument(
        name = "service.connectors.shadow_report",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn shadow_report(
        &self,
        caller: &Caller,
        group: &str,
        from: Option<Day>,
        to: Option<Day>,
    ) -> Result<ShadowReport> {
        let visible = self.group_for_readers(caller, group)?;
        let span = self.report_days(from, to)?;
        let moment = self.reads_for(caller.client()).begin_snapshot().await.map_err(StoreError::from)?;
        let latest = shadow_reports::find_latest(&moment, visible.key).await?;
        let latest = latest.ok_or_else(|| no_report(&visible))?;
        let days = shadow_reports::load_days(&moment, visible.key, span).await?;
        let owners = shadow_reports::load_owner_days(&moment, visible.key, span, MAX_OWNER_ROWS).await?;
        drop(moment);
        Ok(ShadowReport {
            latest: latest_comparison(&latest)?,
            cluster: latest.cluster,
            mode: latest.mode,
            days: days.into_iter().map(ComparedDay::from).collect(),
            owners: owner_days(&visible, owners.rows),
            owners_left_out: owners.left_out,
        })
    }

    fn report_days(&self, from: Option<Day>, to: Option<Day>) -> Result<DaySpan> {
        let today = self.trusted_now().day();
        if from.is_some_and(|from| from > today) {
            return Err(Error::about("/from", "in_future", format!("lies in the future: today is {today}")));
        }
        let last = to.unwrap_or(today);
        let first = from.unwrap_or_else(|| last.back(DEFAULT_DAYS - 1));
        if last < first {
            return Err(Error::about("/to", "contradiction", "lies before `from`"));
        }
        if last.days_since(first) >= MAX_DAYS {
            return Err(Error::about("/from", "out_of_range", format!("lies more than {MAX_DAYS} days before `to`")));
        }
        Ok(DaySpan { first, last })
    }
}

fn no_report(group: &VisibleGroup) -> Error {
    let detail = format!("no round has compared the order of {:?} with that of another scheduler yet", group.name);
    Error::NotFound { code: "no_shadow_report", detail }
}

fn latest_comparison(latest: &ShadowComparison) -> Result<LatestComparison> {
    let ours = serde_json::from_str(&latest.first_places);
    Ok(LatestComparison {
        taken_at: latest.taken_at,
        compared: latest.agreement.compared,
        same_place: latest.agreement.same_place,
        kendall_tau: latest.agreement.kendall_tau,
        ours: ours.map_err(|error| Error::failed("the places of a comparison cannot be read", error))?,
    })
}

/// The rows by date, gain and name. Owners have the names that the group has for them now, otherwise those of their last round.
fn owner_days(group: &VisibleGroup, rows: Vec<ShadowOwnerDay>) -> Vec<OwnerDay> {
    let known = &group.facts().rows;
    let shown = |row: ShadowOwnerDay| {
        let user = known.user(row.owner).and_then(|known| known.user_name.as_deref().map(str::to_owned));
        let project = known.project(row.owner.project);
        let project = project.and_then(|known| known.project_name.as_deref().map(str::to_owned));
        OwnerDay {
            user_name: user.unwrap_or(row.user_name),
            project_name: project.unwrap_or(row.project_name),
            date: row.day,
            places_gained: row.places_gained,
        }
    };
    let mut rows: Vec<OwnerDay> = rows.into_iter().map(shown).collect();
    rows.sort_by(|one, other| sort_key(one).cmp(&sort_key(other)));
    rows
}

fn sort_key(row: &OwnerDay) -> (Day, Reverse<i64>, &str, &str) {
    (row.date, Reverse(row.places_gained), &row.user_name, &row.project_name)
}
