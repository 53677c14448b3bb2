//! Buckets are read when they are first needed.

use fairshared::domain::ids::{ProjectId, UserId};
use fairshared::domain::weight::Weight;
use fairshared::service::weights::{WeightItem, WeightTarget};
use sea_orm::ConnectionTrait;
use serde_json::json;

use super::history::{group_snapshot, other};
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel};
use crate::support::on_both;

#[expect(clippy::disallowed_methods, reason = "a table is taken away")]
async fn rename(f: &Fixture, from: &str, to: &str) {
    f.service.store().write().execute_unprepared(&format!("ALTER TABLE {from} RENAME TO {to}")).await.unwrap();
}

on_both! {
    async fn ranks_and_weights_need_no_bucket(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T00:00:00Z").await;
        f.agent("node-1", &json!({"cpu": "10"})).await;
        let start = "2026-01-13T00:00:00Z";
        f.ingest(&[kernel("k1", "ann", "ml", start), kernel("k2", "bob", "bio", start)]).await;
        f.clock.advance_seconds(3_600);
        f.tick().await;
        let ranks = group_snapshot(&f.service.group(&admin(), GROUP).unwrap());
        rename(&f, "user_usage_buckets", "taken_away").await;
        let reader = other(&f).await;
        assert_eq!(group_snapshot(&reader.group(&admin(), GROUP).unwrap()), ranks);
        let ann = WeightTarget::User(UserId(id("ann")), Some(ProjectId(id("ml"))));
        let item = WeightItem { target: ann, weight: Some(Weight::parse("2").unwrap()) };
        reader.put_weights(admin(), GROUP.into(), vec![item], None).await.unwrap();
        rename(&f, "taken_away", "user_usage_buckets").await;
        // A run reads what it adds to.
        f.clock.advance_seconds(300);
        reader.heartbeat().await.unwrap();
        assert_eq!(reader.aggregate(GROUP).await.unwrap().slices_created, 2);
        assert_eq!(reader.audit_conservation(&admin(), GROUP).await.unwrap().difference, None);
    }
}
