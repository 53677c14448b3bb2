//! HTTP/2 over real sockets, which a client begins without asking.

use std::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::request::Builder as RequestBuilder;
use axum::http::{Request, Response, Version};
use axum::routing::get;
use bytes::Bytes;
use fairshared::rest::RequestLimits;
use fairshared::server::{self, ConnectionLimits, StartupRouter};
use futures::channel::mpsc::unbounded;
use futures::future::join_all;
use futures::stream;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connections::{Listening, PATIENCE, SOON, rest_bytes};
use super::support::{Answer, group, request};
use crate::support::database::sqlite;
use crate::support::fixture::{id, kernel};
use crate::support::on_both;

/// The first bytes of a client, and its settings, which are all at their defaults.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

/// The types of frames.
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;

/// The frame of a whole request: GET of `/`.
fn get_frame(stream: u16) -> [u8; 12] {
    let [high, low] = stream.to_be_bytes();
    [0, 0, 3, HEADERS, 5, 0, 0, high, low, 0x82, 0x86, 0x84]
}

/// The type of the next frame, and its content.
async fn read_frame(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    let mut content = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
    stream.read_exact(&mut content).await.unwrap();
    (head[3], content)
}

/// The answer of `/healthz`.
const HEALTHY: &str = "{\"status\":\"ok\"}";

/// A client with one connection.
struct Http2Client {
    address: SocketAddr,
    sender: SendRequest<Body>,
    /// Ends with the connection.
    running: JoinHandle<hyper::Result<()>>,
}

impl Http2Client {
    async fn connect(address: SocketAddr) -> Self {
        Self::connect_by(&Builder::new(TokioExecutor::new()), address).await
    }

    async fn connect_by(builder: &Builder<TokioExecutor>, address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (sender, connection) = builder.handshake(TokioIo::new(stream)).await.unwrap();
        Self { address, sender, running: tokio::spawn(connection) }
    }

    fn address_of(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    async fn send(&self, request: RequestBuilder, body: impl Into<Body>) -> hyper::Result<Response<Incoming>> {
        let response = self.sender.clone().send_request(request.body(body.into()).unwrap()).await?;
        assert_eq!(response.version(), Version::HTTP_2);
        Ok(response)
    }

    async fn answer(&self, request: RequestBuilder, body: impl Into<Body>) -> Answer {
        let (parts, body) = self.send(request, body).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, bytes }
    }

    /// The text of an answer to a request without a key.
    async fn text(&self, path: &str) -> String {
        let answer = self.answer(Request::get(self.address_of(path)), Body::empty()).await;
        String::from_utf8(answer.bytes.to_vec()).unwrap()
    }

    /// Returns once the server has closed the connection.
    async fn ended(self) -> hyper::Result<()> {
        timeout(PATIENCE, self.running).await.expect("the connection stays open").unwrap()
    }
}

fn row(name: &str) -> String {
    format!("{}\n", kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"))
}

on_both! {
    async fn a_scheduler_reports_and_asks_beside_readers(db: TestDb) {
        let listening = Listening::over(db, RequestLimits::default(), ConnectionLimits::default()).await;
        let client = Http2Client::connect(listening.address).await;
        let ask = |method, path: &str| request(&listening.server.key, method, &client.address_of(path));
        let report = || ask("POST", &group("/kernels")).header("content-type", "application/x-ndjson");
        assert_eq!(client.answer(report(), row("k0")).await.json(200)["accepted"], 1);
        let workload = json!({"workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision")});
        let workloads = json!({"workloads": [workload]}).to_string();
        // More than may be in progress at the same time.
        let asked = (1..=120).map(|at| {
            let (client, ask, report, workloads) = (&client, &ask, &report, &workloads);
            async move {
                let answer = client.answer(report(), row(&format!("k{at}"))).await.json(200);
                assert_eq!(answer["accepted"], 1);
                let sequence = ask("POST", &group("/sequence")).header("content-type", "application/json");
                let sequence = client.answer(sequence, workloads.clone()).await.json(200);
                assert_eq!(sequence["items"][0]["workload_id"], "w");
                assert_eq!(client.text("/healthz").await, HEALTHY);
            }
        });
        join_all(asked).await;
        assert_eq!(listening.server.get(&group("/kernels?limit=1")).await["total"], 121);
        let unknown = client.answer(Request::get(client.address_of("/whoami")), Body::empty()).await;
        unknown.refused(401, "missing_key");
    }

    async fn a_page_signs_in_at_the_host_of_its_address(db: TestDb) {
        let listening = Listening::over(db, RequestLimits::default(), ConnectionLimits::default()).await;
        let client = Http2Client::connect(listening.address).await;
        let ask = |path: &str, origin: &str| {
            let request = Request::post(client.address_of(path)).header("content-type", "application/json");
            request.header("x-fairshared-csrf", "1").header("origin", format!("http://{origin}"))
        };
        let (own, key) = (listening.address.to_string(), json!({"key": listening.server.key}).to_string());
        client.answer(ask("/ui/session", "evil.test"), key.clone()).await.refused(403, "forbidden");
        // A header that names another host does not count.
        let named = ask("/ui/session", "evil.test").header("host", "evil.test");
        client.answer(named, key.clone()).await.refused(403, "forbidden");
        let signed_in = client.answer(ask("/ui/session", &own), key).await;
        assert_eq!(signed_in.status, 204);
        let cookie = signed_in.header("set-cookie").split(';').next().unwrap().to_owned();
        let query = ask("/graphql", &own).header("cookie", cookie);
        let answer = client.answer(query, json!({"query": "{ whoami { role } }"}).to_string()).await.json(200);
        assert_eq!(answer["data"]["whoami"]["role"], "admin");
    }
}

/// A server of a router of the test's own.
struct RunningRouter {
    address: SocketAddr,
    shutdown: CancellationToken,
    running: JoinHandle<()>,
}

impl RunningRouter {
    async fn new(router: Router) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
        let startup = StartupRouter::opened(router);
        let serving = server::serve_router(startup, listener, ConnectionLimits::default(), shutdown.clone());
        Self { address, shutdown, running: tokio::spawn(serving) }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_is_answered_while_another_one_of_its_connection_waits() {
    let opened = CancellationToken::new();
    let (waits, opens) = (opened.clone(), opened);
    let wait = move || async move {
        waits.cancelled().await;
        "waited"
    };
    let open = move || async move {
        opens.cancel();
        "opened"
    };
    let server = RunningRouter::new(Router::new().route("/wait", get(wait)).route("/open", get(open))).await;
    let client = Http2Client::connect(server.address).await;
    let mut first = Box::pin(client.text("/wait"));
    assert!(futures::poll!(first.as_mut()).is_pending());
    assert_eq!(client.text("/open").await, "opened");
    assert_eq!(first.await, "waited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_waits_for_the_requests_of_a_connection_and_takes_no_more() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let opened = CancellationToken::new();
    let waits = opened.clone();
    let wait = move || async move {
        begun.send(()).unwrap();
        waits.cancelled().await;
        "waited"
    };
    let router = Router::new().route("/wait", get(wait)).route("/healthz", get(|| async { "well" }));
    let server = RunningRouter::new(router).await;
    let client = Http2Client::connect(server.address).await;
    let idle = Http2Client::connect(server.address).await;
    assert_eq!(idle.text("/healthz").await, "well");
    let waiting = tokio::spawn(
        client.sender.clone().send_request(Request::get(client.address_of("/wait")).body(Body::empty()).unwrap()),
    );
    begins.recv().await.unwrap();
    server.shutdown.cancel();
    idle.ended().await.unwrap();
    let start = Instant::now();
    while client.send(Request::get(client.address_of("/healthz")), Body::empty()).await.is_ok() {
        assert!(start.elapsed() < PATIENCE, "new requests are answered");
    }
    assert!(TcpStream::connect(server.address).await.is_err());
    assert!(!server.running.is_finished());
    opened.cancel();
    let body = waiting.await.unwrap().unwrap().into_body().collect().await.unwrap().to_bytes();
    assert_eq!(body, "waited");
    client.ended().await.unwrap();
    server.running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_over_http2_is_not_taken_for_whole() {
    let failing = || async {
        Body::from_stream(stream::iter([Ok(Bytes::from("a")), Err(std::io::Error::other("the database is gone"))]))
    };
    let server = RunningRouter::new(Router::new().route("/failing", get(failing))).await;
    let client = Http2Client::connect(server.address).await;
    let text = async {
        client.send(Request::get(client.address_of("/failing")), Body::empty()).await?.into_body().collect().await
    };
    assert!(text.await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_sends_no_request_is_given_up() {
    let limits = ConnectionLimits { head: SOON, idle: PATIENCE, ..ConnectionLimits::default() };
    let listening = Listening::with(limits).await;
    // A part of the preface, the preface alone, and a head that does not end.
    let unfinished = [PREFACE, b"\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82"].concat();
    for bytes in [&PREFACE[..9], PREFACE, &unfinished] {
        let mut stream = listening.connect().await;
        stream.write_all(bytes).await.unwrap();
        rest_bytes(&mut stream).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_of_http2_is_closed_and_a_used_one_is_not() {
    let limits = ConnectionLimits { head: PATIENCE, idle: SOON, ..ConnectionLimits::default() };
    let listening = Listening::with(limits).await;
    let used = Http2Client::connect(listening.address).await;
    let start = Instant::now();
    while start.elapsed() < 3 * SOON {
        assert_eq!(used.text("/healthz").await, HEALTHY);
    }
    let _ = used.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_after_an_answer_of_http2_is_not_the_head_of_a_request() {
    // If it were, the connection would stay open for this time.
    let limits = ConnectionLimits { head: 10 * PATIENCE, idle: SOON, ..ConnectionLimits::default() };
    let listening = Listening::with(limits).await;
    let mut stream = listening.connect().await;
    stream.write_all(&[PREFACE, &get_frame(1)].concat()).await.unwrap();
    while read_frame(&mut stream).await.0 != HEADERS {}
    // PING.
    stream.write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).await.unwrap();
    rest_bytes(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_its_answers_loses_the_connection() {
    let limits = ConnectionLimits { most: 1, head: PATIENCE, idle: SOON };
    let listening = Listening::with(limits).await;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1_000);
    let deaf = Http2Client::connect_by(&builder, listening.address).await;
    let asked = (0..20).map(|_| deaf.send(Request::get(deaf.address_of("/docs/swagger-ui-bundle.js")), Body::empty()));
    let unread: Vec<_> = join_all(asked).await.into_iter().map(Result::unwrap).collect();
    let _ = deaf.ended().await;
    drop(unread);
    // Its place is free again.
    let start = Instant::now();
    while Http2Client::connect(listening.address).await.text("/healthz").await != HEALTHY {
        assert!(start.elapsed() < PATIENCE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_beyond_the_limit_is_refused_over_http2_and_closed() {
    let limits = ConnectionLimits { most: 1, ..ConnectionLimits::default() };
    let listening = Listening::with(limits).await;
    let first = Http2Client::connect(listening.address).await;
    first.text("/healthz").await;
    let second = Http2Client::connect(listening.address).await;
    let refused = second.answer(Request::get(second.address_of("/healthz")), Body::empty()).await;
    assert_eq!(refused.header("content-type"), "application/problem+json");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(refused.json(503)["code"], "too_many_connections");
    // The server says that it closes the connection, so that the client knows which requests had no effect.
    second.ended().await.unwrap();
    first.text("/healthz").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_report_over_http2_may_last_and_must_not_be_silent() {
    let connections = ConnectionLimits { head: SOON, idle: SOON, ..ConnectionLimits::default() };
    let limits = RequestLimits { timeout: SOON, silence: 5 * SOON, ..RequestLimits::default() };
    let listening = Listening::over(sqlite().await, limits, connections).await;
    let report = |client: &Http2Client| {
        let path = client.address_of(&group("/kernels"));
        request(&listening.server.key, "POST", &path).header("content-type", "application/x-ndjson")
    };
    let steady = Http2Client::connect(listening.address).await;
    let (rows, body) = unbounded::<std::io::Result<String>>();
    let sending = async {
        let (start, mut count) = (Instant::now(), 0);
        // Longer than every limit, as rows keep coming.
        while start.elapsed() < 7 * SOON {
            rows.unbounded_send(Ok(row(&format!("k{count}")))).unwrap();
            count += 1;
            tokio::time::sleep(SOON / 4).await;
        }
        rows.close_channel();
        count
    };
    let (answer, count) = tokio::join!(steady.answer(report(&steady), Body::from_stream(body)), sending);
    assert_eq!(answer.json(200)["accepted"], count);
    // Rows before a silence are kept.
    let silent = Http2Client::connect(listening.address).await;
    let (rows, body) = unbounded::<std::io::Result<String>>();
    rows.unbounded_send(Ok(row("late"))).unwrap();
    silent.answer(report(&silent), Body::from_stream(body)).await.refused(408, "request_timeout");
    assert_eq!(listening.server.get(&group("/kernels")).await["total"], count + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_long_is_refused_over_http2() {
    let limits = RequestLimits { body_bytes: 1_000, ..RequestLimits::default() };
    let listening = Listening::over(sqlite().await, limits, ConnectionLimits::default()).await;
    let client = Http2Client::connect(listening.address).await;
    let weights = request(&listening.server.key, "PUT", &client.address_of(&group("/fair-share-weights")));
    let weights = weights.header("content-type", "application/json");
    let body = json!({"items": [], "reason": "x".repeat(2_000)}).to_string();
    assert_eq!(client.answer(weights, body).await.status, 413);
    assert_eq!(client.text("/healthz").await, HEALTHY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_says_what_one_connection_may_ask() {
    let listening = Listening::with(ConnectionLimits::default()).await;
    let mut stream = listening.connect().await;
    stream.write_all(PREFACE).await.unwrap();
    // The first frame has the settings of the server.
    let (kind, settings) = read_frame(&mut stream).await;
    assert_eq!(kind, SETTINGS);
    let setting = |id: u16| {
        let entry = settings.chunks(6).find(|entry| entry[..2] == id.to_be_bytes())?;
        Some(u32::from_be_bytes(entry[2..].try_into().unwrap()))
    };
    let (max_concurrent_streams, max_header_list_size) = (setting(3), setting(6));
    assert_eq!((max_concurrent_streams, max_header_list_size), (Some(100), Some(16 << 10)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_too_long_is_refused_over_http2() {
    let listening = Listening::with(ConnectionLimits::default()).await;
    let client = Http2Client::connect(listening.address).await;
    let long = Request::get(client.address_of("/healthz")).header("x-long", "x".repeat(17 << 10));
    assert_eq!(client.send(long, Body::empty()).await.unwrap().status(), 431);
    assert_eq!(client.text("/healthz").await, HEALTHY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_its_requests_back_in_masses_is_disconnected() {
    let listening = Listening::with(ConnectionLimits::default()).await;
    let mut bytes = PREFACE.to_vec();
    for stream in (1..=399_u16).step_by(2) {
        let [high, low] = stream.to_be_bytes();
        bytes.extend(get_frame(stream));
        // RST_STREAM with the reason CANCEL.
        bytes.extend([0, 0, 4, 3, 0, 0, 0, high, low, 0, 0, 0, 8]);
    }
    let mut hasty = listening.connect().await;
    hasty.write_all(&bytes).await.unwrap();
    let answer = rest_bytes(&mut hasty).await;
    // The last frame is a GOAWAY with the reason ENHANCE_YOUR_CALM.
    let goaway = answer.windows(9).rposition(|head| head[3..] == [7, 0, 0, 0, 0, 0]).expect("no GOAWAY");
    assert_eq!(answer[goaway + 9 + 4..][..4], [0, 0, 0, 11]);
    assert_eq!(Http2Client::connect(listening.address).await.text("/healthz").await, HEALTHY);
}
