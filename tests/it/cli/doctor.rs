//! `fairshared doctor`, over databases and over a server.

use serde_json::{Value, json};

use super::program::{Ended, Server, end, over, program, run};
use super::two_users;
use crate::support::database::{TestDb, postgres_unmigrated, sqlite, sqlite_unmigrated};
use crate::support::fixture::{GROUP, kernel, with};
use crate::support::{on_both, postgres};

/// The row of one check.
fn check<'a>(rows: &'a Value, name: &str) -> &'a Value {
    let found: Vec<&Value> = rows["items"].as_array().unwrap().iter().filter(|row| row["check"] == name).collect();
    assert_eq!(found.len(), 1, "{name}: {rows}");
    found[0]
}

fn text<'a>(rows: &'a Value, name: &str, key: &str) -> &'a str {
    check(rows, name)[key].as_str().unwrap()
}

fn statuses(rows: &Value) -> Vec<(&str, &str)> {
    rows["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["check"].as_str().unwrap(), row["status"].as_str().unwrap()))
        .collect()
}

fn read(ended: &Ended, code: i32) -> Value {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    serde_json::from_str(&ended.stdout).unwrap()
}

fn doctor(db: &TestDb, code: i32) -> Value {
    read(&run(db, ["doctor", "-o", "json"]), code)
}

on_both! {
    async fn a_sound_database_has_no_fault(db: TestDb) {
        run(&db, ["groups", "create", GROUP]).ok();
        run(&db, ["agents", "set", GROUP, "node-1", "--slot", "cpu=10"]).ok();
        let rows = doctor(&db, 0);
        let names: Vec<&str> = statuses(&rows).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [
            "address", "key", "skew", "schema", "rights", "writes", "disk", "clock", "capacity", "agents", "slots", "domains", "archived",
            "mode", "look_back", "options", "purge",
        ]);
        for (name, status) in statuses(&rows) {
            let expected: &[&str] = if name == "disk" { &["ok", "warning", "not_checked"] } else { &["ok"] };
            assert!(expected.contains(&status), "{name}: {rows}");
        }
        let table = run(&db, ["doctor"]).ok();
        assert_eq!(table.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(), ["STATUS", "CHECK", "DETAIL", "REMEDY"]);
        assert_eq!(table.lines().count(), 1 + names.len(), "{table}");
    }

    async fn what_looks_like_a_mistake_is_a_warning_with_what_to_do(db: TestDb) {
        let f = two_users(db).await;
        f.group("empty", &json!({"half_life_days": 60})).await;
        let job = with(kernel("g", "carol", "physics", "2026-01-13T10:30:00Z"), &json!({
            "occupied_slots": {"gpu": "1"}, "domain_name": "unknown", "project_name": "physics",
        }));
        assert!(f.ingest(&[job]).await.is_empty());
        // The clock of the fixture stands in the past, which the command may find to be a fault.
        let ended = run(&f.db, ["doctor", "-o", "json"]);
        let rows: Value = serde_json::from_str(&ended.stdout).unwrap();
        let has_fault = statuses(&rows).iter().any(|(_, status)| *status == "fault");
        assert_eq!(ended.code, Some(i32::from(has_fault)), "{rows}");
        for (name, said, remedy) in [
            ("capacity", "empty", "fairshared agents set"),
            ("slots", "`gpu` in gpu-cluster", "fairshared agents list"),
            ("domains", "physics", "fairshared projects set"),
            ("look_back", "empty", "fairshared options set"),
        ] {
            assert_eq!(text(&rows, name, "status"), "warning", "{rows}");
            assert!(text(&rows, name, "detail").contains(said), "{rows}");
            assert!(text(&rows, name, "remedy").contains(remedy), "{rows}");
        }
        assert_eq!(text(&rows, "mode", "status"), "ok");
        // Usage that the next purge removes is no mistake.
        assert_eq!(text(&rows, "purge", "status"), "ok");
    }

    async fn a_server_is_asked_for_what_the_command_cannot_see(db: TestDb) {
        run(&db, ["groups", "create", GROUP]).ok();
        run(&db, ["agents", "set", GROUP, "node-1", "--slot", "cpu=10"]).ok();
        let key = |role: &str, more: &[&str]| {
            let ended = end(over(&db.url).args(["keys", "create", "--role", role, "--label", "doctor"]).args(more));
            ended.ok().trim_end().to_owned()
        };
        let (viewer, soon) = (key("viewer", &[]), key("viewer", &["--expires", "3d"]));
        let user = key("user", &["--user", "alice"]);
        let server = Server::over(&db.url);
        let ask = |key: Option<&str>| {
            let mut command = program();
            command.args(["--server", &server.address, "doctor", "-o", "json"]);
            if let Some(key) = key {
                command.env("FAIRSHARED_KEY", key);
            }
            end(&mut command)
        };
        let rows = read(&ask(Some(&viewer)), 0);
        for name in ["address", "key", "skew", "schema", "rights", "writes", "capacity", "slots", "domains", "mode", "look_back"] {
            assert_eq!(text(&rows, name, "status"), "ok", "{rows}");
        }
        assert!(text(&rows, "key", "detail").contains("role viewer"), "{rows}");
        let rows = read(&ask(Some(&soon)), 0);
        assert_eq!(text(&rows, "key", "status"), "warning", "{rows}");
        assert!(text(&rows, "key", "remedy").contains("fairshared keys create"), "{rows}");
        // The key of a user reads nothing of the server.
        let rows = read(&ask(Some(&user)), 0);
        assert_eq!((text(&rows, "key", "status"), text(&rows, "capacity", "status")), ("ok", "not_checked"), "{rows}");
        for none in [None, Some("fsk_wrong")] {
            let rows = read(&ask(none), 1);
            assert_eq!((text(&rows, "address", "status"), text(&rows, "key", "status")), ("ok", "fault"), "{rows}");
            assert_eq!(text(&rows, "capacity", "status"), "not_checked", "{rows}");
        }
    }
}

#[tokio::test]
async fn an_address_where_no_server_is() {
    let rows =
        read(&end(program().args(["--server", "http://127.0.0.1:1", "--key", "fsk_x", "doctor", "-o", "json"])), 1);
    assert_eq!(text(&rows, "address", "status"), "fault", "{rows}");
    let others = statuses(&rows).into_iter().filter(|(name, _)| *name != "address");
    assert!(others.clone().count() > 5 && others.clone().all(|(_, status)| status == "not_checked"), "{rows}");
}

#[tokio::test]
async fn a_database_that_is_missing_or_of_another_version() {
    let db = sqlite_unmigrated();
    let rows = doctor(&db, 1);
    assert_eq!(text(&rows, "address", "status"), "fault", "{rows}");
    assert!(text(&rows, "address", "remedy").contains("fairshared migrate up"), "{rows}");
    let db = sqlite().await;
    run(&db, ["migrate", "down", "--yes"]).ok();
    let rows = doctor(&db, 1);
    assert_eq!((text(&rows, "address", "status"), text(&rows, "schema", "status")), ("ok", "fault"), "{rows}");
    assert!(text(&rows, "schema", "remedy").contains("fairshared migrate up"), "{rows}");
    assert!(text(&rows, "schema", "remedy").ends_with("make a backup first: `fairshared backup FILE`"), "{rows}");
    assert_eq!(text(&rows, "capacity", "status"), "not_checked", "{rows}");
    // `fairshared backup` copies no database of PostgreSQL.
    let rows = doctor(&postgres_unmigrated().await, 1);
    assert!(text(&rows, "schema", "remedy").ends_with("make a backup first: `pg_dump`"), "{rows}");
}

/// Runs SQL as a superuser in one database of the cluster that tests share.
#[expect(clippy::disallowed_methods, reason = "what an owner of the database does")]
async fn as_owner(database: &str, sql: &str) {
    use sea_orm::ConnectionTrait;
    let store = TestDb::at(postgres::url(database)).store().await;
    store.write().execute_unprepared(sql).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_user_of_postgresql_who_may_not_make_tables() {
    let (database, user) = ("rights_of_a_user", "rights-user");
    postgres::execute(&format!("CREATE DATABASE {database}")).await;
    postgres::execute(&format!("CREATE ROLE \"{user}\" LOGIN")).await;
    // Since version 15 a new database is like this from the beginning.
    as_owner(database, "REVOKE CREATE ON SCHEMA public FROM PUBLIC").await;
    let db = TestDb::at(postgres::url(database).replace("postgres@localhost", &format!("{user}@localhost")));
    let grant = format!("GRANT USAGE, CREATE ON SCHEMA public TO \"{user}\";");
    let said = run(&db, ["migrate", "up"]).refused(1);
    assert!(said.contains("permission denied for schema public") && said.contains(&grant), "{said}");
    let served = end(over(&db.url).args(["serve", "--listen", "127.0.0.1:0"]));
    assert!(served.code == Some(1) && served.stderr.contains(&grant), "{served:?}");
    let rows = doctor(&db, 1);
    assert_eq!(text(&rows, "rights", "status"), "fault", "{rows}");
    assert!(text(&rows, "rights", "remedy").contains(&grant), "{rows}");
    as_owner(database, &grant).await;
    run(&db, ["migrate", "up"]).ok();
    assert_eq!(text(&doctor(&db, 0), "rights", "status"), "ok");
}
