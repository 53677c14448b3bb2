//! Day totals: what runs record, whatever buckets look like, by the domain that it counted for.

use sea_orm::ConnectionTrait;
use serde_json::json;

use super::{buckets, usages};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, surely, with};
use crate::support::on_both;

/// The totals of a user as `day domain usage`.
async fn lines(f: &Fixture, user: &str) -> Vec<String> {
    let all = f.day_totals().await.into_iter().filter(|((_, (member, _)), _)| member.user.0 == id(user));
    all.map(|((day, (_, domain)), daily)| format!("{day} {domain} {}", daily.usage.to_json())).collect()
}

/// Changes the database behind the service's back.
#[expect(clippy::disallowed_methods, reason = "what no use-case can do")]
async fn sql(f: &Fixture, sql: &str) {
    f.db.store().await.write().execute_unprepared(sql).await.unwrap();
}

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

/// A kernel of another domain comes within a day, and the service starts anew before its usage is recorded once more.
async fn moved_within_a_day(db: crate::support::database::TestDb, unit: u32) {
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
        moved_within_a_day(db, 1).await;
    }

    async fn a_project_that_moves_has_a_total_in_each_domain_beside_long_buckets(db: TestDb) {
        moved_within_a_day(db, 7).await;
    }

    async fn an_older_database_gets_its_totals_from_records_and_buckets(db: TestDb) {
        let f = three_days(db, 7).await;
        let before = f.day_totals().await;
        let forget = "DELETE FROM day_totals; UPDATE resource_groups SET day_totals_made = FALSE";
        sql(&f, forget).await;
        let f = f.restart().await;
        f.tick().await;
        assert_eq!(f.day_totals().await, before);
        // Of days whose records are purged only the bucket is known, which begins on the first of them.
        f.clock.set("2026-01-26T00:00:00Z");
        f.service.heartbeat().await.unwrap();
        f.service.purge(GROUP, 1_000).await.unwrap();
        sql(&f, forget).await;
        let f = f.restart().await;
        f.tick().await;
        let ann = lines(&f, "ann").await;
        assert!(ann[0].starts_with("2026-01-10 research "), "{ann:?}");
        f.assert_conserved().await;
    }

    async fn an_audit_finds_a_wrong_total_and_a_rebuild_mends_it(db: TestDb) {
        let f = three_days(db, 1).await;
        let before = f.day_totals().await;
        for damage in [
            "UPDATE day_totals SET resource_usage = '{\"cpu\":\"1\"}'",
            "DELETE FROM day_totals",
            "UPDATE day_totals SET domain_name = 'elsewhere'",
        ] {
            sql(&f, damage).await;
            let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.unwrap();
            assert!(found.row.starts_with("day total of user:") && found.row.ends_with("2026-01-10"), "{found:?}");
            f.service.rebuild(GROUP).await.unwrap();
            assert_eq!(f.day_totals().await, before);
            f.assert_conserved().await;
        }
    }

    async fn totals_are_kept_as_long_as_buckets(db: TestDb) {
        let f = three_days(db, 1).await;
        f.clock.set("2026-01-22T00:00:00Z");
        f.tick().await;
        f.service.purge(GROUP, 11).await.unwrap();
        assert_eq!(lines(&f, "bob").await[0][..10], *"2026-01-11");
        f.assert_conserved().await;
        f.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        f.group(GROUP, &json!({})).await;
        assert!(f.day_totals().await.is_empty());
    }
}
