//! Pages of other servers in a browser: the answers that they may read, and the requests that they may send.

use axum::body::Body;
use axum::http::{HeaderValue, Request};
use fairshared::server::{self, ServerApp, StartupRouter};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::support::{Answer, Server, app};
use crate::support::database::TestDb;
use crate::support::on_both;
use crate::ui::person::Person;

const ADMIN: &str = "https://admin.test";
const LOCAL: &str = "http://localhost:5173";

/// A server that pages of both origins may use.
async fn shared(db: TestDb) -> Server {
    let server = Server::with_usage(db).await;
    let cors_origins = [ADMIN, LOCAL].map(HeaderValue::from_static).to_vec();
    let router = server::router(ServerApp { cors_origins, ..app(&server.fixture) });
    Server { router, ..server }
}

async fn send(server: &Server, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    let (parts, body) = server.router.clone().oneshot(request.body(body).unwrap()).await.unwrap().into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    Answer { status: parts.status, headers: parts.headers, bytes }
}

/// The preflight request of a browser before a request that is not a simple one.
async fn ask_before(server: &Server, origin: &str, method: &str, path: &str) -> Answer {
    let headers = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", "authorization,content-type,if-match"),
    ];
    send(server, "OPTIONS", path, &headers, &Value::Null).await
}

fn names(answer: &Answer, header: &str) -> Vec<String> {
    let mut names: Vec<_> = answer.header(header).split(',').map(|name| name.trim().to_lowercase()).collect();
    names.sort();
    names
}

on_both! {
    async fn pages_of_listed_origins_read_and_write(db: TestDb) {
        let server = shared(db).await;
        let key = format!("Bearer {}", server.key);
        for origin in [ADMIN, LOCAL] {
            for (method, path) in [("POST", "/graphql"), ("PUT", "/resource-groups/gpu-cluster/agents/node-01"), ("GET", "/nothing")] {
                let before = ask_before(&server, origin, method, path).await;
                assert_eq!((before.status.as_u16(), before.header("access-control-allow-origin")), (200, origin), "{path}");
                assert_eq!(names(&before, "access-control-allow-methods"), ["delete", "get", "head", "patch", "post", "put"]);
                assert_eq!(names(&before, "access-control-allow-headers"), ["authorization", "content-type", "if-match", "if-none-match", "x-request-id"]);
                assert_eq!(before.header("access-control-max-age"), "600");
                assert!(before.header("x-request-id").len() > 10);
            }
            let headers = [("origin", origin), ("authorization", &*key), ("content-type", "application/json")];
            let who = send(&server, "POST", "/graphql", &headers, &json!({"query": "{ whoami { role } }"})).await;
            assert_eq!(who.json(200)["data"]["whoami"]["role"], "admin");
            let options = send(&server, "GET", "/resource-groups/gpu-cluster/scheduler-options", &headers[..2], &Value::Null).await;
            assert!(options.status == 200 && !options.header("etag").is_empty());
            for answer in [&who, &options] {
                assert_eq!(answer.header("access-control-allow-origin"), origin);
                assert_eq!(names(answer, "access-control-expose-headers"), ["allow", "etag", "retry-after", "www-authenticate", "x-data-age", "x-request-id"]);
                // Credentials are never allowed, so that a cookie stays at home.
                assert!(!answer.headers.contains_key("access-control-allow-credentials"));
                let vary: Vec<_> = answer.headers.get_all("vary").iter().map(|v| v.to_str().unwrap()).collect();
                assert!(vary.join(",").contains("origin"), "{vary:?}");
            }
        }
    }

    async fn refusals_can_be_read_too(db: TestDb) {
        let server = shared(db).await;
        let key = format!("Bearer {}", server.key);
        let keyed = [("origin", ADMIN), ("authorization", &*key), ("content-type", "application/json")];
        for (method, path, headers, body, status, code) in [
            ("GET", "/resource-groups", &keyed[..1], Value::Null, 401, "missing_key"),
            ("GET", "/resource-groups/none", &keyed[..], Value::Null, 404, "unknown_resource_group"),
            ("GET", "/nothing", &keyed[..], Value::Null, 404, "unknown_path"),
            ("DELETE", "/resource-groups", &keyed[..], Value::Null, 405, "method_not_allowed"),
            ("POST", "/graphql", &keyed[..2], json!({"query": "{ __typename }"}), 415, "unsupported_media_type"),
        ] {
            let refused = send(&server, method, path, headers, &body).await;
            refused.refused(status, code);
            assert_eq!(refused.header("access-control-allow-origin"), ADMIN, "{code}");
        }
    }

    async fn pages_of_other_origins_read_nothing(db: TestDb) {
        let server = shared(db).await;
        let key = format!("Bearer {}", server.key);
        for origin in ["https://evil.test", "https://admin.test.evil.test", "http://admin.test", "https://admin.test:8443", "HTTPS://ADMIN.TEST", "null"] {
            let before = ask_before(&server, origin, "POST", "/graphql").await;
            assert!(!before.headers.contains_key("access-control-allow-origin"), "{origin}");
            let answer = send(&server, "GET", "/resource-groups", &[("origin", origin), ("authorization", &key)], &Value::Null).await;
            assert!(answer.status == 200 && !answer.headers.contains_key("access-control-allow-origin"), "{origin}");
        }
    }

    async fn the_cookie_is_of_no_use_to_other_pages(db: TestDb) {
        let server = shared(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        let headers = [("origin", ADMIN), ("x-fairshared-csrf", "1"), ("content-type", "application/json")];
        person.send("POST", "/graphql", &headers, &json!({"query": "{ __typename }"})).await.refused(403, "forbidden");
        let sign_in = person.send("POST", "/ui/session", &headers, &json!({"key": server.key})).await;
        sign_in.refused(403, "forbidden");
    }

    async fn without_the_setting_there_is_nothing_of_it(db: TestDb) {
        let server = Server::new(db).await;
        ask_before(&server, ADMIN, "GET", "/resource-groups").await.refused(401, "missing_key");
        let key = format!("Bearer {}", server.key);
        let answer = send(&server, "GET", "/resource-groups", &[("origin", ADMIN), ("authorization", &key)], &Value::Null).await;
        assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("access-control")), "{:?}", answer.headers);
    }
}

#[tokio::test]
async fn a_server_that_starts_says_so_to_pages_as_well() {
    let startup_router = StartupRouter::closed(&[HeaderValue::from_static(ADMIN)]);
    let request = Request::get("/resource-groups").header("origin", ADMIN).body(Body::empty()).unwrap();
    let answer = startup_router.router().clone().oneshot(request).await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(
        (&answer.headers()["access-control-allow-origin"], &answer.headers()["retry-after"]),
        (&HeaderValue::from_static(ADMIN), &HeaderValue::from_static("1"))
    );
}
