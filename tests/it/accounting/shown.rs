//! An audit finds what readers are shown that is not what is stored.

use serde_json::json;

use super::buckets::plant;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn an_audit_finds_a_picture_that_is_not_what_is_stored(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T12:00:00Z").await;
        let waits = json!({"status": "PENDING", "started_at": null});
        f.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-13T12:00:00Z"), &waits)]).await;
        f.tick().await;
        f.assert_conserved().await;
        // A weight of a project that has used nothing changes no factor: only its row is another one.
        plant(&f, "UPDATE project_fair_shares SET weight = 50000").await;
        let found = f.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.unwrap();
        assert_eq!(found.row, format!("shown project:{}", id("ml")));
        let row = |weight| format!("project:{} with rank 1, factor 1 and effective weight {weight}", id("ml"));
        let (is, should) = (row("1"), row("5"));
        let said = format!(
            "readers see {is} at this place and {is} under this name, and what is stored has {should}"
        );
        assert_eq!(found.detail, said);
        // A process that loads it anew shows it.
        let f = f.restart().await;
        f.assert_conserved().await;
    }
}
