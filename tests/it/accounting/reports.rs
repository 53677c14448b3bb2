//! People who become known by reports, and reports that are refused.

use std::sync::Arc;

use fairshared::domain::ids::KernelKey;
use fairshared::domain::kernel::Kernel;
use fairshared::domain::outstanding::OutstandingKernels;
use fairshared::engine::ingest::incoming::RefusedReport;
use fairshared::store;
use serde_json::{Value, json};

use super::member;
use crate::support::fixture::{Fixture, GROUP, admin, id, incoming, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T10:00:00Z";

fn named(name: &str, user: &str, project: &str, names: &Value) -> Value {
    with(kernel(name, user, project, START), names)
}

fn codes(refused: &[RefusedReport]) -> Vec<(usize, &str)> {
    refused.iter().map(|r| (r.at, r.fault.code)).collect()
}

/// The names that the group shows for a member and its project.
fn names(f: &Fixture, user: &str, project: &str) -> (Option<Arc<str>>, Option<Arc<str>>) {
    let group = f.service.group(&admin(), GROUP).unwrap();
    let member = member(user, project);
    let rows = &group.whole().unwrap().rows;
    (rows.user(member).unwrap().user_name.clone(), rows.project(member.project).unwrap().project_name.clone())
}

/// The group's snapshot of kernels: the number that have started, their owners, and the slots that they occupy and ask for.
fn state_of_kernels(f: &Fixture) -> String {
    let group = f.service.group(&admin(), GROUP).unwrap();
    let facts = group.whole().unwrap();
    let mut owners: Vec<_> = facts.outstanding.owners().collect();
    owners.sort_unstable();
    let mut occupancy: Vec<_> = facts.occupancy().collect();
    occupancy.sort_unstable_by_key(|(user, _)| *user);
    let (count, demand) = (facts.outstanding.count(), &facts.demand);
    format!("count: {count} {owners:?} {occupancy:?} {demand:?}")
}

fn texts(user: &str, project: &str) -> (Option<Arc<str>>, Option<Arc<str>>) {
    (Some(Arc::from(user)), Some(Arc::from(project)))
}

on_both! {
    async fn of_two_groups_that_claim_a_kernel_at_once_the_second_is_told(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.group("second", &json!({})).await;
        // The first ingest has stored the kernel, and is about to commit.
        let row = named("k1", "ann", "ml", &json!({"domain_name": "nowhere", "user_name": "Ann"}));
        let first = f.service.store().begin().await.unwrap();
        let second = f.service.group(&admin(), "second").unwrap().key;
        let mut claimed = Kernel::merge(None, incoming(&row).report).unwrap();
        claimed.key = Some(second.kernel(1));
        let claimed = [(None, claimed)];
        assert_eq!(store::kernels::upsert(&first, second, &claimed).await.unwrap(), 1);
        store::cursors::save(&first, &claimed, crate::support::time(START)).await.unwrap();
        let late = [named("k0", "bob", "ml", &json!({})), row.clone(), row, named("k2", "bob", "ml", &json!({}))];
        let (service, batch) = (Arc::clone(&f.service), late.iter().map(incoming).collect());
        let second = tokio::spawn(async move { service.ingest(&admin(), GROUP, batch).await.unwrap() });
        f.db.until_a_writer_waits().await;
        first.commit().await.unwrap();
        let refused = second.await.unwrap();
        assert_eq!(codes(&refused), [(1, "kernel_of_another_group"), (2, "kernel_of_another_group")]);
        assert_eq!(refused[0].fault.pointer, "/kernel_id");
        // The others are kept, and the refused report created no user and no project.
        let group = f.service.group(&admin(), GROUP).unwrap();
        let known: Vec<_> = group.whole().unwrap().rows.users.iter().map(|u| u.member).collect();
        assert_eq!(known, [member("bob", "ml")]);
        assert!(group.whole().unwrap().rows.domain("nowhere").is_none());
        let kernels = state_of_kernels(&f);
        assert!(kernels.contains("count: 2") && !kernels.contains(&format!("{:?}", member("ann", "ml").user)), "{kernels}");
        let f = f.restart().await;
        assert_eq!(state_of_kernels(&f), kernels);
        assert_eq!(f.tick().await.kernels, 2);
        // A later report gets the same answer.
        assert_eq!(codes(&f.ingest(&late).await), [(1, "kernel_of_another_group"), (2, "kernel_of_another_group")]);
    }

    async fn a_refused_report_makes_nobody_known_and_renames_nobody(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.ingest(&[named("k1", "ann", "ml", &json!({"user_name": "Ann", "project_name": "ML"}))]).await;
        // Another owner than the kernel has.
        let stranger = named("k1", "eve", "spy", &json!({"user_name": "Eve", "domain_name": "abroad"}));
        let other_project = named("k1", "ann", "spy", &json!({"user_name": "Mallory", "project_name": "Spy"}));
        assert_eq!(codes(&f.ingest(&[stranger.clone(), other_project]).await), [(0, "conflict"), (1, "conflict")]);
        assert_eq!(names(&f, "ann", "ml"), texts("Ann", "ML"));
        // Beside a good report too.
        let good = named("k2", "bob", "ml", &json!({"user_name": "Bob"}));
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T10:30:00Z"});
        let renames = with(stranger, &json!({"user_uuid": id("bob"), "user_name": "Mallory", "project_name": "Spy"}));
        assert_eq!(codes(&f.ingest(&[good, with(renames, &ended)]).await), [(1, "conflict")]);
        assert_eq!(names(&f, "bob", "ml"), texts("Bob", "ML"));
        let stored = store::people::changed_since(f.service.store().read(), -1).await.unwrap();
        let domains: Vec<&str> = stored.domains.iter().map(|domain| &*domain.name).collect();
        assert_eq!((domains, stored.projects.len()), (vec!["research"], 1));
        assert!(stored.users.iter().all(|user| user.id.0 != id("eve")));
    }

    async fn a_new_name_is_taken_from_a_report_that_tells_nothing_else(db: TestDb) {
        let f = Fixture::new(db, START).await;
        let ann = named("k1", "ann", "ml", &json!({"user_name": "Ann"}));
        f.ingest(std::slice::from_ref(&ann)).await;
        assert_eq!(names(&f, "ann", "ml"), (Some(Arc::from("Ann")), None));
        let renamed = with(ann.clone(), &json!({"user_name": "Ann B.", "project_name": "ML"}));
        assert!(f.ingest(std::slice::from_ref(&renamed)).await.is_empty());
        assert_eq!(names(&f, "ann", "ml"), texts("Ann B.", "ML"));
        // The same once more writes nothing; without names they stay.
        let revision = f.service.group(&admin(), GROUP).unwrap().revision;
        f.ingest(&[renamed]).await;
        f.ingest(&[kernel("k1", "ann", "ml", START)]).await;
        assert_eq!(f.service.group(&admin(), GROUP).unwrap().revision, revision);
        let f = f.restart().await;
        assert_eq!(names(&f, "ann", "ml"), texts("Ann B.", "ML"));
    }

    async fn newer_kernels_of_whom_one_knows_change_no_share(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.ingest(&[kernel("k1", "ann", "ml", START)]).await;
        let revision = f.service.group(&admin(), GROUP).unwrap().revision;
        f.clock.set("2026-01-13T11:00:00Z");
        f.ingest(&[kernel("k2", "ann", "ml", "2026-01-13T10:30:00Z")]).await;
        assert_eq!(f.service.group(&admin(), GROUP).unwrap().revision, revision);
        // The newest kernel decides on the domain of its project, whichever comes first.
        let moved = |name: &str, start: &str| with(kernel(name, "ann", "ml", start), &json!({"domain_name": "physics"}));
        let domain = || {
            let group = f.service.group(&admin(), GROUP).unwrap();
            group.whole().unwrap().rows.project(member("ann", "ml").project).unwrap().domain_name.to_string()
        };
        f.ingest(&[moved("k3", "2026-01-13T10:20:00Z")]).await;
        assert_eq!(domain(), "research");
        f.ingest(&[moved("k4", "2026-01-13T10:40:00Z")]).await;
        assert_eq!(domain(), "physics");
        // A start that lies ahead holds the project until another kernel starts.
        f.ingest(&[kernel("k5", "ann", "ml", "2099-01-01T00:00:00Z")]).await;
        assert_eq!(domain(), "research");
        f.clock.advance_seconds(60);
        f.ingest(&[moved("k6", "2026-01-13T11:00:30Z")]).await;
        assert_eq!(domain(), "physics");
        assert!(f.service.group(&admin(), GROUP).unwrap().revision.number() > revision.number());
    }
}

/// The kernel was noted as ended before the database showed that it belongs to another group.
#[test]
fn a_kernel_of_another_group_is_forgotten_though_it_never_ran() {
    let never_ran = json!({"status": "TERMINATED", "started_at": null, "terminated_at": START});
    let mut kernel = Kernel::merge(None, incoming(&named("k1", "ann", "ml", &never_ran)).report).unwrap();
    kernel.key = Some(KernelKey(1));
    assert!(kernel.settled);
    let mut outstanding = OutstandingKernels::default();
    outstanding.changed(&kernel, None);
    assert!(outstanding.knows(kernel.report.id));
    outstanding.forget(&kernel);
    assert!(!outstanding.knows(kernel.report.id));
}
