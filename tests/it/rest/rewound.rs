//! A dump that is restored while servers run: the writes that they have seen since are lost, and others have made as many in
//! their place.

use std::sync::Arc;

use fairshared::service::Service;
use sea_orm::ConnectionTrait;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, id};
use crate::support::on_both;

/// The tables that the writes of these tests change.
const TABLES: [&str; 12] = [
    "resource_groups",
    "people_revision",
    "people_revision_tags",
    "users",
    "projects",
    "domains",
    "domain_fair_shares",
    "project_fair_shares",
    "user_fair_shares",
    "queues",
    "audit_log",
    "audit_targets",
];

#[expect(clippy::disallowed_methods, reason = "what the tools of databases do")]
async fn run(db: &TestDb, statements: impl IntoIterator<Item = String>) {
    let store = db.store().await;
    let tx = store.begin().await.unwrap();
    for sql in statements {
        tx.execute_unprepared(&sql).await.unwrap();
    }
    tx.commit().await.unwrap();
    store.close().await.unwrap();
}

async fn dump(db: &TestDb) {
    run(db, TABLES.map(|table| format!("CREATE TABLE dump_of_{table} AS SELECT * FROM {table}"))).await;
}

async fn restore(db: &TestDb) {
    let restored =
        |table| [format!("DELETE FROM {table}"), format!("INSERT INTO {table} SELECT * FROM dump_of_{table}")];
    run(db, TABLES.into_iter().flat_map(restored)).await;
}

/// Another server over the same database.
async fn another(server: &Server) -> Server {
    let clock = Arc::clone(&server.clock);
    let service = Service::new(server.db.store().await, Arc::clone(&clock) as _).await.unwrap();
    Server::over(Fixture { db: TestDb::at(server.db.url.clone()), clock, service }, server.key.clone())
}

async fn write(server: &Server, name: &str, number: u64) {
    let alice = id("alice");
    let weight = json!({"items": [{"target_type": "user", "target_id": alice, "weight": number.to_string()}]});
    for (method, path, body) in [
        ("PUT", group("/fair-share-weights"), weight),
        ("PATCH", group("/scheduler-options"), json!({"scheduler_opts": {"half_life_days": number}})),
        ("PUT", group(&format!("/queues/{name}")), json!({"priority": number})),
        ("PUT", format!("/users/{alice}"), json!({"display_name": name})),
    ] {
        let answer = server.call(method, &path, Some(&body)).await;
        assert!(answer.status.is_success(), "{path}: {}", String::from_utf8_lossy(&answer.bytes));
    }
}

/// The weight and the name of alice, an option, and the queues.
async fn shown(server: &Server) -> Value {
    let weights = server.get(&group("/fair-share-weights")).await;
    let alice = json!(id("alice"));
    let weight = weights["items"].as_array().unwrap().iter().find(|item| item["target_id"] == alice).cloned();
    let options = server.get(&group("/scheduler-options")).await;
    let queues = server.get(&group("/queues")).await;
    let queues: Vec<&Value> = queues["items"].as_array().unwrap().iter().map(|queue| &queue["name"]).collect();
    let user = server.get(&format!("/users/{}", id("alice"))).await;
    json!([
        weight.unwrap_or_default()["weight"],
        options["scheduler_opts"]["half_life_days"],
        queues,
        user["display_name"]
    ])
}

on_both! {
    async fn writes_after_a_restored_dump_are_not_written_over(db: TestDb) {
        let server = Server::with_usage(db).await;
        let reader = another(&server).await;
        dump(&server.db).await;
        write(&server, "lost", 3).await;
        reader.service.refresh().await.unwrap();
        assert_eq!(shown(&reader).await, json!(["3", 3, ["lost"], "lost"]));
        let lost_revision = server.get(&group("")).await["config_revision"].clone();
        restore(&server.db).await;
        // As many writes give the same numbers.
        let third = another(&server).await;
        write(&third, "new", 4).await;
        let number = |revision: &Value| revision.as_str().unwrap().split('.').next().unwrap().to_owned();
        let revision = third.get(&group("")).await["config_revision"].clone();
        assert_eq!(number(&revision), number(&lost_revision));
        // A write rests on what is stored, although its server has not looked for what others do.
        let weight = json!({"items": [{"target_type": "domain", "target_id": "sales", "weight": "2"}]});
        let guarded = json!({"items": weight["items"], "if_revision": lost_revision});
        server.call("PUT", &group("/fair-share-weights"), Some(&guarded)).await.refused(409, "config_changed");
        server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
        let now = json!(["4", 4, ["new"], "new"]);
        assert_eq!(shown(&server).await, now);
        for server in [&server, &reader] {
            server.service.refresh().await.unwrap();
            assert_eq!(shown(server).await, now);
            let ready = server.get("/readyz").await;
            assert_eq!(ready["reasons"][0]["code"], "history_rewound", "{ready}");
            assert_eq!(server.get(&group("/audit")).await["ok"], true);
        }
        // It is said once, and shown for a day.
        server.clock.advance_seconds(86_401);
        server.service.refresh().await.unwrap();
        let ready = server.get("/readyz").await;
        assert!(!ready["reasons"].as_array().unwrap().iter().any(|r| r["code"] == "history_rewound"), "{ready}");
        // A server that was there all along, and sees only more writes, has nothing to say.
        third.service.refresh().await.unwrap();
        assert_eq!(third.get("/readyz").await["status"], "ready");
    }

    /// Fewer writes than were lost.
    async fn a_revision_that_goes_back_is_read_again(db: TestDb) {
        let server = Server::with_usage(db).await;
        dump(&server.db).await;
        write(&server, "lost", 3).await;
        let tag = server.call("GET", &group("/fair-share-status"), None).await.header("etag").to_owned();
        server.clock.advance_seconds(60);
        restore(&server.db).await;
        server.service.refresh().await.unwrap();
        assert_eq!(shown(&server).await[3], "alice");
        let ready = server.get("/readyz").await;
        let detail = ready["reasons"][0]["detail"].as_str().unwrap();
        assert!(detail.contains("what was written after 2026-01-13T12:00:00Z, through any server, is lost"), "{detail}");
        assert_eq!(server.get_with(&group("/fair-share-status"), "if-none-match", &tag).await.status, 200);
    }
}
