//! The published state: an audit finds differences from the stored state, and a snapshot shares rows with the one before.

use std::sync::Arc;

use fairshared::engine::group::snapshots::rows::UserShare;
use serde_json::json;

use super::buckets::plant;
use super::many::name;
use super::member;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

const USERS: usize = 40;

/// The rows of all users in the snapshot.
fn rows(f: &Fixture) -> Vec<Arc<UserShare>> {
    let group = f.service.group(&admin(), GROUP).unwrap();
    let rows = &group.whole().unwrap().rows;
    (0..USERS).map(|user| Arc::clone(rows.user(member(&name(user), "ml")).unwrap())).collect()
}

on_both! {
    async fn a_picture_shares_every_row_that_did_not_change(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T12:00:00Z").await;
        f.agent("node-1", &json!({"cpu": "100"})).await;
        let started = "2026-01-13T12:00:00Z";
        let of = |user| kernel(&name(user), &name(user), "ml", started);
        let waits = json!({"status": "PENDING", "started_at": null});
        let all: Vec<_> = (0..USERS).map(|user| with(of(user), &waits)).collect();
        f.ingest(&all).await;
        f.tick().await;
        // One changes, then half of them, then all: a few rows are replaced, or all are built again.
        for running in [1, USERS / 2, USERS] {
            f.ingest(&(0..running).map(of).collect::<Vec<_>>()).await;
            let before = rows(&f);
            f.clock.advance_seconds(300);
            f.tick().await;
            let after = rows(&f);
            let shared: Vec<usize> = (0..USERS).filter(|user| Arc::ptr_eq(&before[*user], &after[*user])).collect();
            assert_eq!(shared, (running..USERS).collect::<Vec<_>>());
        }
    }

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
        // A process that loads the group again shows it.
        let f = f.restart().await;
        f.assert_conserved().await;
    }
}
