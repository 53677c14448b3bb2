//! Urgent requests have threads of their own, so that they are answered however long others compute.

use std::sync::{Arc, Condvar, Mutex};

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use bytes::Bytes;
use fairshared::server::{self, ConnectionLimits, StartupRouter};
use futures::future::join_all;
use futures::{StreamExt, stream};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Blocks threads until it is open.
#[derive(Default)]
struct Barrier {
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Barrier {
    fn wait(&self) {
        let is_open = self.is_open.lock().unwrap();
        drop(self.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

fn thread_name() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

/// A server over `router` alone, and its address.
async fn serve(router: Router) -> (String, CancellationToken) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, shutdown) = (listener.local_addr().unwrap(), CancellationToken::new());
    tokio::spawn(server::serve_router(
        StartupRouter::opened(router),
        listener,
        ConnectionLimits::default(),
        shutdown.clone(),
    ));
    (format!("http://{address}"), shutdown)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn urgent_requests_are_answered_while_all_threads_of_other_requests_compute() {
    let barrier = Arc::new(Barrier::default());
    let (begun, mut begins) = mpsc::unbounded_channel();
    let compute = {
        let barrier = Arc::clone(&barrier);
        move || async move {
            begun.send(()).unwrap();
            barrier.wait();
            thread_name()
        }
    };
    let router = Router::new()
        .route("/compute", get(compute))
        .route("/healthz", get(|| async { thread_name() }))
        .route("/resource-groups/g/sequence", post(|| async { thread_name() }));
    let (url, shutdown) = serve(router).await;
    let client = reqwest::Client::new();
    let computing: Vec<_> = (0..64)
        .map(|_| {
            let asked = client.get(format!("{url}/compute")).send();
            tokio::spawn(async move { asked.await.unwrap().text().await.unwrap() })
        })
        .collect();
    begins.recv().await.unwrap();
    let health = client.get(format!("{url}/healthz")).send().await.unwrap().text().await.unwrap();
    let sequence = client.post(format!("{url}/resource-groups/g/sequence")).send().await.unwrap().text().await.unwrap();
    barrier.open();
    for name in join_all(computing).await {
        assert_eq!(name.unwrap(), "fairshared-requests");
    }
    assert!(![health, sequence].contains(&"fairshared-requests".to_owned()));
    shutdown.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_in_pieces_is_made_on_the_threads_of_its_request_and_comes_whole() {
    let pieces = || async {
        Body::from_stream(stream::iter(0..1_000).map(|_| Ok::<_, std::io::Error>(Bytes::from(thread_name() + "\n"))))
    };
    let (url, shutdown) = serve(Router::new().route("/pieces", get(pieces))).await;
    let text = reqwest::get(format!("{url}/pieces")).await.unwrap().text().await.unwrap();
    assert_eq!(text, "fairshared-requests\n".repeat(1_000));
    shutdown.cancel();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_is_not_taken_for_whole() {
    let failing = || async {
        Body::from_stream(stream::iter([Ok(Bytes::from("a")), Err(std::io::Error::other("the database is gone"))]))
    };
    let panicking = || async {
        Body::from_stream(stream::iter(0..2).map(|at| {
            assert!(at == 0, "a bug");
            Ok::<_, std::io::Error>(Bytes::from("a"))
        }))
    };
    let router = Router::new().route("/failing", get(failing)).route("/panicking", get(panicking));
    let (url, shutdown) = serve(router).await;
    for path in ["failing", "panicking"] {
        // A body that breaks off at once may take its head with it, so that the client sees the error before the status.
        let text = async { reqwest::get(format!("{url}/{path}")).await?.text().await };
        assert!(text.await.is_err(), "{path}");
    }
    shutdown.cancel();
}
