//! `serve` as a process: from an empty database to a ranking, and its shutdown.

use serde_json::{Value, json};

use super::program::{Server, end, over, run};
use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};
use crate::support::fixture::id;

fn key(db: &TestDb) -> String {
    run(db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned()
}

/// From an empty database to a ranking, over a real socket.
async fn from_nothing_to_a_ranking(db: TestDb) {
    let server = Server::over(&db.url);
    let (client, key) = (reqwest::Client::new(), key(&db));
    let url = |path: &str| format!("{}{path}", server.address);
    let send = async |method: reqwest::Method, path: &str, body: Value| {
        let answer = client.request(method, url(path)).bearer_auth(&key).json(&body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str::<Value>(&text).unwrap_or_default()
    };
    assert!(client.get(url("/healthz")).send().await.unwrap().status().is_success());
    let put = reqwest::Method::PUT;
    send(put.clone(), "/resource-groups/g", json!({"scheduler": "fairshare"})).await;
    send(put, "/resource-groups/g/agents/n1", json!({"available_slots": {"cpu": "8"}})).await;
    let kernel = json!([{
        "kernel_id": id("k"), "session_id": id("k"), "user_uuid": id("alice"), "project_id": id("ml"),
        "domain_name": "research", "occupied_slots": {"cpu": "4"}, "status": "TERMINATED",
        "started_at": "2026-11-01T10:00:00Z", "terminated_at": "2026-11-01T11:00:00Z",
    }]);
    send(reqwest::Method::POST, "/resource-groups/g/kernels", kernel).await;
    send(reqwest::Method::POST, "/jobs/aggregate/run", json!({})).await;
    let ranking = send(reqwest::Method::GET, "/resource-groups/g/fair-share-status", Value::Null).await;
    assert_eq!(ranking["items"][0]["user_uuid"], json!(id("alice")));
    // The command line and the server give the same answer.
    assert_eq!(run(&db, ["rank", "g", "-o", "json"]).json(), ranking);
    assert!(run(&db, ["audit"]).ok().contains("true"));

    // A change by the command line reaches the running server.
    run(&db, ["weights", "set", "g", "domain", "research", "2"]).ok();
    loop {
        let ranking = send(reqwest::Method::GET, "/resource-groups/g/fair-share-status", Value::Null).await;
        if ranking["items"][0]["effective_weight"] == "2" {
            break;
        }
        tokio::task::yield_now().await;
    }
    let taken = server.address.strip_prefix("http://").unwrap().to_owned();
    let line = end(over(&db.url).args(["serve", "--listen", &taken])).stderr;
    assert!(line.contains(&format!("error: cannot listen on {taken}: ")), "{line}");
    assert!(line.trim_end().ends_with("; --listen takes another address"), "{line}");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_to_end_on_sqlite() {
    from_nothing_to_a_ranking(sqlite_unmigrated()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn end_to_end_on_postgres() {
    from_nothing_to_a_ranking(postgres_unmigrated().await).await;
}

#[test]
fn both_signals_stop_it_and_an_open_connection_does_not_keep_it() {
    for signal in ["INT", "TERM"] {
        let db = sqlite_unmigrated();
        let server = Server::over(&db.url);
        let _idle = std::net::TcpStream::connect(server.address.strip_prefix("http://").unwrap()).unwrap();
        server.signal(signal);
        assert_eq!(server.wait(), Some(0), "{signal}");
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    use std::io::{Read, Write};
    let db = sqlite_unmigrated();
    let server = Server::over(&db.url);
    let key = key(&db);
    // A request that never ends keeps the first signal waiting.
    let mut open = std::net::TcpStream::connect(server.address.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "PUT /resource-groups/g HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n\
         Expect: 100-continue\r\nContent-Length: 100\r\n\r\n"
    );
    open.write_all(head.as_bytes()).unwrap();
    // The answer to `Expect` shows that the request is being read.
    let mut seen = [0; 12];
    open.read_exact(&mut seen).unwrap();
    assert_eq!(&seen, b"HTTP/1.1 100");
    server.signal("TERM");
    // The first signal has arrived when no new connection is taken.
    while std::net::TcpStream::connect(server.address.strip_prefix("http://").unwrap()).is_ok() {
        std::thread::yield_now();
    }
    server.signal("TERM");
    assert_eq!(server.wait(), Some(1));
}

/// With fewer files than connections the server would fail under load, and not at its start.
#[cfg(target_os = "linux")]
#[test]
fn it_refuses_to_start_with_too_few_files() {
    let db = sqlite_unmigrated();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -n 1000; exec \"$0\" serve", env!("CARGO_BIN_EXE_fairshared")]);
    limited.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    limited.env("FAIRSHARED_DATABASE_URL", &db.url).env("FAIRSHARED_LISTEN", "127.0.0.1:0");
    let line = end(&mut limited).refused(2);
    assert!(line.contains("may open 1000 files, and needs 4224"), "{line}");
    assert!(line.contains("LimitNOFILE=4224") && line.contains("`max_connections` to 872 at most"), "{line}");
    let server = Server::start(limited.env("FAIRSHARED_MAX_CONNECTIONS", "872"));
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn it_says_in_one_line_why_it_cannot_serve() {
    let db = sqlite_unmigrated();
    let serve = |args: &[&str]| end(over(&db.url).env("FAIRSHARED_LOG", "error").arg("serve").args(args));
    // Without migrations the database must be complete.
    assert!(
        serve(&["--no-migrate", "--listen", "127.0.0.1:0"])
            .refused(1)
            .ends_with("`fairshared migrate up` applies them")
    );
    assert!(serve(&["--listen", "nonsense"]).refused(2).starts_with("--listen: \"nonsense\" is not an address"));
    run(&db, ["migrate", "up"]).ok();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(serve(&["--listen", &address]).refused(1).starts_with(&format!("cannot listen on {address}: ")));
    let mut unreachable = over("postgres://127.0.0.1:1/nothing");
    unreachable.args(["serve", "--listen", "127.0.0.1:0", "--wait-for-database", "0s"]);
    let line = end(unreachable.env("FAIRSHARED_LOG", "error")).refused(1);
    assert!(line.starts_with("cannot open the database postgres://127.0.0.1:1/nothing: "), "{line}");
}
