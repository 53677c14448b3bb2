//! Data past its retention is removed in bounded steps, for any amount of it (FAIR_SHARE §8).

use std::sync::Arc;

use fairshared::jobs::{JobRunner, JobSettings};
use fairshared::service::jobs::JobControl;
use fairshared::store::{groups, retention};
use sea_orm::{ConnectionTrait, DbBackend, Statement};
use serde_json::json;

use super::buckets::plant;
use super::number;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::on_both;

/// Rows that two steps remove.
const TWO_STEPS: u64 = retention::STEP_ROWS + 1_000;
/// Rows that three steps remove.
const MANY: u64 = 2 * retention::STEP_ROWS + 5_000;
const TABLES: [&str; 5] = ["user_usage_buckets", "day_totals", "run_times", "slice_kinds", "share_days"];
/// Columns with the day of a row.
const DAYS: [&str; 4] = ["day", "period_start", "period_end", "used_on"];
/// Days ago, long before the retention of a group.
const LONG_AGO: u32 = 2_000;

/// The columns of a table, in their order.
async fn columns(f: &Fixture, table: &str) -> Vec<String> {
    let db = f.service.store().read();
    let sql = match db.get_database_backend() {
        DbBackend::Postgres => format!(
            "SELECT column_name::text FROM information_schema.columns \
             WHERE table_schema = current_schema() AND table_name = '{table}' ORDER BY ordinal_position"
        ),
        _ => format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"),
    };
    let rows = db.query_all_raw(Statement::from_string(db.get_database_backend(), sql)).await.unwrap();
    rows.iter().map(|row| row.try_get_by_index(0).unwrap()).collect()
}

/// Copies a row of the table to each of `days` days long ago.
async fn copy_to_the_past(f: &Fixture, table: &str, days: u64) {
    let columns = columns(f, table).await;
    let value = |column: &String| match column.as_str() {
        day if DAYS.contains(&day) => format!("a.{day} - {LONG_AGO} - n.i"),
        "kind" => "a.kind + n.i".to_owned(),
        other => format!("a.{other}"),
    };
    let values: Vec<String> = columns.iter().map(value).collect();
    let sql = format!(
        "INSERT INTO {table} ({}) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {days}) \
         SELECT {} FROM (SELECT * FROM {table} LIMIT 1) a, n",
        columns.join(", "),
        values.join(", "),
    );
    plant(f, &sql).await;
}

async fn rows(f: &Fixture) -> Vec<i64> {
    let mut rows = Vec::new();
    for table in TABLES {
        rows.push(number(f.service.store(), &format!("SELECT COUNT(*) FROM {table}")).await);
    }
    rows
}

/// The number of writes of the group.
async fn sessions(f: &Fixture) -> u64 {
    let group = groups::find(f.service.store().read(), GROUP).await.unwrap().unwrap();
    group.kernels_revision.number().unsigned_abs()
}

/// A group with a kernel that ended an hour ago.
async fn one_kernel(db: TestDb) -> Fixture {
    let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
    let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T13:00:00Z"});
    f.ingest(&[with(kernel("k", "ann", "ml", "2026-01-13T12:00:00Z"), &ended)]).await;
    f.tick().await;
    f
}

on_both! {
    async fn audits_between_the_steps_of_a_purge_find_nothing(db: TestDb) {
        let f = one_kernel(db).await;
        f.clock.set("2026-03-01T14:00:00Z");
        f.service.purge(GROUP, 1_000).await.unwrap();
        for table in ["domain_usage_buckets", "project_usage_buckets", "user_usage_buckets", "day_totals"] {
            copy_to_the_past(&f, table, TWO_STEPS).await;
        }
        let difference = async || f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference;
        assert_eq!(difference().await, None);
        let service = Arc::clone(&f.service);
        let purge = tokio::spawn(async move { service.purge(GROUP, 1_000).await.unwrap().1 });
        while !purge.is_finished() {
            assert_eq!(difference().await, None);
        }
        assert_eq!(purge.await.unwrap(), 3 * TWO_STEPS);
        f.assert_conserved().await;
    }

    async fn a_purge_of_much_is_many_steps_and_leaves_what_is_kept(db: TestDb) {
        let f = one_kernel(db).await;
        let bucket = "FROM user_usage_buckets u JOIN resource_groups g ON g.name = u.resource_group";
        let columns = columns(&f, "share_days").await;
        let some = format!("INSERT INTO share_days ({}) SELECT g.group_key, u.period_start, 2, u.user_uuid, u.project_id, \
                            '', 1, 0.5, 0.5, '1', 0.5, 0.5 {bucket}", columns.join(", "));
        plant(&f, &some).await;
        let kept = rows(&f).await;
        for table in TABLES {
            copy_to_the_past(&f, table, MANY).await;
        }
        // Kinds go with the records that had them: at least one record is past the look-back.
        f.clock.set("2026-03-01T14:00:00Z");
        let before = sessions(&f).await;
        let runner = JobRunner::new(Arc::clone(&f.service), JobSettings::default());
        let runs = runner.run_now("purge".into(), Some(GROUP.into())).await.unwrap().unwrap();
        assert_eq!((runs[0].status.as_str(), &runs[0].counts["buckets"]), ("succeeded", &json!(MANY)), "{:?}", runs[0]);
        assert_eq!(runs[0].counts["share_days"], MANY);
        // The kernel's run time and the kind of its record are past the look-back too; the day of its shares is kept.
        let gone = |at: usize| i64::from(["run_times", "slice_kinds"].contains(&TABLES[at]));
        let left: Vec<i64> = kept.iter().enumerate().map(|(at, rows)| rows - gone(at)).collect();
        assert_eq!(rows(&f).await, left);
        // Kinds, run times, and buckets with their day totals go one after the other, each in three steps.
        assert!(sessions(&f).await - before >= 3 * (MANY / retention::STEP_ROWS + 1), "a table went at once");
        if f.service.store().backend() == DbBackend::Sqlite {
            assert_eq!(number(f.service.store(), "SELECT freelist_count FROM pragma_freelist_count").await, 0);
        }
    }
}
