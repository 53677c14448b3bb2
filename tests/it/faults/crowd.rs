//! Many clients with the least roles send every read request, and a scheduler and a probe get their answers as before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fairshared::service::{Clock, SystemClock};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::support::Reporter;
use crate::cli::program::{Server, end, over};
use crate::rest::walk::all_endpoints;
use crate::support::database::TestDb;
use crate::support::fixture::{GROUP, id, kernel};
use crate::support::on_both;

const CLIENTS: usize = 16;
/// Kernels in one request.
const BATCH: usize = 5_000;
/// The pause of a scheduler after a refusal: what `Retry-After` says.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest time until a report is accepted. A machine that is much busier than a scheduler's lets a write wait longer
/// for the group than it may, and requests right after it are refused at once.
const REPORT_DEADLINE: Duration = Duration::from_mins(1);

/// A query that asks for `count` lists of users; each looks at all users of the group unless another has the same filter.
fn many_lists(count: usize) -> Value {
    let list = |n| {
        format!(
            "a{n}: user_fair_shares(resource_group: {GROUP:?}, first: 1, filter: {{user_name: {{contains: \"{n}\"}}}}) \
             {{ count }}"
        )
    };
    let lists: Vec<String> = (0..count).map(list).collect();
    json!({"query": format!("{{ {} }}", lists.join(" "))})
}

/// One query for each field of GraphQL that needs only a resource group; it contains the field many times.
async fn fields_many_times(url: &str, key: &str) -> Vec<Value> {
    const FIELDS: &str = "{ __schema { queryType { fields { name args { name defaultValue type { kind } } \
                          type { kind ofType { kind } } } } } }";
    let asked = Client::new().post(format!("{url}/graphql")).bearer_auth(key).json(&json!({ "query": FIELDS }));
    let answer: Value = asked.send().await.unwrap().json().await.unwrap();
    let needs = |field: &Value| -> Vec<String> {
        let args = field["args"].as_array().unwrap().iter();
        let needed = args.filter(|arg| arg["type"]["kind"] == "NON_NULL" && arg["defaultValue"].is_null());
        needed.map(|arg| arg["name"].as_str().unwrap().to_owned()).collect()
    };
    let many_times = |field: &Value| {
        let group = match &needs(field)[..] {
            [] => String::new(),
            [only] if only == "resource_group" => format!("(resource_group: {GROUP:?})"),
            _ => return None,
        };
        let kinds = &field["type"];
        let kind = if kinds["kind"] == "NON_NULL" { &kinds["ofType"]["kind"] } else { &kinds["kind"] };
        let selected = if kind == "SCALAR" { "" } else { "{ __typename }" };
        let name = field["name"].as_str().unwrap();
        let fields: Vec<String> = (0..10).map(|n| format!("a{n}: {name}{group} {selected}")).collect();
        Some(json!({"query": format!("{{ {} }}", fields.join(" "))}))
    };
    let fields = answer["data"]["__schema"]["queryType"]["fields"].as_array().unwrap();
    let queries: Vec<Value> = fields.iter().filter_map(many_times).collect();
    assert!(queries.len() > 15, "{queries:?}");
    queries
}

/// The requests of the crowd: paths to read, and queries.
struct Questions {
    paths: Vec<String>,
    queries: Vec<Value>,
}

/// The number of answers by status, over all clients.
type Answers = Arc<Mutex<BTreeMap<u16, usize>>>;

/// Sends all requests again and again, until the task is ended.
async fn ask_everything(url: String, key: String, all: Arc<Questions>, answers: Answers) {
    let client = Client::new();
    let queues: Vec<Value> = (0..200).map(|n| json!({"name": format!("q{n}"), "request": {"cpu": n + 1}})).collect();
    let simulation = json!({"algorithm": "drf", "capacity": {"cpu": 1_000}, "queues": queues});
    loop {
        let queries = all.queries.iter().map(|query| ("/graphql", query));
        let posts = queries.chain([("/division/simulate", &simulation)]);
        let posts = posts.map(|(path, body)| client.post(format!("{url}{path}")).json(body));
        let reads = all.paths.iter().map(|path| client.get(format!("{url}{path}")));
        for request in posts.chain(reads) {
            let answer = request.bearer_auth(&key).send().await.unwrap();
            *answers.lock().unwrap().entry(answer.status().as_u16()).or_default() += 1;
            answer.bytes().await.unwrap();
        }
    }
}

fn key_of(url: &str, flags: &[&str]) -> String {
    end(over(url).args(["keys", "create", "--label", "crowd"]).args(flags)).ok().trim_end().to_owned()
}

/// The size of one test: `users` of the group, enough for lists that need a permit, and `rounds` of sequences, probes and
/// reports while the crowd sends its requests.
struct Extent {
    users: usize,
    rounds: usize,
}

/// The longest and the usual of these times, for the log of the long test.
fn times_text(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
    format!("half within {:?}, 99 % within {:?}, the longest {:?}", at(50), at(99), at(100))
}

/// Reports a running kernel of each of these users. The kernels have run for an hour, because a run that records months of all
/// of them would delay reports by itself.
async fn report_users(reporter: &Reporter, server: &Server, users: usize) {
    let start = SystemClock.now().plus_micros(-3_600_000_000).to_string();
    let path = format!("/resource-groups/{GROUP}/kernels");
    for first in (0..users).step_by(BATCH) {
        let batch = first..(first + BATCH).min(users);
        let kernels: Vec<Value> =
            batch.clone().map(|n| kernel(&format!("crowd{n}"), &format!("u{n}"), "ml", &start)).collect();
        let answer = reporter.call(server, Method::POST, &path, &Value::from(kernels)).await;
        assert_eq!((answer.status, &answer.body["accepted"]), (200, &json!(batch.len())), "{answer:?}");
    }
}

async fn assert_a_crowd_stops_neither_scheduler_nor_probe(db: TestDb, extent: Extent) {
    let mut reporter = Reporter::new(db.url.clone());
    let user = id("u1").to_string();
    let keys = [key_of(&db.url, &["--role", "viewer"]), key_of(&db.url, &["--role", "user", "--user", &user])];
    let server = Server::over(&db.url);
    reporter.make_group(&server).await;
    report_users(&reporter, &server, extent.users).await;
    let mut queries = fields_many_times(&server.address, &keys[0]).await;
    queries.push(many_lists(100));
    let readable = all_endpoints().into_iter().filter(|endpoint| endpoint.method == "GET");
    let all = Arc::new(Questions { paths: readable.map(|endpoint| endpoint.path).collect(), queries });
    let (answers, mut crowd) = (Answers::default(), JoinSet::new());
    for n in 0..CLIENTS {
        let (url, key) = (server.address.clone(), keys[n % keys.len()].clone());
        crowd.spawn(ask_everything(url, key, Arc::clone(&all), Arc::clone(&answers)));
    }
    let workload = json!({"workload_id": "w", "user_uuid": user, "project_id": id("ml")});
    let sequence = (format!("/resource-groups/{GROUP}/sequence"), json!({"workloads": [workload]}));
    let (mut sequences, mut probes) = (Vec::new(), Vec::new());
    for _ in 0..extent.rounds {
        let begun = Instant::now();
        let ordered = reporter.call(&server, Method::POST, &sequence.0, &sequence.1).await;
        sequences.push(begun.elapsed());
        assert_eq!((ordered.status, &ordered.body["items"][0]["workload_id"]), (200, &json!("w")), "{ordered:?}");
        let begun = Instant::now();
        assert_eq!(reporter.call(&server, Method::GET, "/healthz", &Value::Null).await.status, 200);
        probes.push(begun.elapsed());
        let begun = Instant::now();
        let (name, mut reported) = reporter.report_another(&server).await;
        while reported.status == 503 && begun.elapsed() < REPORT_DEADLINE {
            assert_eq!(reported.retry_after.as_deref(), Some("1"), "{reported:?}");
            tokio::time::sleep(PAUSE).await;
            reported = reporter.report(&server, &name).await;
        }
        assert_eq!(reported.status, 200, "{name}: {reported:?}");
    }
    assert!(crowd.try_join_next().is_none(), "a client of the crowd has ended");
    let answers = answers.lock().unwrap().clone();
    // 503 is a refusal that may be tried again; nothing else of the server's own fails.
    assert!(answers.keys().all(|status| *status < 500 || *status == 503), "{answers:?}");
    assert!(answers.contains_key(&200), "{answers:?}");
    println!("sequences: {}; /healthz: {}; answers by status: {answers:?}", times_text(sequences), times_text(probes));
}

on_both! {
    async fn a_crowd_that_asks_everything_stops_neither_a_scheduler_nor_a_probe(db: TestDb) {
        assert_a_crowd_stops_neither_scheduler_nor_probe(db, Extent { users: 2_500, rounds: 20 }).await;
    }

    #[ignore = "long"]
    async fn long_a_crowd_among_100000_users(db: TestDb) {
        assert_a_crowd_stops_neither_scheduler_nor_probe(db, Extent { users: 100_000, rounds: 500 }).await;
    }
}
