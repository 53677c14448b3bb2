//! The OpenAPI document and its viewer.

use std::path::Path;

use axum::body::Body;
use axum::http::Request;

use super::support::Server;
use crate::support::on_both;

/// Regenerate with `UPDATE_SCHEMAS=1 cargo test --test it rest::document`.
#[test]
fn the_checked_in_document_is_what_the_endpoints_declare() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi/fairshared.json");
    let mut current = fairshared::rest::openapi().to_pretty_json().unwrap();
    current.push('\n');
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &current).unwrap();
    }
    let stored = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == current, "openapi/fairshared.json is stale; run this test with UPDATE_SCHEMAS=1");
}

on_both! {
    async fn document_and_viewer_need_no_key_and_no_internet(db: TestDb) {
        let server = Server::new(db).await;
        let open = |path: &str| server.send(Request::get(path).body(Body::empty()).unwrap());
        let document = open("/openapi.json").await.json(200);
        assert_eq!(document["info"]["title"], "fairshared");
        let page = open("/docs/").await;
        assert_eq!(page.status, 200);
        let text = String::from_utf8(page.bytes.to_vec()).unwrap();
        assert!(!text.contains("//cdn") && !text.contains("https://"), "{text}");
        for part in ["swagger-ui.css", "swagger-ui-bundle.js", "swagger-initializer.js"] {
            assert_eq!(open(&format!("/docs/{part}")).await.status, 200, "{part}");
        }
    }
}
