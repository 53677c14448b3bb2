//! The web pages as files.

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::person::Person;
use crate::rest::support::Server;
use crate::support::on_both;

on_both! {
    async fn every_address_of_the_pages_shows_the_page(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of(&server);
        for (path, base) in [("/ui/", "./"), ("/ui/overview", "./"), ("/ui/groups/gpu-cluster/shares", "../../"), ("/ui/index.html", "./")] {
            let page = person.send("GET", path, &[], &Value::Null).await;
            assert_eq!(page.status, 200, "{path}");
            assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
            assert_eq!(page.header("cache-control"), "no-cache");
            assert_eq!(page.header("x-content-type-options"), "nosniff");
            let policy = page.header("content-security-policy");
            assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
            let html = String::from_utf8(page.bytes.to_vec()).unwrap();
            assert!(html.contains(&format!("<base href=\"{base}\"")), "{path}: {html}");
            assert!(!html.contains("<style") && !html.contains("<script>") && !html.contains(" style="), "{html}");
        }
        let deep = format!("/ui/{}", "a/".repeat(100));
        for path in ["/ui/assets/nothing.js", "/ui/assets/../../Cargo.toml", deep.as_str()] {
            person.send("GET", path, &[], &Value::Null).await.refused(404, "unknown_path");
        }
        person.send("POST", "/ui/", &[], &Value::Null).await.refused(401, "missing_key");
    }

    async fn files_come_packed_and_once(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of(&server);
        let plain = person.send("GET", "/ui/assets/app.js", &[], &Value::Null).await;
        assert_eq!((plain.status.as_u16(), plain.header("content-type")), (200, "text/javascript; charset=utf-8"));
        let packed = person.send("GET", "/ui/assets/app.js", &[("accept-encoding", "br, gzip;q=0.8")], &Value::Null).await;
        assert_eq!((packed.header("content-encoding"), packed.header("vary")), ("gzip", "accept-encoding"));
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed.bytes[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain.bytes);
        let etag = plain.header("etag");
        let again = person.send("GET", "/ui/assets/app.js", &[("if-none-match", etag)], &Value::Null).await;
        assert_eq!((again.status.as_u16(), again.bytes.len(), again.header("etag")), (304, 0, etag));
    }

    async fn browsers_find_the_pages_and_programs_the_documentation(db: TestDb) {
        let server = Server::new(db).await;
        let person = Person::of(&server);
        let accept = [("accept", "text/html,application/xhtml+xml,*/*;q=0.8")];
        assert_eq!(person.send("GET", "/", &accept, &Value::Null).await.header("location"), "ui/");
        assert_eq!(person.send("GET", "/", &[("accept", "*/*")], &Value::Null).await.header("location"), "/docs/");
        assert_eq!(person.send("GET", "/ui", &[], &Value::Null).await.header("location"), "ui/");
    }
}
