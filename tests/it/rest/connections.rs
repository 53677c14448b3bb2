//! Slow connections, and too many of them, over real sockets.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairshared::rest::RequestLimits;
use fairshared::server::{self, ConnectionLimits, ServerApp, StartupRouter};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::support::{Server, app, group};
use crate::support::database::{TestDb, sqlite};
use crate::support::fixture::kernel;

/// A limit of a server that a test reaches.
pub const SHORT_LIMIT: Duration = Duration::from_millis(200);
/// Far longer than anything in these tests takes.
pub const TEST_DEADLINE: Duration = Duration::from_secs(30);

/// A server on a socket, until this is dropped.
pub struct ListeningServer {
    pub server: Server,
    pub address: SocketAddr,
    _until: DropGuard,
}

impl ListeningServer {
    pub async fn over(db: TestDb, limits: RequestLimits, connections: ConnectionLimits) -> Self {
        let server = Server::new(db).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = CancellationToken::new();
        let startup_router = StartupRouter::opened(server::router(ServerApp { limits, ..app(&server.fixture) }));
        tokio::spawn(server::serve_router(startup_router, listener, connections, shutdown.clone()));
        Self { server, address, _until: shutdown.drop_guard() }
    }

    pub async fn with(connections: ConnectionLimits) -> Self {
        Self::over(sqlite().await, RequestLimits::default(), connections).await
    }

    pub async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

/// Everything until the server closes the connection.
pub async fn rest_bytes(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A connection that is closed while bytes are on their way to it is reset.
    let _ =
        tokio::time::timeout(TEST_DEADLINE, stream.read_to_end(&mut bytes)).await.expect("the connection stays open");
    bytes
}

async fn rest(stream: &mut TcpStream) -> String {
    String::from_utf8_lossy(&rest_bytes(stream).await).into_owned()
}

/// One answer of a connection that stays open.
async fn answer(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut text = String::new();
    while !text.ends_with('}') {
        let mut bytes = [0; 4096];
        let count = tokio::time::timeout(TEST_DEADLINE, stream.read(&mut bytes)).await.unwrap().unwrap();
        assert!(count > 0, "closed after {text:?}");
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_does_not_end_is_given_up() {
    let long = ConnectionLimits { head: SHORT_LIMIT, idle: TEST_DEADLINE, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(long).await;
    // Nothing at all, a part of the first head, a part of the second one.
    let mut silent = listening.connect().await;
    let mut begun = listening.connect().await;
    begun.write_all(b"GET /healthz HT").await.unwrap();
    let mut second = listening.connect().await;
    assert!(answer(&mut second).await.starts_with("HTTP/1.1 200"));
    second.write_all(b"GET /heal").await.unwrap();
    for stream in [&mut silent, &mut begun, &mut second] {
        assert_eq!(rest(stream).await, "");
    }
    // One byte after the other does not help.
    let mut slow = listening.connect().await;
    let start = Instant::now();
    while slow.write_all(b"G").await.is_ok() {
        assert!(start.elapsed() < TEST_DEADLINE, "the connection stays open");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_is_closed_and_a_used_one_is_not() {
    let limits = ConnectionLimits { head: TEST_DEADLINE, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    let mut used = listening.connect().await;
    let start = Instant::now();
    while start.elapsed() < 3 * SHORT_LIMIT {
        assert!(answer(&mut used).await.starts_with("HTTP/1.1 200"));
    }
    assert_eq!(rest(&mut used).await, "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_read_loses_the_connection() {
    let limits = ConnectionLimits { most: 1, head: TEST_DEADLINE, idle: SHORT_LIMIT };
    let listening = ListeningServer::with(limits).await;
    let mut stream = listening.connect().await;
    let requests = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50);
    stream.write_all(requests.as_bytes()).await.unwrap();
    // Its place is free again without a byte read.
    let start = Instant::now();
    loop {
        let mut next = listening.connect().await;
        next.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await.unwrap();
        if rest(&mut next).await.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(start.elapsed() < TEST_DEADLINE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_of_a_whole_address_comes_before_the_header() {
    let listening = ListeningServer::with(ConnectionLimits::default()).await;
    let own = listening.address.to_string();
    let body = json!({"key": listening.server.key}).to_string();
    let sign_in = async |host: &str, origin: &str| {
        let mut stream = listening.connect().await;
        let request = format!(
            "POST http://user@{own}/ui/session HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{origin}\r\n\
             X-Fairshared-CSRF: 1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        rest(&mut stream).await
    };
    let own_page = sign_in("evil.test", &own).await;
    assert!(own_page.starts_with("HTTP/1.1 204"), "{own_page}");
    let foreign_page = sign_in("evil.test", "evil.test").await;
    assert!(foreign_page.starts_with("HTTP/1.1 403"), "{foreign_page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_to_http2_is_answered_in_http1() {
    let listening = ListeningServer::with(ConnectionLimits::default()).await;
    let mut stream = listening.connect().await;
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("{\"status\":\"ok\"}"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_too_many_is_told_so() {
    let limits = ConnectionLimits { most: 2, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    let (mut first, mut second) = (listening.connect().await, listening.connect().await);
    answer(&mut first).await;
    answer(&mut second).await;
    let client = reqwest::Client::new();
    let ask = || client.get(format!("http://{}/healthz", listening.address)).send();
    let refused = ask().await.unwrap();
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (503, &"1".parse().unwrap()));
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    assert_eq!(refused.headers()["x-content-type-options"], "nosniff");
    let problem: serde_json::Value = refused.json().await.unwrap();
    assert_eq!((&problem["code"], &problem["status"]), (&"too_many_connections".into(), &503.into()));
    // Existing connections continue, and a place that becomes free is used.
    assert!(answer(&mut first).await.starts_with("HTTP/1.1 200"));
    drop(second);
    let start = Instant::now();
    while ask().await.unwrap().status() != 200 {
        assert!(start.elapsed() < TEST_DEADLINE);
    }
}

/// The head of a stream of kernels.
fn stream_head(server: &Server) -> String {
    format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/x-ndjson\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
        group("/kernels"),
        server.key
    )
}

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

fn row(name: &str) -> String {
    chunk(&format!("{}\n", kernel(name, "alice", "vision", "2026-01-13T10:00:00Z")))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_may_last_and_must_not_be_silent() {
    let connections = ConnectionLimits { head: SHORT_LIMIT, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let limits = RequestLimits { timeout: SHORT_LIMIT, silence: 5 * SHORT_LIMIT, ..RequestLimits::default() };
    let listening = ListeningServer::over(sqlite().await, limits, connections).await;
    let mut steady = listening.connect().await;
    steady.write_all(stream_head(&listening.server).as_bytes()).await.unwrap();
    let start = Instant::now();
    let mut rows = 0;
    // Longer than every limit, as rows keep coming.
    while start.elapsed() < 7 * SHORT_LIMIT {
        steady.write_all(row(&format!("k{rows}")).as_bytes()).await.unwrap();
        rows += 1;
        tokio::time::sleep(SHORT_LIMIT / 4).await;
    }
    steady.write_all(b"0\r\n\r\n").await.unwrap();
    let taken = rest(&mut steady).await;
    assert!(taken.starts_with("HTTP/1.1 200") && taken.contains(&format!("\"accepted\":{rows},")), "{taken}");
    // Rows before a silence are kept.
    let mut silent = listening.connect().await;
    let text = format!("{}{}", stream_head(&listening.server), row("late"));
    silent.write_all(text.as_bytes()).await.unwrap();
    let refused = rest(&mut silent).await;
    assert!(refused.starts_with("HTTP/1.1 408") && refused.contains("\"request_timeout\""), "{refused}");
    let kernels = listening.server.get(&group("/kernels")).await;
    assert_eq!(kernels["total"], rows + 1);
}
