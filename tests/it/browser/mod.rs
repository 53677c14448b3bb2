//! The web pages in a real browser. A page of the test opens them unchanged, acts as the user, and reports what it saw. Only
//! the server's own name can be resolved meanwhile.

mod other_origin;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::response::Html;
use axum::routing::{get, post};
use fairshared::rest::openapi;
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::sync::mpsc;

use crate::rest::support::Server;
use crate::support::database::sqlite;
use crate::support::packages;
use crate::support::process_end::scratch_folder;

/// `steps` gets the opened page as `page` and its document as `doc`, and returns the values to report.
const PERSON: &str = r#"<!doctype html><title>test</title><script>
const tell = (what) => fetch("/test/told", { method: "POST", body: JSON.stringify(what) });
const until = async (what) => {
  for (;;) {
    const found = what();
    if (found) return found;
    await new Promise((resume) => setTimeout(resume, 10));
  }
};
(async () => {
  sessionStorage.setItem("fairshared.key", "KEY");
  const page = window.open("PATH");
  const ready = () => page.location.href !== "about:blank" && page.document.readyState === "complete";
  await until(ready);
  const doc = page.document;
  const byId = (id) => doc.getElementById(id);
  const seen = await (async () => { STEPS })();
  const requests = page.performance.getEntriesByType("resource").map((entry) => new URL(entry.name).origin);
  await tell({ ...seen, origin: location.origin, requests });
})().catch((error) => tell({ error: String(error) }));
</script>"#;

pub fn chromium() -> PathBuf {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    let find = || {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let programs = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
        std::env::split_paths(&folders).flat_map(|f| programs.map(|p| f.join(p))).find(|p| p.is_file())
    };
    let found = FOUND.get_or_init(|| {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        named.or_else(find).unwrap_or_else(|| {
            packages::install("chromium");
            find().unwrap_or_else(|| {
                panic!(
                    "the tests need Chromium: install your system's package `chromium`, or name the program in CHROMIUM"
                )
            })
        })
    });
    found.clone()
}

/// Opens the page at `path` of a server in the browser, and returns what `steps` saw there.
async fn visit(server: &Server, path: &str, steps: &str) -> Value {
    let (told, wait) = mpsc::channel(1);
    let person = Arc::new(PERSON.replace("STEPS", steps).replace("PATH", path).replace("KEY", &server.key));
    let routes = Router::new()
        .route("/test/person", get(move || async move { Html(person.to_string()) }))
        .route("/test/told", post(move |body: String| async move { told.send(body).await.unwrap() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(axum::serve(listener, routes.merge(server.router.clone())).into_future());
    let profile = tempfile::tempdir_in(scratch_folder()).unwrap();
    let browser = launch(profile.path(), &format!("http://{address}/test/person"));
    let seen = seen(browser, wait, path).await;
    serving.abort();
    assert_eq!(seen["error"], Value::Null);
    let requests = seen["requests"].as_array().unwrap();
    assert!(requests.iter().all(|origin| *origin == seen["origin"]), "{seen}");
    seen
}

/// Opens a page in a headless browser, which keeps its files in the folder `profile`.
pub fn launch(profile: &Path, url: &str) -> Child {
    tokio::process::Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-popup-blocking"])
        .args(["--no-first-run", "--disable-background-networking", "--disable-component-update"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--remote-debugging-port=0"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(url)
        .env("TMPDIR", scratch_folder())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// The report that the page `path` sends; then the browser ends.
async fn seen(mut browser: Child, mut reports: mpsc::Receiver<String>, path: &str) -> Value {
    let seen = tokio::select! {
        seen = reports.recv() => seen.unwrap(),
        ended = browser.wait() => panic!("the browser ended: {ended:?}"),
        () = tokio::time::sleep(Duration::from_mins(2)) => panic!("{path} did not show what it should"),
    };
    browser.kill().await.unwrap();
    serde_json::from_str(&seen).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documentation_shows_every_operation() {
    let server = Server::with_usage(sqlite().await).await;
    let document = serde_json::to_value(openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().map(|item| item.as_object().unwrap().values().filter(|o| o.is_object()).count());
    let operations: usize = operations.sum();
    let steps = format!(
        r#"await until(() => doc.querySelectorAll(".opblock").length >= {operations});
        return {{ operations: doc.querySelectorAll(".opblock").length, title: doc.querySelector(".info .title").textContent }};"#
    );
    let seen = visit(&server, "/docs/", &steps).await;
    assert_eq!(seen["operations"], operations);
    assert!(seen["title"].as_str().unwrap().starts_with("fairshared"), "{seen}");
    assert!(seen["requests"].as_array().unwrap().len() > 2, "{seen}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_query_page_runs_queries() {
    let server = Server::with_usage(sqlite().await).await;
    let steps = r#"
        const answered = () => !/^(Running|Press)/.test(byId("status").textContent);
        const run = async (button) => {
          byId("status").textContent = "Running…";
          byId(button).click();
          await until(answered);
          return [byId("status").textContent, byId("result").textContent, byId("status").classList.contains("bad")];
        };
        const answers = {};
        for (const option of byId("examples").options) {
          byId("examples").value = option.value;
          byId("examples").dispatchEvent(new page.Event("change"));
          answers[option.value] = await run("run");
        }
        byId("query").value = "{ nothing }";
        return { answers, wrong: await run("run"), schema: await run("schema") };"#;
    let seen = visit(&server, "/graphql", steps).await;
    let answers = seen["answers"].as_object().unwrap();
    assert!(answers.len() > 5);
    for (example, answer) in answers {
        assert_eq!(answer[2], json!(false), "{example}: {answer}");
        assert!(answer[0].as_str().unwrap().starts_with("OK, "), "{example}: {answer}");
    }
    let ranking: Value = serde_json::from_str(answers["Ranking of users"][1].as_str().unwrap()).unwrap();
    assert_eq!(ranking["data"]["user_fair_shares"]["count"], 3);
    assert_eq!(ranking["data"]["user_fair_shares"]["edges"][0]["node"]["user_name"], "carol");
    assert_eq!((&seen["wrong"][2], seen["wrong"][0].as_str().unwrap().starts_with("1 error(s)")), (&json!(true), true));
    assert!(seen["schema"][1].as_str().unwrap().contains("type Query {"));
}
