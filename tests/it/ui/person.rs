//! A browser in short functions: it holds a cookie, and sends the origin of its page with requests.

use std::sync::Mutex;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use bytes::Bytes;
use fairshared::server::{self, ServerApp};
use fairshared::ui::{PublicSite, PublicUrl};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::rest::support::{Answer, Server, app};

pub const HOST: &str = "fair.test";

pub struct Person {
    router: Router,
    pub cookie: Mutex<Option<String>>,
}

impl Person {
    pub fn of(server: &Server) -> Self {
        Self { router: server.router.clone(), cookie: Mutex::default() }
    }

    /// A browser for a server that browsers find at `address`.
    pub fn of_public(server: &Server, address: &str) -> Self {
        let site = PublicSite { public: PublicUrl::new(&address.parse().unwrap()) };
        let router = server::router(ServerApp { site, ..app(&server.fixture) });
        Self { router, cookie: Mutex::default() }
    }

    /// A request with these headers only, and with the host and the cookie.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("host", HOST);
        if let Some(cookie) = &*self.cookie.lock().unwrap() {
            request = request.header("cookie", format!("other=1; {cookie}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        let (parts, body) = self.router.clone().oneshot(request.body(body).unwrap()).await.unwrap().into_parts();
        let bytes: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    /// A request as the pages make it.
    pub async fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let origin = format!("http://{HOST}");
        let headers = [("origin", &*origin), ("x-fairshared-csrf", "1"), ("content-type", "application/json")];
        self.send(method, path, &headers, body).await
    }

    /// Signs in, and stores the cookie. Returns the header `Set-Cookie` of the answer.
    pub async fn sign_in(&self, key: &str) -> String {
        let answer = self.ask("POST", "/ui/session", &json!({"key": key})).await;
        assert_eq!(answer.status, 204, "{}", String::from_utf8_lossy(&answer.bytes));
        let set = answer.header("set-cookie").to_owned();
        *self.cookie.lock().unwrap() = set.split(';').next().map(str::to_owned);
        set
    }

    pub async fn query(&self, query: &str) -> Answer {
        self.ask("POST", "/graphql", &json!({ "query": query })).await
    }
}
