//! Queues and weights that are written together: all or nothing, and readers never see a half.

use std::sync::Arc;

use fairshared::domain::weight::Weight;
use fairshared::engine::audit::label;
use fairshared::service::audit_log::AuditFilter;
use fairshared::service::configuration::{ConfigurationChanged, WantedConfiguration};
use fairshared::service::input::page::PageWindow;
use fairshared::service::weights::{WeightItem, WeightTarget};
use fairshared::service::{Error, Role, Service};
use fairshared::store;
use serde_json::{Value, json};

use super::config;
use crate::support::fixture::{Fixture, GROUP, admin, caller_with, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-10T00:00:00Z";

async fn cluster(db: crate::support::database::TestDb) -> Fixture {
    let f = Fixture::new(db, START).await;
    let teaching = with(kernel("k2", "bob", "course", START), &json!({"domain_name": "teaching"}));
    f.ingest(&[kernel("k1", "alice", "ml", START), teaching]).await;
    f
}

fn weight(domain: &str, weight: Option<&str>) -> WeightItem {
    WeightItem { target: WeightTarget::Domain(domain.to_owned()), weight: weight.map(|w| Weight::parse(w).unwrap()) }
}

fn wanted(weights: &[WeightItem], queues: Option<&Value>, prune: bool) -> WantedConfiguration {
    let queues = queues.map(|queues| queues.as_array().unwrap().iter().map(config).collect());
    WantedConfiguration { weights: weights.to_vec(), queues, prune }
}

async fn put(f: &Fixture, wanted: WantedConfiguration) -> Result<ConfigurationChanged, Error> {
    f.service.put_configuration(admin(), GROUP.to_owned(), wanted, Some("new term".to_owned())).await
}

/// The queues and the weights that readers see.
fn seen(service: &Service) -> (Vec<String>, Vec<String>) {
    let weights = service.weights(&admin(), GROUP).unwrap();
    let weights = weights.iter().map(|row| format!("{} {}", label(&row.target), row.weight.unwrap()));
    (service.queues(&admin(), GROUP).unwrap().keys().map(ToString::to_string).collect(), weights.collect())
}

async fn entries(f: &Fixture) -> Vec<(String, Option<String>)> {
    let log = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(100, None)).await.unwrap();
    let written = log.rows.into_iter().map(|(_, entry)| (entry.action, entry.reason));
    written.filter(|(action, _)| action == "queues.put" || action == "weights.put").collect()
}

/// How often the group was written.
async fn writes(f: &Fixture) -> i64 {
    store::groups::find(f.service.store().read(), GROUP).await.unwrap().unwrap().kernels_revision.number()
}

fn names(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

on_both! {
    async fn both_are_one_write(db: TestDb) {
        let f = cluster(db).await;
        let before = (writes(&f).await, f.service.group(&admin(), GROUP).unwrap().revision.number());
        let both = wanted(&[weight("research", Some("2"))], Some(&json!([{"name": "a", "parent": "b"}, {"name": "b"}])), false);
        let preview = f.service.preview_configuration(&admin(), GROUP, both.clone()).await.unwrap();
        assert_eq!((preview.weights.len(), preview.unchanged, preview.queues.as_ref().unwrap().counts()), (1, 0, [2, 0, 0]));
        assert_eq!(seen(&f.service), (vec![], vec![]));
        let changed = put(&f, both.clone()).await.unwrap();
        assert_eq!(changed.weights, preview.weights);
        let now = (names(&["a", "b"]), names(&["domain:research 2"]));
        assert_eq!(seen(&f.service), now);
        assert_eq!((writes(&f).await, f.service.group(&admin(), GROUP).unwrap().revision.number()), (before.0 + 1, before.1 + 1));
        let reason = Some("new term".to_owned());
        assert_eq!(entries(&f).await, [("weights.put".to_owned(), reason.clone()), ("queues.put".to_owned(), reason)]);
        // Unchanged values are not written again.
        let same = put(&f, both).await.unwrap();
        assert!(same.is_empty() && same.unchanged == 1);
        assert_eq!((writes(&f).await, entries(&f).await.len()), (before.0 + 1, 2));
        assert_eq!(seen(&f.restart().await.service), now);
    }

    async fn a_refused_half_leaves_the_other_unwritten(db: TestDb) {
        let f = cluster(db).await;
        let code = |error: Error| match error {
            Error::Invalid(faults) => (faults[0].pointer.clone(), faults[0].code),
            other => panic!("{other:?}"),
        };
        let unknown = wanted(&[weight("nowhere", Some("2"))], Some(&json!([{"name": "a"}])), false);
        assert_eq!(code(put(&f, unknown).await.unwrap_err()), ("/items/0/target_id".to_owned(), "unknown_domain"));
        let orphan = wanted(&[weight("research", Some("2"))], Some(&json!([{"name": "a", "parent": "ghost"}])), false);
        assert_eq!(code(put(&f, orphan).await.unwrap_err()), ("/queues/0/parent".to_owned(), "unknown_parent"));
        // The queues are stored first; then the database refuses the weights.
        let rename = async |from: &str, to: &str| {
            let sql = format!("ALTER TABLE {from} RENAME TO {to}");
            #[allow(clippy::disallowed_methods, reason = "a database that fails half-way")]
            sea_orm::ConnectionTrait::execute_unprepared(f.service.store().write(), &sql).await.unwrap();
        };
        rename("domain_fair_shares", "elsewhere").await;
        let both = || wanted(&[weight("research", Some("2"))], Some(&json!([{"name": "a"}])), false);
        assert!(put(&f, both()).await.is_err());
        rename("elsewhere", "domain_fair_shares").await;
        assert_eq!(seen(&f.service), (vec![], vec![]));
        let stored = Service::new(f.db.store().await, Arc::clone(&f.clock) as _).await.unwrap();
        assert_eq!(seen(&stored), (vec![], vec![]));
        assert!(entries(&f).await.is_empty());
        put(&f, both()).await.unwrap();
        assert_eq!(seen(&f.service), (names(&["a"]), names(&["domain:research 2"])));
    }

    async fn what_goes_is_decided_when_it_is_written(db: TestDb) {
        let f = cluster(db).await;
        put(&f, wanted(&[weight("research", Some("2"))], Some(&json!([{"name": "a"}, {"name": "b", "parent": "a"}])), false)).await.unwrap();
        let less = wanted(&[weight("research", Some("3"))], Some(&json!([{"name": "a", "priority": 1}])), true);
        let preview = f.service.preview_configuration(&admin(), GROUP, less.clone()).await.unwrap();
        assert_eq!((preview.weights.len(), preview.queues.unwrap().counts()), (1, [0, 1, 1]));
        // Another client is faster.
        put(&f, wanted(&[weight("teaching", Some("4"))], Some(&json!([{"name": "c"}])), false)).await.unwrap();
        let changed = put(&f, less).await.unwrap();
        assert_eq!((changed.weights.len(), changed.queues.unwrap().counts()), (2, [0, 1, 2]));
        assert_eq!(seen(&f.service), (names(&["a"]), names(&["domain:research 3"])));
        // Queues that the request leaves out stay.
        put(&f, wanted(&[weight("research", None)], None, true)).await.unwrap();
        assert_eq!(seen(&f.service), (names(&["a"]), vec![]));
    }

    async fn only_admins_write(db: TestDb) {
        let f = cluster(db).await;
        for role in [Role::Scheduler, Role::Viewer, Role::User] {
            let caller = caller_with(role);
            let some = || wanted(&[weight("research", Some("2"))], None, false);
            let write = f.service.put_configuration(caller.clone(), GROUP.to_owned(), some(), None).await;
            let preview = f.service.preview_configuration(&caller, GROUP, some()).await;
            assert_eq!((write.unwrap_err().code(), preview.unwrap_err().code()), ("forbidden", "forbidden"), "{role:?}");
        }
        let nowhere = f.service.put_configuration(admin(), "nowhere".to_owned(), WantedConfiguration::default(), None).await;
        assert_eq!(nowhere.unwrap_err().code(), "unknown_resource_group");
    }
}
