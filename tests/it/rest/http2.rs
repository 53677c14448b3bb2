//! HTTP/2 over real sockets, which a client begins without asking.

use std::net::SocketAddr;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::http::request::Builder as RequestBuilder;
use axum::http::{Request, Response, Version};
use axum::routing::{get, post};
use bytes::Bytes;
use fairshared::rest::RequestLimits;
use fairshared::server::{self, ConnectionLimits, StartupRouter};
use futures::channel::mpsc::unbounded;
use futures::future::join_all;
use futures::stream;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::connections::{ListeningServer, SHORT_LIMIT, TEST_DEADLINE, rest_bytes};
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
        timeout(TEST_DEADLINE, self.running).await.expect("the connection stays open").unwrap()
    }
}

fn row(name: &str) -> String {
    format!("{}\n", kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"))
}

on_both! {
    async fn a_scheduler_reports_and_asks_beside_readers(db: TestDb) {
        let listening = ListeningServer::over(db, RequestLimits::default(), ConnectionLimits::default()).await;
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
        let listening = ListeningServer::over(db, RequestLimits::default(), ConnectionLimits::default()).await;
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
        let startup_router = StartupRouter::opened(router);
        let serving = server::serve_router(startup_router, listener, ConnectionLimits::default(), shutdown.clone());
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
        assert!(start.elapsed() < TEST_DEADLINE, "new requests are answered");
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
async fn a_shutdown_does_not_wait_for_clients_that_do_not_answer() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let opened = CancellationToken::new();
    let waits = opened.clone();
    let wait = move || async move {
        begun.send(()).unwrap();
        waits.cancelled().await;
        "waited"
    };
    let router = Router::new().route("/", get(|| async { "well" })).route("/wait", get(wait));
    let server = RunningRouter::new(router).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    silent.write_all(&[PREFACE, &get_frame(1)].concat()).await.unwrap();
    while read_frame(&mut silent).await.0 != HEADERS {}
    let client = Http2Client::connect(server.address).await;
    let mut waiting = Box::pin(client.text("/wait"));
    assert!(futures::poll!(waiting.as_mut()).is_pending());
    begins.recv().await.unwrap();
    server.shutdown.cancel();
    // The server asks with a PING which requests are under way. This client never answers it.
    rest_bytes(&mut silent).await;
    // A request in progress may last longer.
    assert!(!server.running.is_finished());
    opened.cancel();
    assert_eq!(waiting.await, "waited");
    client.ended().await.unwrap();
    server.running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_request_of_a_connection_is_answered_at_a_shutdown() {
    let server = RunningRouter::new(Router::new().route("/", get(|| async { "well" }))).await;
    let mut fresh = TcpStream::connect(server.address).await.unwrap();
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    // The server has taken the connections before, because it takes them one after the other.
    let last = Http2Client::connect(server.address).await;
    assert_eq!(last.text("/").await, "well");
    server.shutdown.cancel();
    last.ended().await.unwrap();
    fresh.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let answer = String::from_utf8(rest_bytes(&mut fresh).await).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("well"), "{answer}");
    assert!(rest_bytes(&mut silent).await.is_empty());
    server.running.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_not_read_holds_up_no_other_body_of_its_connection() {
    let (begun, mut begins) = mpsc::unbounded_channel();
    let hold = move |mut body: Body| async move {
        body.frame().await.unwrap().unwrap();
        begun.send(()).unwrap();
        std::future::pending::<()>().await;
    };
    let count = |body: Bytes| async move { body.len().to_string() };
    let server = RunningRouter::new(Router::new().route("/hold", post(hold)).route("/count", post(count))).await;
    let client = Http2Client::connect(server.address).await;
    let large = vec![0; 2 << 20];
    let mut held = Box::pin(client.send(Request::post(client.address_of("/hold")), large));
    assert!(futures::poll!(held.as_mut()).is_pending());
    begins.recv().await.unwrap();
    let counting = client.answer(Request::post(client.address_of("/count")), vec![0; 500_000]);
    let counted = timeout(TEST_DEADLINE, counting).await.expect("the second body is held up");
    assert_eq!(counted.bytes, "500000");
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
    let limits = ConnectionLimits { head: SHORT_LIMIT, idle: TEST_DEADLINE, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
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
    let limits = ConnectionLimits { head: TEST_DEADLINE, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    let used = Http2Client::connect(listening.address).await;
    let start = Instant::now();
    while start.elapsed() < 3 * SHORT_LIMIT {
        assert_eq!(used.text("/healthz").await, HEALTHY);
    }
    let _ = used.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_byte_after_an_answer_of_http2_is_not_the_head_of_a_request() {
    // If it were, the connection would stay open for this time.
    let limits = ConnectionLimits { head: 10 * TEST_DEADLINE, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    let mut stream = listening.connect().await;
    stream.write_all(&[PREFACE, &get_frame(1)].concat()).await.unwrap();
    while read_frame(&mut stream).await.0 != HEADERS {}
    // PING.
    stream.write_all(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]).await.unwrap();
    rest_bytes(&mut stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_its_answers_loses_the_connection() {
    let limits = ConnectionLimits { most: 1, head: TEST_DEADLINE, idle: SHORT_LIMIT };
    let listening = ListeningServer::with(limits).await;
    let mut builder = Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(1_000);
    let client = Http2Client::connect_by(&builder, listening.address).await;
    let asked =
        (0..20).map(|_| client.send(Request::get(client.address_of("/docs/swagger-ui-bundle.js")), Body::empty()));
    let unread: Vec<_> = join_all(asked).await.into_iter().map(Result::unwrap).collect();
    let _ = client.ended().await;
    drop(unread);
    // Its place is free again.
    let start = Instant::now();
    while Http2Client::connect(listening.address).await.text("/healthz").await != HEALTHY {
        assert!(start.elapsed() < TEST_DEADLINE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pings_do_not_keep_an_unread_answer() {
    let limits = ConnectionLimits { head: TEST_DEADLINE, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    // A window that lets nothing pass, and one that lets only a part of the answer pass.
    for window in [0_u32, 5] {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        builder.timer(TokioTimer::new()).keep_alive_interval(SHORT_LIMIT / 4).keep_alive_timeout(TEST_DEADLINE);
        let client = Http2Client::connect_by(&builder, listening.address).await;
        let unread = client.send(Request::get(client.address_of("/healthz")), Body::empty()).await.unwrap();
        let _ = client.ended().await;
        drop(unread);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_request_does_not_keep_an_unread_answer() {
    let limits = ConnectionLimits { head: TEST_DEADLINE, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    for window in [0_u32, 5] {
        let mut builder = Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(window);
        let client = Http2Client::connect_by(&builder, listening.address).await;
        let report = request(&listening.server.key, "POST", &client.address_of(&group("/kernels")));
        let endless = Body::from_stream(stream::pending::<std::io::Result<Bytes>>());
        let report = report.header("content-type", "application/x-ndjson").body(endless).unwrap();
        let reporting = client.sender.clone().send_request(report);
        let unread = client.send(Request::get(client.address_of("/healthz")), Body::empty()).await.unwrap();
        let _ = client.ended().await;
        drop((reporting, unread));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_of_endless_continuations_ends_the_connection() {
    let limits = ConnectionLimits { head: 10 * TEST_DEADLINE, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
    let mut stream = listening.connect().await;
    // HEADERS that end neither the head nor the stream, and CONTINUATION with the header `x: y`.
    let begun = [0, 0, 3, HEADERS, 0, 0, 0, 0, 1, 0x82, 0x86, 0x84];
    let continued = [0, 0, 5, 9, 0, 0, 0, 0, 1, 0, 1, b'x', 1, b'y'];
    stream.write_all(&[PREFACE, &begun].concat()).await.unwrap();
    // The server resets a connection that still sends.
    let sending = async { while stream.write_all(&continued).await.is_ok() {} };
    timeout(TEST_DEADLINE, sending).await.expect("the connection stays open");
    assert_eq!(Http2Client::connect(listening.address).await.text("/healthz").await, HEALTHY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_beyond_the_limit_is_refused_over_http2_and_closed() {
    let limits = ConnectionLimits { most: 1, ..ConnectionLimits::default() };
    let listening = ListeningServer::with(limits).await;
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
    let connections = ConnectionLimits { head: SHORT_LIMIT, idle: SHORT_LIMIT, ..ConnectionLimits::default() };
    let limits = RequestLimits { timeout: SHORT_LIMIT, silence: 5 * SHORT_LIMIT, ..RequestLimits::default() };
    let listening = ListeningServer::over(sqlite().await, limits, connections).await;
    let report = |client: &Http2Client| {
        let path = client.address_of(&group("/kernels"));
        request(&listening.server.key, "POST", &path).header("content-type", "application/x-ndjson")
    };
    let steady = Http2Client::connect(listening.address).await;
    let (rows, body) = unbounded::<std::io::Result<String>>();
    let sending = async {
        let (start, mut count) = (Instant::now(), 0);
        // Longer than every limit, as rows keep coming.
        while start.elapsed() < 7 * SHORT_LIMIT {
            rows.unbounded_send(Ok(row(&format!("k{count}")))).unwrap();
            count += 1;
            tokio::time::sleep(SHORT_LIMIT / 4).await;
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
    let listening = ListeningServer::over(sqlite().await, limits, ConnectionLimits::default()).await;
    let client = Http2Client::connect(listening.address).await;
    let weights = request(&listening.server.key, "PUT", &client.address_of(&group("/fair-share-weights")));
    let weights = weights.header("content-type", "application/json");
    let body = json!({"items": [], "reason": "x".repeat(2_000)}).to_string();
    assert_eq!(client.answer(weights, body).await.status, 413);
    assert_eq!(client.text("/healthz").await, HEALTHY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_says_what_one_connection_may_ask() {
    let listening = ListeningServer::with(ConnectionLimits::default()).await;
    let mut stream = listening.connect().await;
    stream.write_all(PREFACE).await.unwrap();
    // The first frame has the settings of the server.
    let (kind, settings) = read_frame(&mut stream).await;
    assert_eq!(kind, SETTINGS);
    let setting = |id: u16| {
        let entry = settings.chunks(6).find(|entry| entry[..2] == id.to_be_bytes())?;
        Some(u32::from_be_bytes(entry[2..].try_into().unwrap()))
    };
    let (max_concurrent_streams, window, max_header_list_size) = (setting(3), setting(4), setting(6));
    let expected = (Some(100), Some(64 << 10), Some(16 << 10));
    assert_eq!((max_concurrent_streams, window, max_header_list_size), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_that_is_too_long_is_refused_over_http2() {
    let listening = ListeningServer::with(ConnectionLimits::default()).await;
    let client = Http2Client::connect(listening.address).await;
    let long = Request::get(client.address_of("/healthz")).header("x-long", "x".repeat(17 << 10));
    assert_eq!(client.send(long, Body::empty()).await.unwrap().status(), 431);
    assert_eq!(client.text("/healthz").await, HEALTHY);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_its_requests_back_in_masses_is_disconnected() {
    let listening = ListeningServer::with(ConnectionLimits::default()).await;
    let mut bytes = PREFACE.to_vec();
    for stream in (1..=399_u16).step_by(2) {
        let [high, low] = stream.to_be_bytes();
        bytes.extend(get_frame(stream));
        // RST_STREAM with the reason CANCEL.
        bytes.extend([0, 0, 4, 3, 0, 0, 0, high, low, 0, 0, 0, 8]);
    }
    let mut stream = listening.connect().await;
    stream.write_all(&bytes).await.unwrap();
    let answer = rest_bytes(&mut stream).await;
    // The last frame is a GOAWAY with the reason ENHANCE_YOUR_CALM.
    let goaway = answer.windows(9).rposition(|head| head[3..] == [7, 0, 0, 0, 0, 0]).expect("no GOAWAY");
    assert_eq!(answer[goaway + 9 + 4..][..4], [0, 0, 0, 11]);
    assert_eq!(Http2Client::connect(listening.address).await.text("/healthz").await, HEALTHY);
}
