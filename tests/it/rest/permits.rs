//! What computes long waits for a permit; no other request does.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use fairshared::service::work::ComputePermits;
use fairshared::service::{Error, Result};
use futures::poll;
use serde_json::json;
use tokio::sync::mpsc;

use super::support::{Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::on_both;

/// Work that goes on until the test lets it end.
struct Gate {
    open: Sender<()>,
    shut: Arc<Mutex<Receiver<()>>>,
}

impl Gate {
    fn new() -> Self {
        let (open, shut) = channel();
        Self { open, shut: Arc::new(Mutex::new(shut)) }
    }

    /// Work that says when it begins.
    fn work(&self, begun: &mpsc::UnboundedSender<()>) -> impl FnOnce() -> Result<()> + Send + 'static {
        let (shut, begun) = (Arc::clone(&self.shut), begun.clone());
        move || {
            begun.send(()).unwrap();
            let _ = shut.lock().unwrap().recv();
            Ok(())
        }
    }
}

#[tokio::test]
async fn who_comes_first_is_served_first_and_who_leaves_is_not_waited_for() {
    let (permits, gate) = (ComputePermits::new(1), Gate::new());
    let (begun, mut begins) = mpsc::unbounded_channel();
    let mut first = pin!(permits.run(gate.work(&begun)));
    assert!(poll!(&mut first).is_pending());
    begins.recv().await.unwrap();
    let log = Arc::new(Mutex::new(Vec::new()));
    let say = |name: &'static str| {
        let log = Arc::clone(&log);
        permits.run(move || {
            log.lock().unwrap().push(name);
            Ok(())
        })
    };
    let (mut second, mut third) = (Box::pin(say("second")), pin!(say("third")));
    assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
    let mut fourth = pin!(permits.run::<()>(|| panic!("a bug in the computation")));
    let mut fifth = pin!(say("fifth"));
    assert!(poll!(&mut fourth).is_pending() && poll!(&mut fifth).is_pending());
    assert_eq!((log.lock().unwrap().len(), permits.free()), (0, 0));
    drop(second);
    drop(gate.open);
    first.await.unwrap();
    let (third, fourth, fifth) = futures::join!(third, fourth, fifth);
    assert!(third.is_ok() && matches!(fourth, Err(Error::Internal { .. })) && fifth.is_ok());
    assert_eq!(*log.lock().unwrap(), ["third", "fifth"]);
    assert_eq!(permits.free(), 1);
}

/// Asks once, so that the future has come as far as it can.
async fn waits(future: std::pin::Pin<&mut impl Future>) -> bool {
    poll!(future).is_pending()
}

on_both! {
    async fn light_work_goes_on_while_all_places_are_taken(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.get(&group("/division")).await;
        let gate = Gate::new();
        let (begun, mut begins) = mpsc::unbounded_channel();
        let count = server.service.permits.free();
        let mut busy: Vec<_> = (0..count).map(|_| Box::pin(server.service.permits.run(gate.work(&begun)))).collect();
        for work in &mut busy {
            assert!(waits(work.as_mut()).await);
            begins.recv().await.unwrap();
        }
        assert_eq!(server.service.permits.free(), 0);
        let body = json!({"algorithm": "drf", "capacity": {"cpu": 8}, "queues": [{"name": "a", "request": {"cpu": 5}}]});
        let mut simulated = pin!(server.call("POST", "/division/simulate", Some(&body)));
        assert!(waits(simulated.as_mut()).await);
        // Reads, the division that was made already, sequences, ingest, weights and runs.
        server.get(&group("/fair-share-status")).await;
        server.get(&group("/division")).await;
        let workload = json!({"workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision")});
        server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload]}))).await.json(200);
        assert!(server.ingest(&[kernel("k9", "dan", "vision", "2026-01-13T11:00:00Z")]).await.is_empty());
        let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
        server.clock.advance_seconds(300);
        server.tick().await;
        // A new picture is divided for the sequence alone: it does not wait either.
        server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler": "score"}))).await.json(200);
        server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload]}))).await.json(200);
        assert!(waits(simulated.as_mut()).await);
        let caller = admin();
        let mut divided = pin!(server.service.division(&caller, GROUP, true));
        assert!(waits(divided.as_mut()).await);
        drop(gate.open);
        for work in busy {
            work.await.unwrap();
        }
        assert_eq!(simulated.await.json(200)["queues"][0]["fair_share"], json!({"cpu": "5"}));
        assert!(divided.await.is_ok());
    }
}
