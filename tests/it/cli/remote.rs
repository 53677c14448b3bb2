//! A server elsewhere: over TLS, out of reach, with another key, or not a fairshared server at all.

use std::io::{Read, Write};
use std::net::TcpListener as Listener;
use std::process::Command;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::program::{Server, end, file, over, program, run};
use crate::support::database::{TestDb, sqlite, sqlite_unmigrated};
use crate::support::fixture::{GROUP, kernel};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cli/tls/ca.pem");

fn at(server: &str) -> Command {
    let mut command = program();
    command.args(["--server", server]);
    command
}

fn admin_key(db: &TestDb) -> String {
    run(db, ["keys", "create", "--role", "admin", "--label", "ops"]).ok().trim_end().to_owned()
}

/// A front that speaks TLS with a certificate of the test's own authority.
async fn front(server: &Server) -> u16 {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let config = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let acceptor = TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate], key).unwrap()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let behind = server.address.strip_prefix("http://").unwrap().to_owned();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let Ok(mut client) = acceptor.accept(client).await else { return };
                let mut server = TcpStream::connect(behind).await.unwrap();
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    port
}

/// Answers every connection with `answer`. Returns its address.
fn answering(answer: &'static str) -> String {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut seen = Vec::new();
            let mut piece = [0; 1024];
            while !seen.ends_with(b"\r\n\r\n") {
                let count = stream.read(&mut piece).unwrap();
                seen.extend_from_slice(&piece[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_behind_tls() {
    let db = sqlite().await;
    let (key, server) = (admin_key(&db), Server::over(&db.url));
    let port = front(&server).await;
    let (name, number) = (format!("https://localhost:{port}"), format!("https://127.0.0.1:{port}/"));
    let groups = |server: &str, authority: Option<&str>| {
        let mut command = at(server);
        command.env("FAIRSHARED_KEY", &key).args(["groups", "list"]);
        if let Some(file) = authority {
            command.args(["--ca-file", file]);
        }
        end(&mut command)
    };
    let created =
        end(at(&name).env("FAIRSHARED_KEY", &key).env("FAIRSHARED_CA_FILE", AUTHORITY).args(["groups", "create", "g"]));
    assert_eq!(created.stderr, "resource group g created\n");
    for server in [&name, &number] {
        assert!(groups(server, Some(AUTHORITY)).ok().contains("fairshare"));
        let line = groups(server, None).refused(1);
        assert!(line.contains("--ca-file names"), "{line}");
    }
    let folder = tempfile::tempdir().unwrap();
    let empty = file(folder.path(), "empty.pem", "");
    assert!(groups(&name, Some(&empty)).refused(2).contains("it holds no certificate"));
    assert!(groups(&name, Some("/nowhere.pem")).refused(2).starts_with("--ca-file /nowhere.pem: "));
    // A port that speaks TLS is none of plain HTTP.
    let line = groups(&format!("http://localhost:{port}"), None).refused(1);
    assert!(line.starts_with(&format!("cannot talk to http://localhost:{port}: ")), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_actor_is_the_key_there_and_the_user_of_the_system_here() {
    let db = sqlite().await;
    let (key, server) = (admin_key(&db), Server::over(&db.url));
    end(at(&server.address).args(["--key", &key, "groups", "create", "there"])).ok();
    run(&db, ["groups", "create", "here"]).ok();
    let log = run(&db, ["log", "--action", "resource_group.create", "-o", "json"]).json();
    let actor = |at: usize| log["items"][at]["actor"].as_str().unwrap();
    assert!(actor(0).starts_with("cli:") && actor(0).len() > 4, "{log}");
    assert_eq!(actor(1), "ops");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_that_a_server_does_not_take() {
    let db = sqlite().await;
    let server = Server::over(&db.url);
    let address = &server.address;
    let none = end(at(address).args(["rank", "g"])).refused(1);
    assert_eq!(none, format!("{address} wants a key; give it as FAIRSHARED_KEY, or with --key"));
    let wrong = end(at(address).args(["--key", "fsk_wrong", "rank", "g"])).refused(1);
    assert!(wrong.starts_with(&format!("{address} does not take the key: ")), "{wrong}");
    assert_eq!(
        end(at(address).args(["--key", "a\nb", "rank", "g"])).refused(2),
        "the key has characters that no key has"
    );
    let viewer = run(&db, ["keys", "create", "--role", "viewer", "--label", "v"]).ok();
    let weak = end(at(address).args(["--key", viewer.trim_end(), "groups", "create", "g"])).refused(1);
    assert_eq!(weak, "the key has the role viewer; this needs admin");
}

#[test]
fn what_is_no_server_of_fairshared() {
    let free = Listener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let line = end(at(&format!("http://{free}")).args(["rank", "g"])).refused(1);
    assert_eq!(line, format!("cannot reach http://{free}: Connection refused (os error 111)"));
    let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\n<html";
    let bad =
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\nconnection: close\r\n\r\n{\"a\":";
    let other = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    let no_json = "the answer is not the JSON of a fairshared server; is the address right?";
    for answer in [page, bad, other] {
        assert_eq!(end(at(&answering(answer)).args(["queues", "g"])).refused(1), no_json);
    }
    let gone = answering(
        "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 3\r\nconnection: close\r\n\r\nbad",
    );
    let line = end(at(&gone).args(["groups", "list"])).refused(1);
    assert_eq!(
        line,
        format!("{gone} answered 502 Bad Gateway, but not as a fairshared server does; is the address right?")
    );
    let cut = answering(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\nconnection: close\r\n\r\n{\"items\":[",
    );
    let line = end(at(&cut).args(["groups", "list"])).refused(1);
    assert_eq!(line, format!("the answer of {cut} broke off; try again"));
    for address in ["nowhere", "ftp://nowhere", "http://", "https://x/?y"] {
        let line = end(at(address).args(["rank", "g"])).refused(2);
        assert!(line.starts_with("--server: ") && line.contains("is not the address of a server"), "{line}");
    }
}

#[test]
fn a_server_and_a_database_are_not_mixed_up() {
    let db = sqlite_unmigrated();
    let both = end(at("http://127.0.0.1:1").args(["--database-url", &db.url, "rank", "g"]));
    assert_eq!(both.code, Some(2), "{both:?}");
    for args in [&["migrate", "up"][..], &["serve"], &["backup", "x.db"], &["divide", "-"], &["demo"]] {
        let line = end(at("http://127.0.0.1:1").args(args)).refused(2);
        assert_eq!(line, format!("`{}` does its work on this machine: it takes no --server", args[0]));
    }
    // The variable is for commands that ask a server; a flag that names a database wins over it.
    let mut migrate = over(&db.url);
    migrate.env("FAIRSHARED_SERVER", "http://127.0.0.1:1");
    end(migrate.args(["migrate", "up"])).ok();
    let mut command = program();
    command.env("FAIRSHARED_SERVER", "http://127.0.0.1:1").args(["--database-url", &db.url, "groups", "list"]);
    assert!(end(&mut command).ok().contains("NAME"));
}

/// Neither migrates the database in the process of the command, nor creates a new one.
#[tokio::test]
async fn a_database_of_another_version_stays_as_it_is() {
    let db = sqlite().await;
    db.give_back_to_version_0_1().await;
    let status = run(&db, ["migrate", "status", "-o", "csv"]).ok();
    for args in [&["rank", "g"][..], &["keys", "create", "--role", "admin", "--label", "x"], &["groups", "list"]] {
        let line = run(&db, args).refused(1);
        assert!(line.ends_with("lacks 4 migrations; `fairshared migrate up` applies them"), "{line}");
    }
    assert_eq!(run(&db, ["migrate", "status", "-o", "csv"]).ok(), status);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_lists_and_files_go_through_and_a_reader_that_leaves_ends_it_quietly() {
    let db = sqlite().await;
    let (key, server) = (admin_key(&db), Server::over(&db.url));
    let folder = tempfile::tempdir().unwrap();
    // Kernels that wait: no run changes them between two lists.
    let row = |n: u32| {
        let mut waits = kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-11-01T00:00:00Z");
        (waits["status"], waits["started_at"]) = ("PENDING".into(), serde_json::Value::Null);
        waits.to_string() + "\n"
    };
    let rows: String = (0..2_345).map(row).collect();
    let array: String = format!("[{}]", rows.trim_end().replace('\n', ",\n"));
    let (lines, array) = (file(folder.path(), "rows.ndjson", rows), file(folder.path(), "rows.json", array));
    let ask = |args: &[&str]| {
        let mut command = at(&server.address);
        command.env("FAIRSHARED_KEY", &key).args(args);
        command
    };
    end(&mut ask(&["groups", "create", GROUP])).ok();
    let post = |file: &str| end(&mut ask(&["kernels", "post", GROUP, file])).stderr;
    assert_eq!(post(&lines), "2345 kernels accepted, 2345 new or changed; 0 rejected\n");
    assert_eq!(post(&array), "2345 kernels accepted, 0 new or changed; 0 rejected\n");
    let broken = file(folder.path(), "broken.ndjson", "{}\n".repeat(41));
    let told = post(&broken);
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(
        told,
        [
            "  41 rejected (missing_field), such as",
            "    line 1: `kernel_id` is missing",
            "    line 2: `kernel_id` is missing",
            "    line 3: `kernel_id` is missing",
            "0 kernels accepted, 0 new or changed; 41 rejected",
        ]
    );
    for format in ["csv", "ndjson", "table", "json"] {
        let whole = end(&mut ask(&["kernels", "list", GROUP, "-o", format]));
        let here = run(&db, ["kernels", "list", GROUP, "-o", format]).ok();
        assert_eq!(whole.ok(), here, "{format}");
        let count = if format == "json" { 1 } else { 2_345 + usize::from(format != "ndjson") };
        assert_eq!(here.lines().count(), count, "{format}");
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = ask(&["kernels", "list", GROUP, "-o", format]);
        let child = command.stdout(writer).stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(command);
        reader.read_exact(&mut [0; 10]).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{format}");
    }
    let json: serde_json::Value = run(&db, ["kernels", "list", GROUP, "-o", "json"]).json();
    assert_eq!((json["items"].as_array().unwrap().len(), &json["total"]), (2_345, &serde_json::json!(2_345)));
}
