//! Day totals: the recorded usage by the domain that it counted for, for any length of buckets.

use fairshared::domain::time::Day;
use fairshared::store::day_totals::next_day;
use serde_json::json;

use super::buckets::plant;
use super::history::other;
use super::{buckets, number, usages};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, surely, with};
use crate::support::on_both;

/// The totals of a user as `day domain usage`.
async fn lines(f: &Fixture, user: &str) -> Vec<String> {
    let all = f.day_totals().await.into_iter().filter(|((_, (member, _)), _)| member.user.0 == id(user));
    all.map(|((day, (_, of)), daily)| format!("{day} {} {}", of.domain, daily.usage.to_json())).collect()
}

async fn rows(f: &Fixture) -> i64 {
    number(f.service.store(), "SELECT COUNT(*) FROM day_totals").await
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
    let before = f.day_totals().await;
    for damage in damage {
        plant(f, damage).await;
        let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.unwrap();
        assert!(found.row.starts_with("day total of user:") && found.row.ends_with("2026-01-10"), "{found:?}");
        f.service.rebuild(GROUP).await.unwrap();
        assert_eq!(f.day_totals().await, before);
        f.assert_conserved().await;
    }
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
        assert_eq!(rows(&f).await, 6);
        assert_eq!(lines(&f, "bob").await[1], format!("2026-01-12 research {}", usages("72000")));
    }

    async fn two_processes_add_to_the_totals_of_a_day(db: TestDb) {
        let f = three_days(db, 1).await;
        let second = other(&f).await;
        f.ingest(&[with(kernel("k3", "ann", "ml", "2026-01-12T16:00:00Z"), &json!({"domain_name": "teaching"}))]).await;
        f.clock.set("2026-01-12T18:00:00Z");
        second.aggregate(GROUP).await.unwrap();
        f.clock.set("2026-01-12T20:00:00Z");
        f.tick().await;
        f.clock.set("2026-01-12T22:00:00Z");
        second.aggregate(GROUP).await.unwrap();
        let sum = |domain: &str, seconds: &str| format!("2026-01-12 {domain} {}", usages(seconds));
        assert_eq!(lines(&f, "ann").await[2..], [sum("research", "79200"), sum("teaching", "21600")]);
        f.assert_conserved().await;
    }

    async fn totals_follow_late_ends_and_late_reports(db: TestDb) {
        let f = three_days(db, 1).await;
        let of = |day: &str, seconds: &str| format!("{day} research {}", usages(seconds));
        let whole = [of("2026-01-10", "64800"), of("2026-01-11", "86400"), of("2026-01-12", "57600")];
        assert_eq!(lines(&f, "ann").await, whole);
        // A day of which all usage is taken back has no total.
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-11T12:00:00Z"});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z"), &ended)]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await, [of("2026-01-10", "64800"), of("2026-01-11", "43200")]);
        // Usage that is reported late is added to the total of its day and domain.
        let late = |name: &str, domain: &str| {
            let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T02:00:00Z", "domain_name": domain});
            with(kernel(name, "ann", "ml", "2026-01-10T01:00:00Z"), &ended)
        };
        f.ingest(&[late("k3", "research")]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await[0], of("2026-01-10", "68400"));
        f.ingest(&[late("k4", "teaching")]).await;
        f.tick().await;
        assert_eq!(lines(&f, "ann").await[..2], [of("2026-01-10", "68400"), format!("2026-01-10 teaching {}", usages("3600"))]);
        f.assert_conserved().await;
    }

    async fn totals_stand_while_buckets_get_longer_and_shorter(db: TestDb) {
        let f = moved_within_a_day(db, 1).await;
        let before = f.day_totals().await;
        f.options(&json!({"decay_unit_days": 7})).await;
        assert_eq!(f.day_totals().await, before);
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

    async fn a_project_that_moves_has_a_total_in_each_domain_beside_long_buckets(db: TestDb) {
        moved_within_a_day(db, 7).await;
    }

    async fn an_older_database_gets_its_totals_from_records_and_buckets(db: TestDb) {
        let f = three_days(db, 7).await;
        let before = f.day_totals().await;
        let forget = "DELETE FROM day_totals; UPDATE resource_groups SET day_totals_made = FALSE";
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

    async fn usage_that_is_taken_back_leaves_no_day(db: TestDb) {
        let f = Fixture::new(db, "2026-01-10T12:00:00Z").await;
        f.ingest(&[kernel("k1", "ann", "ml", "2026-01-10T06:00:00Z")]).await;
        f.tick().await;
        let first = async || next_day(f.service.store().read(), f.key(), Day::MIN).await.unwrap().map(|day| day.to_string());
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
        f.assert_conserved().await;
        f.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        assert_eq!(rows(&f).await, 0);
        f.group(GROUP, &json!({})).await;
        assert!(f.day_totals().await.is_empty());
    }
}
