//! The memory that a request costs, in a real process.

use serde_json::{Value, json};

use super::program::{Server, over, run};
use crate::support::database::{self, TestDb};
use crate::support::fixture::id;

/// The most memory that the process ever had.
fn peak_mib(server: &Server) -> f64 {
    server.peak_memory() as f64 / 1024.0
}

/// A request whose body repeats `element` in `list` of a document up to a size of `mib` MiB.
struct Flood<'a> {
    method: &'a str,
    path: &'a str,
    document: [&'a str; 2],
    element: &'a str,
    mib: usize,
}

/// The outcome of a flood.
struct Outcome {
    status: u16,
    answer: Value,
    elements: usize,
    /// The memory that it cost, in MiB.
    cost: f64,
}

impl Flood<'_> {
    /// Sends it to a new server.
    async fn send(self) -> Outcome {
        let target = FloodTarget::new("admin", None).await;
        // Sent first, because the memory that the first request of its kind takes must not count.
        target.call(self.method, self.path, self.document.concat()).await;
        let before = peak_mib(&target.server);
        let elements = (self.mib << 20) / (self.element.len() + 1);
        let body = self.document.join(&vec![self.element; elements].join(","));
        let (status, answer) = target.call(self.method, self.path, body).await;
        Outcome { status, answer, elements, cost: peak_mib(&target.server) - before }
    }
}

/// A server with a resource group, and a key.
struct FloodTarget {
    server: Server,
    key: String,
    _db: TestDb,
}

impl FloodTarget {
    /// A server whose requests may take `budget` MiB together, and a key with `role`.
    async fn new(role: &str, budget: Option<usize>) -> Self {
        let db = database::sqlite().await;
        let key = |role: &str| run(&db, ["keys", "create", "--role", role, "--label", role]).ok().trim_end().to_owned();
        let (admin, key) = (key("admin"), key(role));
        let bytes = budget.map_or(0, |mib| mib << 20).to_string();
        let server = Server::start(over(&db.url).arg("serve").env("FAIRSHARED_MAX_BODIES_BYTES", bytes));
        let target = Self { server, key: admin, _db: db };
        assert_eq!(target.call("PUT", "/resource-groups/g", "{}".to_owned()).await.0, 201);
        Self { key, ..target }
    }

    async fn call(&self, method: &str, path: &str, body: String) -> (u16, Value) {
        let request = reqwest::Client::new().request(method.parse().unwrap(), format!("{}{path}", self.server.address));
        let request = request.bearer_auth(&self.key).header("content-type", "application/json");
        let answer = request.body(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
    }

    /// The status and the answer of a request, and the memory that it costs, in MiB.
    async fn measure(&self, path: &str, body: String) -> (u16, Value, f64) {
        let before = peak_mib(&self.server);
        let (status, answer) = self.call("POST", path, body).await;
        (status, answer, peak_mib(&self.server) - before)
    }

    /// [`FloodTarget::measure`] for GraphQL. `parameters` are JSON of further keys.
    async fn measure_query(&self, query: &str, parameters: &str) -> (u16, Value, f64) {
        self.call("POST", "/graphql", json!({"query": "{ __typename }"}).to_string()).await;
        self.measure("/graphql", format!(r#"{{"query": {}, {parameters}}}"#, json!(query))).await
    }
}

/// Copies of `element` in a JSON list of about `kib` KiB.
fn list_of(element: &str, kib: usize) -> String {
    let count = (kib << 10) / (element.len() + 1);
    format!("[{}]", vec![element; count].join(","))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn extensions_of_graphql_are_not_built() {
    let target = FloodTarget::new("admin", None).await;
    let extensions = format!(r#""extensions": {{"a": {}}}"#, list_of("[0]", 15 << 10));
    let (status, answer, cost) = target.measure_query("{ __typename }", &extensions).await;
    assert_eq!((status, &answer["data"]["__typename"]), (200, &json!("Query")));
    assert!(cost <= 4.0 * 15.0 + 16.0, "{cost} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_of_variables_is_reserved_before_they_are_built() {
    let target = FloodTarget::new("admin", Some(256)).await;
    let variables = |kib| format!(r#""variables": {{"a": {}}}"#, list_of("[0]", kib));
    let (status, answer, cost) = target.measure_query("{ __typename }", &variables(15 << 10)).await;
    assert_eq!((status, &answer["code"]), (413, &json!("too_large")), "{answer}");
    assert!(cost <= 4.0 * 15.0 + 16.0, "{cost} MiB");
    // Neither a list in the query itself, nor one in a text.
    let query = format!("{{ simulate_division(input: {}) }}", list_of("[0]", 245));
    let target = FloodTarget::new("admin", Some(64)).await;
    for (query, variables) in [
        (query, r#""variables": null"#.to_owned()),
        (
            "query ($a: JSONString!) { simulate_division(input: $a) }".to_owned(),
            format!(r#""variables": {{"a": {}}}"#, json!(list_of("[0]", 1 << 10))),
        ),
    ] {
        let (status, answer, cost) = target.measure_query(&query, &variables).await;
        assert_eq!((status, &answer["code"]), (413, &json!("too_large")), "{answer}");
        assert!(cost <= 16.0, "{cost} MiB");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variables_cost_at_most_the_memory_that_is_reserved_for_them() {
    let nested = format!("{}0{}", r#"{"":"#.repeat(30), "}".repeat(30));
    for element in ["[0]", "0", r#"{"":0}"#, &nested, r#""text""#] {
        let target = FloodTarget::new("viewer", Some(4_096)).await;
        let list = list_of(element, 920);
        let values = list.matches(['[', '{', ',', ':']).count();
        let reserved = (values * 800 + list.len() * 16) as f64 / f64::from(1 << 20);
        let query = "query ($a: JSONString!) { simulate_division(input: $a) }";
        let (status, answer, cost) = target.measure_query(query, &format!(r#""variables": {{"a": {list}}}"#)).await;
        assert_eq!((status, &answer["errors"][0]["path"][0]), (200, &json!("simulate_division")), "{answer}");
        assert!(cost <= reserved, "{element}: {cost} of {reserved} MiB");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_variable_is_copied_for_one_field_at_a_time() {
    let target = FloodTarget::new("viewer", None).await;
    let field = |n: usize| {
        format!(
            r#"a{n}: usage_records(resource_group: "g", from: "2026-11-01", to: "2026-11-02", domain_name: $a, first: 1) {{ count }}"#
        )
    };
    let query = format!("query ($a: String) {{ {} }}", (0..150).map(field).collect::<Vec<_>>().join(" "));
    let variables = format!(r#""variables": {{"a": "{}"}}"#, "x".repeat(900_000));
    let (status, answer, cost) = target.measure_query(&query, &variables).await;
    assert_eq!((status, &answer["data"]["a149"]["count"]), (200, &json!(0)), "{answer}");
    assert!(cost <= 32.0, "{cost} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simulations_count_what_they_make_of_few_bytes() {
    let target = FloodTarget::new("viewer", Some(256)).await;
    let queues: Vec<_> = (0..70_000).map(|n| format!(r#"{{"name":"{n}"}}"#)).collect();
    let divided = format!(r#"{{"capacity":{{}},"algorithm":"drf","queues":[{}]}}"#, queues.join(","));
    let users: Vec<_> = (0..70_000).map(|n| format!(r#"{{"user":"{n}","project":"p","domain_name":"d"}}"#)).collect();
    let changes = format!(r#"{{"add_users":[{}]}}"#, users.join(","));
    for (path, body) in [("/division/simulate", divided), ("/resource-groups/g/fair-share-simulations", changes)] {
        let (status, answer, cost) = target.measure(path, body).await;
        assert_eq!((status, &answer["code"]), (413, &json!("too_large")), "{path}");
        // The queues are read before they are counted; without a refusal they would be divided as well.
        assert!(cost <= 128.0, "{path}: {cost} MiB");
    }
    let options = format!(r#"{{"scheduler_opts":{{"a":{}}}}}"#, list_of("[0]", 1_536));
    let (status, answer, cost) = target.measure("/resource-groups/g/fair-share-simulations", options).await;
    let fault = &answer["errors"][0];
    assert_eq!((status, &fault["code"], &fault["pointer"]), (422, &json!("too_large"), &json!("/scheduler_opts")));
    assert!(cost <= 16.0, "{cost} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_array_costs_its_elements_one_by_one() {
    let numbers =
        Flood { method: "POST", path: "/resource-groups/g/kernels", document: ["[", "]"], element: "0", mib: 8 };
    let Outcome { status, answer, elements, cost } = numbers.send().await;
    assert_eq!((status, &answer["accepted"]), (200, &json!(0)));
    assert_eq!(answer["rejected"], elements);
    let errors = answer["errors"].as_array().unwrap();
    assert_eq!((errors.len(), &errors[0]["count"]), (1, &json!(elements)));
    assert_eq!(errors[0]["rows"].as_array().unwrap().len(), 10_000);
    assert_eq!(answer["rejected_codes"], json!({"invalid_type": elements}));
    // Memory for the first 10,000 elements, which the answer lists.
    assert!(cost <= 16.0, "{cost} MiB");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sequence_costs_at_most_four_times_its_size() {
    let workload = json!({"workload_id": "", "user_uuid": id("ann"), "project_id": id("ml")}).to_string();
    for (element, expected) in [(&*workload, 200), ("0", 422)] {
        let path = "/resource-groups/g/sequence";
        let flood = Flood { method: "POST", path, document: ["{\"workloads\":[", "]}"], element, mib: 8 };
        let Outcome { status, cost, .. } = flood.send().await;
        assert_eq!(status, expected);
        assert!(cost <= 32.0, "{element}: {cost} MiB");
    }
}

/// Elements that are much larger in memory than in the document. Reading stops at the first one above the limit, so that a
/// request costs at most four times its size and 48 MiB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_elements_than_anybody_has_are_not_read() {
    let empty = r#""capacity":{},"algorithm":"drf""#;
    let [divide, plan] = ["/division/simulate", "/reclaim/simulate"];
    let queues = format!("{{{empty},\"queues\":[");
    let agents = format!("{{{empty},\"queues\":[],\"agents\":[");
    for (method, path, document, element, mib, pointer) in [
        ("POST", divide, [&*queues, "]}"], "{}", 64, "/queues"),
        ("POST", plan, [&queues, "]}"], r#"{"name":""}"#, 64, "/queues"),
        ("POST", plan, [&agents, "]}"], r#"{"agent_id":"","available_slots":{}}"#, 16, "/agents"),
        ("PUT", "/resource-groups/g/queues", [r#"{"queues":["#, "]}"], "{}", 15, "/queues"),
        (
            "PUT",
            "/resource-groups/g/fair-share-weights",
            [r#"{"items":["#, "]}"],
            r#"{"target_type":"user","weight":null}"#,
            15,
            "/items",
        ),
    ] {
        let Outcome { status, answer, cost, .. } = Flood { method, path, document, element, mib }.send().await;
        let fault = &answer["errors"][0];
        assert_eq!((status, &fault["code"], &fault["pointer"]), (422, &json!("too_many"), &json!(pointer)), "{answer}");
        // The longest list of queues.
        assert!(cost <= 4.0 * mib as f64 + 48.0, "{path} {pointer}: {cost} MiB");
    }
}
