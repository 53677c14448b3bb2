//! `fairness` and `history`.

use serde_json::json;

use super::program::run;
use super::two_users;
use crate::support::fixture::{GROUP, id};
use crate::support::on_both;

/// The day of the fixture.
const DAY: &str = "2026-01-13..2026-01-13";

on_both! {
    async fn what_everyone_received(db: TestDb) {
        let f = two_users(db).await;
        // Kernels of 1 and 4 cores have run since 10:00.
        let report = run(&f.db, ["fairness", GROUP, "--window", DAY, "-o", "json"]).json();
        assert_eq!((&report["tier"], &report["total"], &report["active"]), (&json!("domain"), &json!(2), &json!(2)));
        let table = run(&f.db, ["fairness", GROUP, "--window", DAY]).ok();
        let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
        // The program does not trust its clock, and continues from the latest trusted time.
        let first = table.lines().next().unwrap();
        assert!(first.starts_with("2026-01-13T00:00:00Z to 2026-01-13T11:00:"), "{first}");
        assert!(first.ends_with(": 0.00% in the wrong hands, Jain's index 1, 2 active"), "{first}");
        assert_eq!(lines[1], ["DOMAIN", "USED", "ENTITLED", "RATIO", "ERROR", "ASKED", "FOR", "LESS"]);
        let mut rows = lines[2..].to_vec();
        rows.sort_unstable();
        assert_eq!(rows, [vec!["research", "20.00%", "20.00%", "1.000", "0.00%", "yes"], vec!["teaching", "80.00%", "80.00%", "1.000", "0.00%"]]);
        let csv = run(&f.db, ["fairness", GROUP, "--window", DAY, "--tier", "user", "-o", "csv"]).ok();
        assert!(csv.starts_with("domain_name,project_name,project_id,user_name,user_uuid,used_share,"), "{csv}");
        assert_eq!(csv.lines().count(), 3);
        let now = run(&f.db, ["fairness", GROUP, "--window", "now", "-o", "json"]).json();
        assert_eq!((&now["total"], &now["window"]["from"]), (&json!(2), &now["window"]["to"]));
        assert_eq!(run(&f.db, ["fairness", GROUP, "--window", "2h"]).code, Some(2));
        assert_eq!(run(&f.db, ["fairness", GROUP, "--from", "2026-01-13"]).code, Some(2));
    }

    async fn what_days_left(db: TestDb) {
        let f = two_users(db).await;
        f.clock.set("2026-01-14T00:05:00Z");
        f.tick().await;
        let days = ["--from", "2026-01-13", "--to", "2026-01-13"];
        let history = run(&f.db, [&["history", GROUP, "--user", &id("alice").to_string(), "-o", "json"], &days[..]].concat()).json();
        assert_eq!((&history["total"], &history["items"][0]["user_name"], &history["items"][0]["rank"]), (&json!(1), &json!("alice"), &json!(1)));
        let ranked = run(&f.db, [&["history", GROUP, "--by-rank", "-o", "json"], &days[..]].concat()).json();
        let ranks: Vec<_> = ranked["items"].as_array().unwrap().iter().map(|row| row["rank"].as_u64().unwrap()).collect();
        assert_eq!(ranks, [1, 2]);
        let csv = run(&f.db, [&["history", GROUP, "--tier", "domain", "-o", "csv"], &days[..]].concat()).ok();
        assert_eq!(csv.lines().next(), Some("day,domain_name,rank,fair_share_factor,effective_usage,effective_weight,entitled_share,entitled_share_of_parent"));
        assert_eq!(csv.lines().count(), 3);
        // For a person shares are in percent.
        let table = run(&f.db, [&["history", GROUP, "--tier", "domain"], &days[..]].concat()).ok();
        assert!(table.contains("50.00%") && !table.contains(" 0.5"), "{table}");
        let table = run(&f.db, ["fairness", GROUP, "--history", "--tier", "user"]).ok();
        assert!(table.contains("2026-01-13") && table.contains("user"), "{table}");
    }
}
