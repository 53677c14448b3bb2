//! Day totals: the recorded usage by the domain that it counted for, for any length of buckets.

use fairshared::store::day_totals::first_day;
use serde_json::json;

use super::buckets::plant;
use super::history::other;
use super::partitions::texts;
use super::{buckets, number, usages};
use crate::support::database;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, surely, with};
use crate::support::on_both;

/// The totals of a user as `day domain usage`.
async fn lines(f: &Fixture, user: &str) -> Vec<String> {
    let all = f.day_totals().await.into_iter().filter(|((_, (member, _)), _)| member.user.0 == id(user));
    all.map(|((day, (_, domain)), daily)| format!("{day} {domain} {}", daily.usage.to_json())).collect()
}

/// The number of totals with rows, and the number of projects and days whose totals follow from buckets.
async fn stored(f: &Fixture) -> (i64, i64) {
    let count = async |table: &str| number(f.service.store(), &format!("SELECT COUNT(*) FROM {table}")).await;
    (count("day_totals").await, count("bucket_domains").await)
}

/// Writes rows for totals that follow from buckets.
const TWICE: &str = "INSERT INTO day_totals (group_key, day, user_uuid, project_id, domain_name, source, resource_usage, records) \
    SELECT group_key, day, user_uuid, project_id, domain_name, 0, resource_usage, records FROM bucket_totals";

/// Two kernels over three days, with buckets of `unit` days.
async fn three_days(db: crate::support::database::TestDb, unit: u32) -> Fixture {
    let f = Fixture::new(db, "2026-01-10T00:00:00Z").await;
    f.options(&json!({"decay_unit_days": unit, "lookback_days": 7})).await;
    f.ingest(&[kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z"), kernel("k2", "bob", "ml", "2026-01-11T00:00:00Z")])
        .await;
    for day in 10..13 {
        for hour in [8, 16] {
            f.clock.set(&format!("2026-01-{day}T{hour:02}:00:00Z"));
            f.tick().await;
        }
    }
    f
}

/// A kernel of another domain is reported within a day, and the service restarts before its usage is recorded again.
async fn moved_within_a_day(db: crate::support::database::TestDb, unit: u32) -> Fixture {
    let f = three_days(db, unit).await;
    let moved = json!({"domain_name": "teaching"});
    f.ingest(&[with(kernel("k3", "ann", "ml", "2026-01-12T16:00:00Z"), &moved)]).await;
    f.clock.set("2026-01-12T18:00:00Z");
    f.tick().await;
    let f = f.restart().await;
    f.clock.set("2026-01-12T20:00:00Z");
    f.tick().await;
    let last_day = lines(&f, "ann").await.split_off(2);
    let sum = |domain: &str, seconds: &str| format!("2026-01-12 {domain} {}", usages(seconds));
    assert_eq!(last_day, [sum("research", "72000"), sum("teaching", "14400")]);
    f.assert_conserved().await;
    f
}

/// Damages the stored totals of three days in several ways, one after the other: audits find each damage, and a rebuild
/// repairs it.
async fn mended(f: &Fixture, damage: &[&str]) {
    let (before, kept) = (f.day_totals().await, stored(f).await);
    for damage in damage {
        plant(f, damage).await;
        let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.unwrap();
        assert!(found.row.starts_with("day total of user:") && found.row.ends_with("2026-01-10"), "{found:?}");
        f.service.rebuild(GROUP).await.unwrap();
        assert_eq!((f.day_totals().await, stored(f).await), (before.clone(), kept));
        f.assert_conserved().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bucket_finds_its_domain_and_no_project_reads_the_buckets_of_everyone() {
    let db = database::postgres().await;
    let sql = "EXPLAIN SELECT day FROM bucket_totals WHERE group_key = 1 AND day BETWEEN 20000 AND 20030";
    let plan = texts(db.store().await.read(), sql).await.join("\n");
    assert!(plan.contains("project_id = b.project_id"), "{plan}");
}

on_both! {
    async fn every_day_has_its_total_whatever_the_buckets(db: TestDb) {
        let f = three_days(db, 7).await;
        let of = |day: &str, seconds: &str| format!("{day} research {}", usages(seconds));
        assert_eq!(
            lines(&f, "ann").await,
            [of("2026-01-10", "64800"), of("2026-01-11", "86400"), of("2026-01-12", "57600")]
        );
        assert_eq!(buckets(&f, "ann", "ml").await, ["2026-01-10..2026-01-12 208800"]);
        // A late end takes back what lies behind it: a part of one day, and all of another.
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-11T12:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await, [of("2026-01-10", "64800"), of("2026-01-11", "43200")]);
        f.assert_conserved().await;
    }

    async fn a_project_that_moves_has_a_total_in_each_domain(db: TestDb) {
        let f = moved_within_a_day(db, 1).await;
        // On the last day the totals of all users in the project have rows; those of the other days follow from buckets.
        assert_eq!(stored(&f).await, (3, 2));
        assert_eq!(lines(&f, "bob").await[1], format!("2026-01-12 research {}", usages("72000")));
    }

    async fn another_process_ends_what_buckets_tell(db: TestDb) {
        let f = three_days(db, 1).await;
        let second = other(&f).await;
        f.ingest(&[with(kernel("k3", "ann", "ml", "2026-01-12T16:00:00Z"), &json!({"domain_name": "teaching"}))]).await;
        f.clock.set("2026-01-12T18:00:00Z");
        second.aggregate(GROUP).await.unwrap();
        assert_eq!(stored(&f).await, (3, 2));
        // The first process knew that totals of the day follow from buckets.
        f.clock.set("2026-01-12T20:00:00Z");
        f.tick().await;
        assert_eq!(stored(&f).await, (3, 2));
        f.clock.set("2026-01-12T22:00:00Z");
        second.aggregate(GROUP).await.unwrap();
        let sum = |domain: &str, seconds: &str| format!("2026-01-12 {domain} {}", usages(seconds));
        assert_eq!(lines(&f, "ann").await[2..], [sum("research", "79200"), sum("teaching", "21600")]);
        f.assert_conserved().await;
    }

    async fn buckets_of_one_day_tell_the_totals(db: TestDb) {
        let f = three_days(db, 1).await;
        let of = |day: &str, seconds: &str| format!("{day} research {}", usages(seconds));
        let whole = [of("2026-01-10", "64800"), of("2026-01-11", "86400"), of("2026-01-12", "57600")];
        assert_eq!(lines(&f, "ann").await, whole);
        assert_eq!(stored(&f).await, (0, 3));
        // Usage that is removed from a bucket is removed from the total, and a bucket without usage has no total.
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-11T12:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await, [of("2026-01-10", "64800"), of("2026-01-11", "43200")]);
        // Usage that is reported late is added to the bucket of its day; in another domain it gives that day rows.
        let late = |name: &str, domain: &str| {
            let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T02:00:00Z", "domain_name": domain});
            with(kernel(name, "ann", "ml", "2026-01-10T01:00:00Z"), &ended)
        };
        f.ingest(&[late("k3", "research")]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await[0], of("2026-01-10", "68400"));
        assert_eq!(stored(&f).await, (0, 3));
        f.ingest(&[late("k4", "teaching")]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await[..2], [of("2026-01-10", "68400"), format!("2026-01-10 teaching {}", usages("3600"))]);
        assert_eq!(stored(&f).await, (2, 2));
        f.assert_conserved().await;
    }

    async fn totals_stand_while_buckets_get_longer_and_shorter(db: TestDb) {
        let f = moved_within_a_day(db, 1).await;
        let before = f.day_totals().await;
        f.options(&json!({"decay_unit_days": 7})).await;
        assert_eq!(f.day_totals().await, before);
        assert_eq!(stored(&f).await, (6, 0));
        f.assert_conserved().await;
        // Buckets of both kinds lie in the day to come, and its project is new to it.
        f.clock.set("2026-01-13T10:00:00Z");
        f.ingest(&[kernel("k4", "cem", "ml", "2026-01-13T08:00:00Z")]).await;
        f.tick().await;
        f.options(&json!({"decay_unit_days": 1})).await;
        f.assert_conserved().await;
        f.clock.set("2026-01-13T12:00:00Z");
        f.tick().await;
        let after = f.day_totals().await;
        assert!(before.iter().filter(|((day, _), _)| &*day.to_string() < "2026-01-12").all(|(place, daily)| after[place] == *daily));
        assert_eq!(lines(&f, "cem").await, [format!("2026-01-13 research {}", usages("14400"))]);
        f.assert_conserved().await;
    }

    async fn a_migration_leaves_to_buckets_what_they_tell(db: TestDb) {
        let f = moved_within_a_day(db, 1).await;
        let store = f.service.store().clone();
        let (before, kept) = (f.day_totals().await, stored(&f).await);
        let rows = async || number(&store, "SELECT COUNT(*) FROM day_totals").await;
        for _ in 0..2 {
            database::take_back(&store, "m0017_bucket_domains").await;
            assert_eq!(rows().await, 6);
            store.migrate_up().await.unwrap();
            assert_eq!((f.day_totals().await, stored(&f).await), (before.clone(), kept));
        }
        database::take_back(&store, "m0017_bucket_domains").await;
        // A bucket of several days equals no total, and if one total of a project differs from its bucket, all totals of the
        // project remain rows.
        let bob_has_long = "UPDATE user_usage_buckets SET decay_unit_days = 7 WHERE \
             period_start = (SELECT MIN(period_start) + 1 FROM user_usage_buckets) AND \
             user_uuid = (SELECT user_uuid FROM user_usage_buckets ORDER BY user_uuid LIMIT 1)";
        let another = "UPDATE day_totals SET records = records + 1 WHERE day = (SELECT MIN(day) FROM day_totals)";
        for sql in [bob_has_long, another] {
            plant(&f, sql).await;
        }
        store.migrate_up().await.unwrap();
        assert_eq!(stored(&f).await, (1 + 1 + 3, 1));
        let after = f.day_totals().await;
        let others = before.iter().filter(|(place, daily)| after[*place] != **daily).count();
        assert_eq!((after.len(), others), (before.len(), 1));
    }

    async fn a_project_that_moves_has_a_total_in_each_domain_beside_long_buckets(db: TestDb) {
        moved_within_a_day(db, 7).await;
    }

    async fn an_older_database_gets_its_totals_from_records_and_buckets(db: TestDb) {
        let f = three_days(db, 7).await;
        let before = f.day_totals().await;
        let forget = "DELETE FROM day_totals; DELETE FROM bucket_domains; UPDATE resource_groups SET day_totals_made = FALSE";
        plant(&f, forget).await;
        let f = f.restart().await;
        f.tick().await;
        assert_eq!(f.day_totals().await, before);
        // For days whose records are purged only the bucket is known, which begins on the first of them.
        f.clock.set("2026-01-26T00:00:00Z");
        f.service.heartbeat().await.unwrap();
        f.service.purge(GROUP, 1_000).await.unwrap();
        plant(&f, forget).await;
        let f = f.restart().await;
        f.tick().await;
        let ann = lines(&f, "ann").await;
        assert!(ann[0].starts_with("2026-01-10 research "), "{ann:?}");
        f.assert_conserved().await;
    }

    async fn an_audit_finds_a_wrong_total_and_a_rebuild_mends_it(db: TestDb) {
        let f = three_days(db, 7).await;
        let damage = [
            "UPDATE day_totals SET resource_usage = '{\"cpu\":\"1\"}'",
            "DELETE FROM day_totals",
            "UPDATE day_totals SET domain_name = 'elsewhere'",
        ];
        mended(&f, &damage).await;
    }

    async fn an_audit_finds_a_wrong_domain_of_buckets_and_a_rebuild_mends_it(db: TestDb) {
        let f = three_days(db, 1).await;
        let damage = [
            "UPDATE bucket_domains SET domain_name = 'elsewhere'",
            "DELETE FROM bucket_domains",
            TWICE,
        ];
        mended(&f, &damage).await;
    }

    async fn a_run_goes_on_where_a_total_is_in_two_places(db: TestDb) {
        let f = three_days(db, 1).await;
        plant(&f, TWICE).await;
        let moved = json!({"domain_name": "teaching"});
        f.ingest(&[with(kernel("k3", "ann", "ml", "2026-01-12T16:00:00Z"), &moved)]).await;
        f.clock.set("2026-01-12T18:00:00Z");
        f.tick().await;
        assert!(f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.is_some());
        f.service.rebuild(GROUP).await.unwrap();
        f.assert_conserved().await;
    }

    async fn what_is_taken_back_leaves_no_first_day(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T12:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z")]).await;
        f.tick().await;
        let first = async || first_day(f.service.store().read(), f.key()).await.unwrap().map(|day| day.to_string());
        assert_eq!(first().await.as_deref(), Some("2026-01-10"));
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T06:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(first().await, None);
        f.assert_conserved().await;
    }

    async fn totals_are_kept_as_long_as_buckets(db: TestDb) {
        let f = three_days(db, 1).await;
        f.clock.set("2026-01-22T00:00:00Z");
        f.tick().await;
        f.service.purge(GROUP, 11).await.unwrap();
        assert_eq!(lines(&f, "bob").await[0][..10], *"2026-01-11");
        assert_eq!(stored(&f).await, (0, 11));
        f.assert_conserved().await;
        f.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        assert_eq!(stored(&f).await, (0, 0));
        f.group(GROUP, &json!({})).await;
        assert!(f.day_totals().await.is_empty());
    }
}
