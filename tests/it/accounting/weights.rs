//! Weights and moves of projects (FAIR_SHARE §7): effective at once, removed without loss, all or nothing.

use fairshared::domain::ids::{ProjectId, UserId};
use fairshared::domain::weight::Weight;
use fairshared::service::Error;
use fairshared::service::weights::{WeightItem, WeightTarget, WeightsChanged};
use serde_json::json;

use super::history::{group_snapshot, other};
use super::user;
use crate::support::fixture::{Fixture, GROUP, admin, id, incoming, kernel, with};
use crate::support::on_both;

pub fn of_user(name: &str, project: Option<&str>) -> WeightTarget {
    WeightTarget::User(UserId(id(name)), project.map(|p| ProjectId(id(p))))
}

pub async fn set(f: &Fixture, items: &[(WeightTarget, Option<&str>)]) -> Result<WeightsChanged, Error> {
    let item = |(target, weight): &(WeightTarget, Option<&str>)| WeightItem {
        target: target.clone(),
        weight: weight.map(|w| Weight::parse(w).unwrap()),
    };
    f.service.put_weights(admin(), GROUP.into(), items.iter().map(item).collect(), None).await
}

/// Ann has used twice as much as Bob, in the same project.
async fn two_users(db: crate::support::database::TestDb) -> Fixture {
    let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
    f.agent("node", &json!({"cpu": "10"})).await;
    f.ingest(&[
        with(kernel("k1", "ann", "ml", "2026-01-13T00:00:00Z"), &json!({"occupied_slots": {"cpu": "2"}})),
        kernel("k2", "bob", "ml", "2026-01-13T00:00:00Z"),
    ])
    .await;
    f.tick().await;
    f
}

on_both! {
    async fn a_weight_changes_ranks_at_once_and_unsetting_keeps_the_rest(db: TestDb) {
        let f = two_users(db).await;
        assert_eq!((user(&f, "ann", "ml").rank, user(&f, "bob", "ml").rank), (2, 1));
        let before = user(&f, "ann", "ml").share.clone();
        let changed = set(&f, &[(of_user("ann", Some("ml")), Some("3"))]).await.unwrap();
        assert_eq!((changed.upserted, changed.deleted), (1, 0));
        assert_eq!((user(&f, "ann", "ml").rank, user(&f, "bob", "ml").rank), (1, 2));
        assert_eq!(group_snapshot(&f.service.group(&admin(), GROUP).unwrap()), group_snapshot(&other(&f).await.group(&admin(), GROUP).unwrap()));
        // The default moves only who has no weight of their own.
        f.options(&json!({"default_weight": "2"})).await;
        assert_eq!(user(&f, "ann", "ml").share.effective_weight.to_string(), "12");
        assert_eq!(user(&f, "bob", "ml").share.effective_weight.to_string(), "8");
        f.options(&json!({"default_weight": null})).await;
        let changed = set(&f, &[(of_user("ann", Some("ml")), None)]).await.unwrap();
        assert_eq!((changed.upserted, changed.deleted), (0, 1));
        assert_eq!(user(&f, "ann", "ml").share, before);
    }

    async fn a_fault_in_one_item_changes_nothing(db: TestDb) {
        let f = two_users(db).await;
        let before = group_snapshot(&f.service.group(&admin(), GROUP).unwrap());
        let refused = set(&f, &[(of_user("ann", Some("ml")), Some("3")), (of_user("nobody", None), Some("2"))]).await;
        let Err(Error::Invalid(faults)) = refused else { panic!("not refused") };
        assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/items/1/target_id", "unknown_user"));
        assert_eq!(group_snapshot(&f.service.group(&admin(), GROUP).unwrap()), before);
        assert_eq!(group_snapshot(&other(&f).await.group(&admin(), GROUP).unwrap()), before);
    }

    async fn without_a_project_every_membership_gets_the_weight(db: TestDb) {
        let f = two_users(db).await;
        f.ingest(&[kernel("k3", "ann", "bio", "2026-01-13T09:00:00Z")]).await;
        let changed = set(&f, &[(of_user("ann", None), Some("3"))]).await.unwrap();
        assert_eq!(changed.upserted, 2);
        assert_eq!(user(&f, "ann", "bio").share.weight, user(&f, "ann", "ml").share.weight);
        assert_eq!(user(&f, "bob", "ml").share.weight, None);
    }

    async fn another_process_shows_the_weight_after_a_refresh(db: TestDb) {
        let f = two_users(db).await;
        let second = other(&f).await;
        set(&f, &[(of_user("ann", Some("ml")), Some("3"))]).await.unwrap();
        assert_eq!(second.refresh().await.unwrap(), 1);
        assert_eq!(group_snapshot(&second.group(&admin(), GROUP).unwrap()), group_snapshot(&f.service.group(&admin(), GROUP).unwrap()));
        assert_eq!(second.refresh().await.unwrap(), 0);
    }

    // The newest start decides, whichever group reports it and in whatever order.
    async fn a_project_that_moves_is_seen_by_the_other_group(db: TestDb) {
        let f = two_users(db).await;
        f.group("second", &json!({})).await;
        let send = |group: &'static str, name: &str, domain: &str, start: &str| {
            let report = with(kernel(name, "ann", "ml", start), &json!({"domain_name": domain}));
            let service = f.service.clone();
            async move { service.ingest(&admin(), group, vec![incoming(&report)]).await.unwrap() }
        };
        send("second", "m1", "teaching", "2026-01-13T09:00:00Z").await;
        assert_eq!(&*f.service.group(&admin(), "second").unwrap().whole().unwrap().rows.projects().next().unwrap().domain_name, "teaching");
        // This group has not heard of the move when an older start names a third domain.
        send(GROUP, "m2", "third", "2026-01-13T05:00:00Z").await;
        assert_eq!(&*f.service.group(&admin(), GROUP).unwrap().whole().unwrap().rows.projects().next().unwrap().domain_name, "teaching");
        f.tick().await;
        assert_eq!(&*user(&f, "ann", "ml").domain_name, "teaching");
        assert_eq!(group_snapshot(&f.service.group(&admin(), GROUP).unwrap()), group_snapshot(&other(&f).await.group(&admin(), GROUP).unwrap()));
        f.assert_conserved().await;
    }
}
