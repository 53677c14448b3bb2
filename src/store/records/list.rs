//! The records of a user, a project, a domain or a whole group in a period, by kernel, then by time, one window at a time.

use std::fmt::Write;

use sea_orm::{ConnectionTrait, FromQueryResult, Statement, Value};
use uuid::Uuid;

use super::{JOIN_KERNEL_AND_KIND, ROW_COLUMNS, StoredRecord, chains_sql, end_of_last, read};
use crate::domain::ids::{GroupKey, ProjectId, UserId};
use crate::domain::time::TimeSpan;
use crate::store::Result;
use crate::store::cursors::CURSOR_SQL;
use crate::store::key_list::{KeyPage, KeyWindow};

/// The conditions of a list of records.
#[derive(Clone, Debug)]
pub struct RecordFilter {
    pub user: Option<UserId>,
    pub project: Option<ProjectId>,
    /// The domain for which the records count; the project may have been in another one since.
    pub domain: Option<String>,
    pub span: TimeSpan,
}

/// A kernel and the start of a record.
pub type RecordPosition = (Uuid, i64);

/// The values of a statement, numbered from $1 on; the first is the group.
struct StatementValues(Vec<Value>);

impl StatementValues {
    fn bind(&mut self, value: impl Into<Value>) -> String {
        self.0.push(value.into());
        format!("${}", self.0.len())
    }
}

/// The condition that the record `of` overlaps the period and counts for the domain, if one is given. A record ends at
/// midnight at the latest.
fn overlap_condition(of: &str, filter: &RecordFilter, values: &mut StatementValues) -> String {
    let (from, to) = (values.bind(filter.span.start.micros()), values.bind(filter.span.end.micros()));
    let midnight = values.bind(filter.span.end.midnight().micros());
    let period = format!("{of}.period_end > {from} AND {of}.period_end <= {midnight} AND {of}.period_start < {to}");
    format!("{of}.group_key = $1 AND {period}{}", of_domain(of, filter, values))
}

/// The condition that the record `of` counts for the domain, if one is given, as the end of a longer condition.
fn of_domain(of: &str, filter: &RecordFilter, values: &mut StatementValues) -> String {
    let Some(domain) = &filter.domain else { return String::new() };
    let domain = values.bind(domain.as_str());
    format!(" AND {of}.kind IN (SELECT kind FROM slice_kinds WHERE group_key = $1 AND domain_name = {domain})")
}

/// A query of the kernels that may have records in the period, with the range of those records. The last of them ends with
/// the kernel's usage, but at the latest with the last day of the period, because records end at midnight.
fn kernels(filter: &RecordFilter, values: &mut StatementValues) -> String {
    let (from, to) = (values.bind(filter.span.start.micros()), values.bind(filter.span.end.micros()));
    let midnight = values.bind(filter.span.end.midnight().micros());
    // Writing to a string cannot fail.
    let mut kernels = format!(
        "SELECT t.kernel_key, t.kernel_id, t.after_micros, \
         CASE WHEN t.recorded < {midnight} THEN t.recorded ELSE {midnight} END AS until_micros FROM (\
         SELECT k.kernel_key, k.kernel_id, CASE WHEN k.started_at > {from} THEN k.started_at ELSE {from} END AS after_micros, \
         COALESCE(CASE WHEN kernel_cursors.kernel_key IS NULL THEN k.terminated_at ELSE {CURSOR_SQL} END, 0) AS recorded \
         FROM kernels k JOIN resource_groups ON resource_groups.group_key = k.group_key \
         LEFT JOIN kernel_cursors ON kernel_cursors.kernel_key = k.kernel_key WHERE k.group_key = $1 \
         AND k.started_at < {to} AND (k.terminated_at IS NULL OR k.terminated_at > {from})"
    );
    let whose =
        [("user_uuid", filter.user.map(|user| user.0)), ("project_id", filter.project.map(|project| project.0))];
    for (column, id) in whose {
        if let Some(id) = id {
            let _ = write!(kernels, " AND k.{column} = {}", values.bind(id));
        }
    }
    if filter.domain.is_some() {
        let counts = overlap_condition("c", filter, values);
        let _ = write!(kernels, " AND k.kernel_key IN (SELECT c.kernel_key FROM usage_slices c WHERE {counts})");
    }
    kernels + ") t WHERE t.recorded > t.after_micros"
}

/// The number of matching records.
async fn count(db: &impl ConnectionTrait, group: GroupKey, filter: &RecordFilter) -> Result<u64> {
    #[derive(FromQueryResult)]
    struct RecordCount {
        records: i64,
    }
    let mut values = StatementValues(vec![group.0.into()]);
    let sql = if filter.user.is_none() && filter.project.is_none() {
        let counts = overlap_condition("s", filter, &mut values);
        format!("SELECT COUNT(*) AS records FROM usage_slices s WHERE {counts}")
    } else {
        let kernels = kernels(filter, &mut values);
        let chains = chains_sql(
            db.get_database_backend(),
            &format!("SELECT kernel_key, after_micros, until_micros FROM ({kernels}) AS those"),
        );
        let to = values.bind(filter.span.end.micros());
        let domain = of_domain("s", filter, &mut values);
        format!("{chains} SELECT COUNT(*) AS records FROM chain s WHERE s.period_start < {to}{domain}")
    };
    let statement = Statement::from_sql_and_values(db.get_database_backend(), sql, values.0);
    let found = RecordCount::find_by_statement(statement).one(db).await?;
    Ok(found.map_or(0, |count| count.records.unsigned_abs()))
}

/// One window of the records of a group.
#[tracing::instrument(name = "db.records.list", level = "debug", skip_all, fields(group = group.0), err(level = "debug"))]
pub async fn list(
    db: &impl ConnectionTrait,
    group: GroupKey,
    filter: &RecordFilter,
    window: &KeyWindow<RecordPosition>,
) -> Result<KeyPage<StoredRecord>> {
    let total = count(db, group, filter).await?;
    let mut values = StatementValues(vec![group.0.into()]);
    let kernels = kernels(filter, &mut values);
    let has_records = end_of_last!("those.kernel_key", "those.after_micros", "those.until_micros");
    let mut picked = format!(
        "SELECT kernel_key, after_micros, until_micros FROM ({kernels}) AS those WHERE {has_records} IS NOT NULL"
    );
    let mut places = String::new();
    for (place, sign) in [(&window.after, ">"), (&window.before, "<")] {
        let Some((kernel, start)) = place else { continue };
        let (kernel, start) = (values.bind(*kernel), values.bind(*start));
        let _ = write!(picked, " AND those.kernel_id {sign}= {kernel}");
        let _ = write!(
            places,
            " AND (k.kernel_id {sign} {kernel} OR (k.kernel_id = {kernel} AND s.period_start {sign} {start}))"
        );
    }
    let direction = if window.from_end { "DESC" } else { "ASC" };
    // Every kernel has a record in the window, except perhaps the one after which the window begins.
    let _ = write!(picked, " ORDER BY those.kernel_id {direction} LIMIT {}", window.offset + window.limit + 2);
    let to = values.bind(filter.span.end.micros());
    let domain = of_domain("s", filter, &mut values);
    let sql = format!(
        "{} SELECT {ROW_COLUMNS} FROM chain s {JOIN_KERNEL_AND_KIND} WHERE s.period_start < {to}{domain}{places} \
         ORDER BY k.kernel_id {direction}, s.period_start {direction} LIMIT {} OFFSET {}",
        chains_sql(db.get_database_backend(), &picked),
        window.limit + 1,
        window.offset
    );
    Ok(KeyPage::of(read(db, &sql, values.0).await?, total, window))
}
