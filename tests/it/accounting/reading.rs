//! The database as people read it with SQL, by the names of its tables and views.

use serde_json::{Value, json};

use super::partitions::texts;
use super::weights::{of_user, set};
use crate::support::fixture::{Fixture, GROUP, id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn a_person_reads_factors_usage_and_records_with_sql(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T12:00:01.5Z"});
        f.ingest(&[
            with(with(kernel("k1", "alice", "ml", "2026-01-13T12:00:00Z"), &ended), &json!({"charge_class": "high"})),
            kernel("k2", "bob", "ml", "2026-01-13T13:59:00Z"),
        ]).await;
        f.tick().await;
        set(&f, &[(of_user("alice", Some("ml")), Some("2.5"))]).await.unwrap();
        let store = f.service.store();
        let read = async |sql: &str| texts(store.read(), sql).await;
        // The weight of a user in a project, in ten-thousandths, and the factor that goes with it.
        let factor = "SELECT CAST(s.weight AS TEXT) || ' ' || CASE WHEN s.fair_share_factor BETWEEN 0.9 AND 1 THEN 'near 1' END \
                      FROM user_fair_shares s WHERE s.resource_group = 'gpu-cluster' AND s.weight IS NOT NULL";
        assert_eq!(read(factor).await, ["25000 near 1"]);
        // The usage of a project in a week.
        let week = format!(
            "SELECT CAST(day AS TEXT) || ' ' || domain_name || ' ' || charge_class || ' ' || records FROM usage_days \
             WHERE resource_group = '{GROUP}' AND CAST(project_id AS TEXT) = '{}' AND CAST(day AS TEXT) BETWEEN '2026-01-07' AND '2026-01-13' \
             ORDER BY charge_class", id("ml")
        );
        let days = read(&week).await;
        assert_eq!(days, ["2026-01-13 research  1", "2026-01-13 research high 1"]);
        // The records of a kernel.
        let records = format!(
            "SELECT CAST(period_end AS TEXT) || '|' || CAST(resource_usage AS TEXT) FROM kernel_usage_records \
             WHERE CAST(kernel_id AS TEXT) = '{}' AND charge_class = 'high' ORDER BY period_start", id("k1")
        );
        let records = read(&records).await;
        let (end, usage) = records[0].split_once('|').unwrap();
        assert!(end.replace('T', " ").starts_with("2026-01-13 12:00:01.5"), "{end}");
        let usage: Value = serde_json::from_str(usage).unwrap();
        assert_eq!((records.len(), usage["cpu"].as_f64()), (1, Some(1.5)), "{usage}");
    }
}
