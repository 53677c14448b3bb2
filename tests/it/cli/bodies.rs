//! The memory that a request costs, in a real process.

use serde_json::{Value, json};

use super::program::{Server, run};
use crate::support::database;
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
        let db = database::sqlite().await;
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok();
        let server = Server::over(&db.url);
        let client = reqwest::Client::new();
        let call = async |method: &str, path: &str, body: String| {
            let request = client.request(method.parse().unwrap(), format!("{}{path}", server.address));
            let request = request.bearer_auth(key.trim_end()).header("content-type", "application/json");
            let answer = request.body(body).send().await.unwrap();
            (answer.status().as_u16(), answer.json::<Value>().await.unwrap())
        };
        assert_eq!(call("PUT", "/resource-groups/g", "{}".to_owned()).await.0, 201);
        // Sent first, because the memory that the first request of its kind takes must not count.
        call(self.method, self.path, self.document.concat()).await;
        let before = peak_mib(&server);
        let elements = (self.mib << 20) / (self.element.len() + 1);
        let body = self.document.join(&vec![self.element; elements].join(","));
        let (status, answer) = call(self.method, self.path, body).await;
        Outcome { status, answer, elements, cost: peak_mib(&server) - before }
    }
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
