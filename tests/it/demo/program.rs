//! The demo as a new user sees it: started, read, and its three printed lines run in a shell.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::support::process_end::scratch_folder;

/// The running program, which is killed when the value is dropped.
pub struct Demo {
    child: Child,
    welcome: Vec<String>,
}

impl Demo {
    pub fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairshared"));
        // A database address in the environment must not lead the demo to a real one.
        command.env_clear().env("FAIRSHARED_DATABASE_URL", "sqlite:///nowhere/at/all.db");
        // Its folder stays when it is killed.
        command.env("TMPDIR", scratch_folder());
        command.args(["demo", "--still"]).args(args).args(["--listen", "127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut demo = Self { child, welcome: Vec::new() };
        for line in lines {
            demo.welcome.push(line.unwrap());
            if demo.welcome.last().unwrap().contains("Ctrl-C") {
                return demo;
            }
        }
        panic!("the demo ended before it was ready: {:?}", demo.welcome);
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        let url = self.variables().into_iter().find_map(|(name, value)| (name == "URL").then_some(value)).unwrap();
        url.strip_prefix("http://").unwrap()
    }

    /// The variables that the `export` line sets.
    pub fn variables(&self) -> Vec<(&str, &str)> {
        let line = self.welcome.iter().find_map(|line| line.strip_prefix("export ")).unwrap();
        line.split(' ').map(|pair| pair.split_once('=').unwrap()).collect()
    }

    pub fn stop(mut self) -> Option<i32> {
        let sent = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the request of a printed line. A shell parses the line, so that its quoting is tested.
pub async fn answer(line: &str, variables: &[(&str, &str)]) -> (u16, Value) {
    let shell = "curl() { for word in \"$@\"; do printf '%s\\0' \"$word\"; done; }; ";
    let mut command = Command::new("sh");
    let words = command.envs(variables.iter().copied()).arg("-c").arg(format!("{shell}{line}")).output().unwrap();
    assert!(words.status.success(), "{line}");
    let words = String::from_utf8(words.stdout).unwrap();
    let mut words = words.split_terminator('\0');
    let (mut headers, mut body, mut url, mut method) = (Vec::new(), None, String::new(), None);
    while let Some(word) = words.next() {
        match word {
            "-s" => {}
            "-H" => headers.push(words.next().unwrap().split_once(": ").unwrap()),
            "-d" => body = words.next(),
            "-X" => method = words.next(),
            other => url = if other.contains("://") { other.to_owned() } else { format!("http://{other}") },
        }
    }
    let method = method.unwrap_or(if body.is_some() { "POST" } else { "GET" });
    let mut request = reqwest::Client::new().request(method.parse().unwrap(), url);
    if let Some(body) = body {
        request = request.body(body.to_owned());
    }
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

async fn run(demo: &Demo, line: &str) -> Value {
    let (status, answer) = answer(line, &demo.variables()).await;
    assert_eq!(status, 200, "{line}");
    answer
}

#[tokio::test]
async fn the_printed_lines_work() {
    let demo = Demo::start(&[]);
    let lines: Vec<&String> = demo.welcome.iter().filter(|line| line.starts_with("curl ")).collect();
    let [fairness, sequence, graphql] = lines[..] else { panic!("{:?}", demo.welcome) };
    // It was started with `--still`.
    let last = "No kernel starts or ends by itself; those that run go on, and the jobs account for them as time passes. Ctrl-C ends the demo.";
    assert_eq!(demo.welcome.last().unwrap(), last);

    let fairness = run(&demo, fairness).await;
    assert_eq!(fairness["most_under_served"]["domain_name"], "industry", "{fairness}");

    let sequenced = run(&demo, sequence).await;
    assert_eq!(sequenced["sequencer"], "fairshare");
    let items = sequenced["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    assert_eq!(items[0]["workload_id"], "job-of-yara", "{items:?}");

    let answer = run(&demo, graphql).await;
    assert_eq!(answer["errors"], Value::Null, "{answer}");
    let edges = answer["data"]["user_fair_shares"]["edges"].as_array().unwrap();
    assert_eq!(edges.len(), 5);
    assert_eq!(edges[0]["node"]["rank"], json!(1));
    assert!(edges.iter().all(|e| e["node"]["user_name"].is_string() && e["node"]["project_name"].is_string()));

    // Its queues are promised what the cluster has, and ask for more than nothing.
    let division = run(&demo, &lines[0].replace("/fairness?window=now&tier=domain", "/division")).await;
    let shares = division["queues"].as_array().unwrap();
    assert!(shares.iter().any(|q| q["name"] == "vision"), "{division}");
    assert!(shares.iter().any(|q| q["fair_share"]["cuda.device"].as_str().is_some_and(|s| s != "0")), "{division}");

    let look = demo.welcome.iter().find_map(|line| line.trim().strip_prefix("Look")).unwrap().trim();
    assert!(look.contains("/ui/gpu-cluster/overview#key=fsk_"), "{look}");
    for path in ["/docs/", "/graphql", "/ui/gpu-cluster/overview"] {
        let address = demo.welcome.iter().find_map(|l| l.trim().strip_prefix("GraphQL")).unwrap().trim();
        let url = format!("{}{path}", address.trim_end_matches("/graphql"));
        assert_eq!(reqwest::get(&url).await.unwrap().status(), 200, "{url}");
    }
    assert_eq!(demo.stop(), Some(0));
}

#[tokio::test]
async fn a_demo_in_a_folder_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("demo");
    let args = ["--folder", place.to_str().unwrap(), "--days", "10"];
    let demo = Demo::start(&args);
    assert!(demo.welcome[0].contains("10 days"), "{:?}", demo.welcome);
    assert_eq!(demo.stop(), Some(0));
    let demo = Demo::start(&args);
    assert!(demo.welcome[0].contains("goes on"), "{:?}", demo.welcome);
    let first = demo.welcome.iter().find(|line| line.starts_with("curl ")).unwrap();
    assert_eq!(run(&demo, first).await["items"].as_array().unwrap().len(), 4);
}
