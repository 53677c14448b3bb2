//! Every read after a write shows its answer, however many clients create, change and delete at the same time.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairshared::domain::decimal::Amount;
use serde_json::{Value, json};

use super::support::Server;
use crate::support::fixture::surely;
use crate::support::on_both;

/// The outcome of one request about one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A PUT that was answered with 200 or 201: the group exists.
    Put,
    /// A DELETE that was answered with 204: the group is deleted.
    Deleted,
    /// An answer that only an existing group can give.
    Present,
    /// A 404.
    Absent,
}

/// A request with the times between which it took effect.
#[derive(Clone, Copy, Debug)]
struct Event {
    group: usize,
    start: u64,
    end: u64,
    seen: Seen,
}

/// True if an answer fits no order in which the writes may have taken effect: a read contradicts a write that ended before
/// it began unless a write of the other kind may lie between the two.
fn contradicts(events: &[Event], read: &Event) -> bool {
    let (against, excuse) = match read.seen {
        Seen::Absent => (Seen::Put, Seen::Deleted),
        Seen::Present => (Seen::Deleted, Seen::Put),
        Seen::Put | Seen::Deleted => return false,
    };
    let of = |seen| events.iter().filter(move |e| e.group == read.group && e.seen == seen);
    of(against)
        .filter(|write| write.end < read.start)
        .any(|write| !of(excuse).any(|other| other.end > write.start && other.start < read.end))
}

struct Clients {
    server: Server,
    ticks: AtomicU64,
    events: Mutex<Vec<Event>>,
}

impl Clients {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    async fn request(&self, group: usize, method: &str, path: &str, body: Option<&Value>) {
        let start = self.tick();
        let answer = self.server.call(method, &format!("/resource-groups/g{group}{path}"), body).await;
        let end = self.tick();
        let seen = match (method, path, answer.status.as_u16()) {
            ("PUT", "", 200 | 201) => Seen::Put,
            ("DELETE", "", 204) => Seen::Deleted,
            (_, _, 200 | 201) => Seen::Present,
            ("GET" | "PATCH" | "DELETE" | "POST", _, 404) | ("PUT", "/agents/a", 404) => Seen::Absent,
            other => panic!("{other:?}: {}", String::from_utf8_lossy(&answer.bytes)),
        };
        self.events.lock().unwrap().push(Event { group, start, end, seen });
    }

    /// One client's requests, in an order that depends on its number only.
    async fn client(&self, number: usize) {
        let options = json!({"scheduler_opts": {"half_life_days": number + 1}});
        let agent = json!({"available_slots": {"cpu": number + 1}});
        for round in 0..12 {
            let group = (number + round) % 2;
            self.request(group, "PUT", "", Some(&options)).await;
            self.request(group, "GET", "", None).await;
            match (number + round / 2) % 5 {
                0 => self.request(group, "DELETE", "", None).await,
                1 => self.request(group, "PATCH", "/scheduler-options", Some(&options)).await,
                2 => self.request(group, "PUT", "/agents/a", Some(&agent)).await,
                3 => self.request(group, "POST", "/sequence", Some(&json!({"workloads": []}))).await,
                _ => {}
            }
            self.request(group, "GET", "/fair-share-status", None).await;
        }
    }
}

/// Reads again the changes of other processes, as the server does all the time, until `stop` is set.
fn refresher(clients: &Arc<Clients>, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<()> {
    let (clients, stop) = (Arc::clone(clients), Arc::clone(stop));
    tokio::spawn(async move {
        while !stop.load(Ordering::SeqCst) {
            clients.server.service.refresh().await.unwrap();
            tokio::task::yield_now().await;
        }
    })
}

on_both! {
    async fn reads_show_what_writes_answered(db: TestDb) {
        let server = Server::new(db).await;
        let clients = Arc::new(Clients { server, ticks: AtomicU64::new(0), events: Mutex::default() });
        let stop = Arc::new(AtomicBool::new(false));
        let refresher = refresher(&clients, &stop);
        let all = (0..6).map(|number| {
            let clients = Arc::clone(&clients);
            tokio::spawn(async move { clients.client(number).await })
        });
        for client in all.collect::<Vec<_>>() {
            client.await.unwrap();
        }
        stop.store(true, Ordering::SeqCst);
        refresher.await.unwrap();
        let events = clients.events.lock().unwrap().clone();
        let wrong: Vec<_> = events.iter().filter(|read| contradicts(&events, read)).collect();
        assert!(wrong.is_empty(), "{} of {}: {:?}", wrong.len(), events.len(), wrong.first());
        assert!(events.iter().any(|e| e.seen == Seen::Deleted));
    }

    async fn one_of_many_clients_creates_a_group(db: TestDb) {
        let server = Arc::new(Server::new(db).await);
        for round in 0..10 {
            let path = format!("/resource-groups/new-{round}");
            let clients = (1..=4).map(|days| {
                let (server, path) = (Arc::clone(&server), path.clone());
                tokio::spawn(async move {
                    let body = json!({"scheduler_opts": {"half_life_days": days}});
                    let put = server.call("PUT", &path, Some(&body)).await;
                    let read = server.call("GET", &path, None).await;
                    assert_eq!(read.status, 200);
                    put.status.as_u16()
                })
            });
            let mut statuses = Vec::new();
            for client in clients.collect::<Vec<_>>() {
                statuses.push(client.await.unwrap());
            }
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 200, 200, 201]);
        }
    }

    async fn a_group_of_another_server_is_found_by_the_first_request(db: TestDb) {
        let server = Server::new(db).await;
        let other = fairshared::service::Service::new(server.db.store().await, Arc::clone(&server.clock) as _).await.unwrap();
        let make = async |name: &str| {
            let patch = fairshared::service::groups::SchedulerPatch::default();
            other.put_group(crate::support::fixture::admin(), name.to_owned(), patch).await.unwrap();
        };
        make("new one").await;
        let kernels = json!([crate::support::fixture::kernel("k1", "alice", "ml", "2026-01-13T11:00:00Z")]);
        let posted = server.call("POST", "/resource-groups/new%20one/kernels", Some(&kernels)).await.json(200);
        assert_eq!(posted["accepted"], 1);
        make("new two").await;
        assert_eq!(server.graphql("{ resource_group(name: \"new two\") { name } }").await["data"]["resource_group"]["name"], "new two");
        make("new three").await;
        let query = json!({"query": "query($g: String!) { queues(resource_group: $g) { count } }", "variables": {"g": "new three"}});
        assert_eq!(server.call("POST", "/graphql", Some(&query)).await.json(200)["errors"], Value::Null);
    }

    /// Invented names cause no load on the database.
    async fn many_requests_for_unknown_groups_share_a_read(db: TestDb) {
        let server = Server::new(db).await;
        let before = server.service.store().statements();
        let ask = async |at: usize| {
            let path = format!("/resource-groups/invented-{at}/queues");
            server.call("GET", &path, None).await.refused(404, "unknown_resource_group");
        };
        futures::future::join_all((0..40).map(ask)).await;
        let sent = server.service.store().statements() - before;
        assert!((1..20).contains(&sent), "{sent} statements");
    }

    async fn a_group_of_another_process_is_not_taken_for_an_earlier_one_of_its_name(db: TestDb) {
        let server = Server::new(db).await;
        let other = fairshared::service::Service::new(server.db.store().await, Arc::clone(&server.clock) as _).await.unwrap();
        let path = "/resource-groups/again";
        server.call("PUT", path, Some(&json!({"scheduler_opts": {"half_life_days": 3}}))).await.json(201);
        server.call("PUT", "/resource-groups/again/agents/a", Some(&json!({"available_slots": {"cpu": "4"}}))).await.json(201);
        other.refresh().await.unwrap();
        let admin = crate::support::fixture::admin;
        other.delete_group(admin(), "again".to_owned(), surely("again")).await.unwrap();
        server.clock.advance_seconds(1);
        other.put_group(admin(), "again".to_owned(), fairshared::service::groups::SchedulerPatch::default()).await.unwrap();
        // An existing group is answered as it is stored, and so is every later read.
        let put = server.call("PUT", path, Some(&json!({}))).await.json(200);
        assert_eq!((&put["capacity"], &put["scheduler_opts"]["half_life_days"]), (&json!({}), &json!(7)));
        assert_eq!(server.get(path).await, put);
        assert!(server.service.group(&admin(), "again").unwrap().capacity.iter().all(|(_, amount)| amount == Amount::ZERO));
    }
}
