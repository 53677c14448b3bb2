//! A page of another server in a real browser, which uses the API with a key of its own.

use axum::Router;
use axum::http::HeaderValue;
use axum::response::Html;
use axum::routing::{get, post};
use fairshared::server::{self, ServerApp};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::{launch, seen};
use crate::rest::support::{Server, app};
use crate::support::database::sqlite;
use crate::support::process_end::scratch_folder;

/// Reads over GraphQL, writes over REST, and reports the answers with the headers that it could see.
const PAGE: &str = r#"<!doctype html><title>admin</title><script>
const ask = async (method, path, body) => {
  const headers = { authorization: "Bearer KEY", "content-type": "application/json" };
  const answer = await fetch("API" + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, id: answer.headers.get("x-request-id"), etag: answer.headers.get("etag"), body: await answer.json() };
};
(async () => ({
  read: await ask("POST", "/graphql", { query: "{ resource_groups { name } }" }),
  written: await ask("PUT", "/resource-groups/gpu-cluster/agents/node-09", { available_slots: { cpu: "4" } }),
  options: await ask("GET", "/resource-groups/gpu-cluster/scheduler-options"),
  refused: await ask("GET", "/resource-groups/none"),
}))().catch((error) => ({ error: String(error) }))
  .then((result) => fetch("/result", { method: "POST", body: JSON.stringify(result) }));
</script>"#;

/// The report of the page, with or without its origin in the setting.
async fn visit(is_listed: bool) -> Value {
    let server = Server::with_usage(sqlite().await).await;
    let [api, pages] =
        [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let [api_url, origin] = [&api, &pages].map(|listener| format!("http://{}", listener.local_addr().unwrap()));
    let cors_origins = if is_listed { vec![HeaderValue::try_from(&origin).unwrap()] } else { Vec::new() };
    let router = server::router(ServerApp { cors_origins, ..app(&server.fixture) });
    let page = PAGE.replace("API", &api_url).replace("KEY", &server.key);
    let (sender, receiver) = mpsc::channel(1);
    let site = Router::new()
        .route("/", get(move || async move { Html(page) }))
        .route("/result", post(move |body: String| async move { sender.send(body).await.unwrap() }));
    let serving = [(api, router), (pages, site)]
        .map(|(listener, routes)| tokio::spawn(axum::serve(listener, routes).into_future()));
    let profile = tempfile::tempdir_in(scratch_folder()).unwrap();
    let report = seen(launch(profile.path(), &origin), receiver, "the page of another server").await;
    for task in serving {
        task.abort();
    }
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_a_listed_origin_reads_and_writes() {
    let report = visit(true).await;
    assert_eq!(report["error"], Value::Null);
    assert_eq!(report["read"]["body"], json!({"data": {"resource_groups": [{"name": "gpu-cluster"}]}}));
    assert_eq!(
        (&report["written"]["status"], &report["written"]["body"]["agent_id"]),
        (&json!(201), &json!("node-09"))
    );
    assert!(report["options"]["etag"].is_string(), "{report}");
    assert_eq!(report["refused"]["body"]["code"], "unknown_resource_group");
    assert_eq!(report["refused"]["id"], report["refused"]["body"]["request_id"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_is_kept_out_by_its_browser() {
    let report = visit(false).await;
    assert!(report["error"].as_str().is_some_and(|error| error.contains("Failed to fetch")), "{report}");
}
