//! Keys and roles.

use axum::body::Body;
use axum::http::Request;
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::connectors::{play_round, round};
use super::support::{Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::{on_both, time};

const ALL: [Role; 5] = [Role::Admin, Role::Scheduler, Role::Connector, Role::Viewer, Role::User];
const READERS: &[Role] = &[Role::Admin, Role::Scheduler, Role::Viewer];
const TREE_READERS: &[Role] = &[Role::Admin, Role::Scheduler, Role::Connector, Role::Viewer];
const SCHEDULERS: &[Role] = &[Role::Admin, Role::Scheduler];
const REPORTERS: &[Role] = &[Role::Admin, Role::Scheduler, Role::Connector];
const CONNECTORS: &[Role] = &[Role::Admin, Role::Connector];
/// The roles that may read the rows of alice.
const OF_ALICE: &[Role] = &[Role::Admin, Role::Scheduler, Role::Viewer, Role::User];
const ADMINS: &[Role] = &[Role::Admin];

/// Every endpoint with a valid request, and the roles that may send it.
fn endpoints() -> Vec<(&'static str, String, Option<Value>, &'static [Role])> {
    let (carol, alice) = (id("carol"), id("alice"));
    let new_kernel = json!([kernel("extra", "dave", "vision", "2026-01-13T09:00:00Z")]);
    let workload = json!({"workloads": [{"workload_id": "w", "user_uuid": alice, "project_id": id("vision")}]});
    vec![
        ("GET", "/resource-groups".into(), None, &ALL),
        ("GET", group(""), None, &ALL),
        ("PUT", "/resource-groups/other".into(), Some(json!({})), ADMINS),
        ("DELETE", "/resource-groups/other".into(), None, ADMINS),
        ("GET", group("/scheduler-options"), None, &ALL),
        ("PATCH", group("/scheduler-options"), Some(json!({})), ADMINS),
        ("GET", group("/fair-share-weights"), None, READERS),
        ("PUT", group("/fair-share-weights"), Some(json!({"items": []})), ADMINS),
        ("GET", group("/fair-share-status"), None, &ALL),
        ("GET", group(&format!("/fair-share-status?user_uuid={alice}")), None, OF_ALICE),
        ("GET", group(&format!("/fair-share-status?user_uuid={carol}")), None, READERS),
        ("GET", group("/fair-share-status/domains"), None, READERS),
        ("GET", group("/fair-share-status/projects"), None, READERS),
        ("GET", group("/fairness"), None, &ALL),
        ("GET", group("/fairness?tier=user"), None, &ALL),
        ("GET", group("/fairness/history"), None, &ALL),
        ("GET", group("/fair-share-history"), None, &ALL),
        ("GET", group(&format!("/fair-share-history?user={alice}")), None, OF_ALICE),
        ("GET", group(&format!("/fair-share-history?user={carol}")), None, READERS),
        ("GET", group("/fair-share-history?tier=domain"), None, READERS),
        ("GET", group(&format!("/explain?user={alice}")), None, OF_ALICE),
        ("GET", group(&format!("/explain?user={carol}")), None, READERS),
        ("GET", group("/explain?domain=research"), None, READERS),
        ("GET", group("/configuration"), None, READERS),
        ("PUT", group("/configuration"), Some(json!({})), ADMINS),
        ("GET", group("/capacity-days"), None, READERS),
        ("PUT", group("/capacity-days"), Some(json!([])), ADMINS),
        ("PUT", group("/agents"), Some(json!({"agents": []})), CONNECTORS),
        ("POST", "/kernels/lookup".into(), Some(json!({"kernel_ids": []})), READERS),
        ("GET", group("/agents"), None, READERS),
        ("PUT", group("/agents/spare"), Some(json!({"available_slots": {}})), CONNECTORS),
        ("DELETE", group("/agents/spare"), None, ADMINS),
        ("POST", group("/kernels"), Some(new_kernel), REPORTERS),
        ("GET", group("/kernels"), None, &ALL),
        ("GET", group(&format!("/kernels?user_uuid={carol}")), None, READERS),
        ("GET", group(&format!("/kernels/{}", id("k1"))), None, OF_ALICE),
        ("POST", group("/sequence"), Some(workload), REPORTERS),
        ("POST", group("/cycle-plans"), Some(json!({})), SCHEDULERS),
        ("PUT", "/connectors/linux".into(), Some(round(&json!({}))), REPORTERS),
        ("PUT", "/people-tree".into(), Some(json!({"resource_group": GROUP, "domains": []})), CONNECTORS),
        ("GET", format!("/people-tree?resource_group={GROUP}"), None, TREE_READERS),
        ("GET", "/connectors".into(), None, READERS),
        ("GET", group("/shadow-report"), None, READERS),
        ("GET", group("/workloads"), None, &ALL),
        ("GET", group(&format!("/workloads?user_uuid={carol}")), None, READERS),
        ("GET", group(&format!("/workloads/{}", id("k1"))), None, OF_ALICE),
        ("GET", group("/occupancy"), None, READERS),
        ("GET", group("/forecasts"), None, &ALL),
        ("GET", group("/usage-buckets/domains"), None, READERS),
        ("GET", group("/usage-buckets/projects"), None, READERS),
        ("GET", group("/usage-buckets/users"), None, &ALL),
        ("GET", group("/usage-gaps"), None, READERS),
        ("GET", group("/audit"), None, READERS),
        ("GET", "/jobs".into(), None, READERS),
        ("GET", "/doctor".into(), None, READERS),
        ("GET", "/metadata".into(), None, &ALL),
        ("GET", group("/decay-weights"), None, &ALL),
        ("POST", "/jobs/aggregate/run".into(), None, ADMINS),
        ("GET", "/job-runs".into(), None, READERS),
        ("GET", "/audit-log".into(), None, ADMINS),
        ("POST", group("/fair-share-simulations"), Some(json!({})), READERS),
        ("POST", group("/fair-share-simulations"), Some(json!({"apply": true})), ADMINS),
        ("GET", "/keys".into(), None, ADMINS),
        ("POST", "/keys".into(), Some(json!({"role": "viewer", "label": "x"})), ADMINS),
        ("GET", "/metrics".into(), None, READERS),
        // Connectors report a round before.
        ("DELETE", "/connectors/linux".into(), None, ADMINS),
    ]
}

on_both! {
    async fn each_role_may_do_what_the_rules_say_and_no_more(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        server.call("PUT", &group("/agents/spare"), Some(&json!({"available_slots": {}}))).await.json(201);
        play_round(&server, "linux", &["a", "b"]).await;
        // Roles with the fewest rights come first, so that a deletion by an admin is the last call.
        for role in ALL.into_iter().rev() {
            let key = server.key_for(role, (role == Role::User).then_some("alice")).await;
            for (method, path, body, allowed) in endpoints() {
                let answer = server.call_as(&key, method, &path, body.as_ref()).await;
                if allowed.contains(&role) {
                    assert!(answer.status.is_success(), "{role:?} {method} {path}: {answer:?}");
                } else if role == Role::Connector && answer.status == 404 {
                    // To a connector a row of a user looks like none at all.
                    assert!(path.ends_with(&id("k1").to_string()), "{method} {path}: {answer:?}");
                } else {
                    answer.refused(403, "forbidden");
                }
            }
        }
    }

    async fn a_user_key_sees_its_own_rows_only(db: TestDb) {
        let server = Server::with_usage(db).await;
        let key = server.key_for(Role::User, Some("alice")).await;
        let get = async |path: &str| server.call_as(&key, "GET", &group(path), None).await.json(200);
        for path in ["/fair-share-status", "/fair-share-status?limit=10", "/kernels", "/usage-buckets/users"] {
            let found = get(path).await;
            assert_eq!(found["total"], 1, "{path}");
            assert_eq!(found["items"][0]["user_uuid"], json!(id("alice")), "{path}");
        }
        // The rank is that among all users.
        assert_eq!(get("/fair-share-status").await["items"][0]["rank"], 3);
        // The kernel of another user looks like none at all.
        let other = server.call_as(&key, "GET", &group(&format!("/kernels/{}", id("k2"))), None).await;
        other.refused(404, "unknown_kernel");
        // To name another user is no way to an empty list.
        for named in ["user=bob".to_owned(), format!("user_uuid={}", id("bob"))] {
            let path = group(&format!("/usage-buckets/users?{named}"));
            server.call_as(&key, "GET", &path, None).await.refused(403, "forbidden");
        }
        assert_eq!(get(&format!("/usage-buckets/users?user_uuid={}", id("alice"))).await["total"], 1);
    }

    async fn keys_that_do_not_open(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let bare = |value: Option<&str>| {
            let request = Request::get(&path);
            let request = value.map_or_else(|| Request::get(&path), |v| request.header("authorization", v));
            server.send(request.body(Body::empty()).unwrap())
        };
        let missing = bare(None).await;
        missing.refused(401, "missing_key");
        assert_eq!(missing.header("www-authenticate"), "Bearer realm=\"fairshared\"");
        for wrong in ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "", "fsk_abc"] {
            bare(Some(wrong)).await.refused(401, "missing_key");
        }
        let unknown = bare(Some("Bearer fsk_wrong")).await;
        unknown.refused(401, "unknown_key");
        assert!(unknown.header("www-authenticate").contains("invalid_token"));

        let new = NewKey {
            role: Role::Admin, label: "short".into(), user: None, expires_at: Some(time("2026-01-13T13:00:00Z")),
            groups: None,
        };
        let (text, _) = server.service.create_key(admin(), new).await.unwrap();
        server.call_as(&text, "GET", &path, None).await.json(200);
        server.clock.advance_seconds(3600);
        server.call_as(&text, "GET", &path, None).await.refused(401, "expired_key");

        let dead = json!({"role": "viewer", "label": "v", "expires_at": "2026-01-13T13:00:00Z"});
        assert_eq!(server.call("POST", "/keys", Some(&dead)).await.refused(422, "expired"), ["/expires_at"]);
        let created = server.call("POST", "/keys", Some(&json!({"role": "viewer", "label": "v"}))).await.json(201);
        let text = created["key"].as_str().unwrap();
        server.call_as(text, "GET", &path, None).await.json(200);
        let revoke = format!("/keys/{}", created["id"].as_str().unwrap());
        assert_eq!(server.call("DELETE", &revoke, None).await.status, 204);
        server.call_as(text, "GET", &path, None).await.refused(401, "revoked_key");
        server.call("DELETE", &revoke, None).await.refused(404, "unknown_key");
        // The key's text is never shown again.
        let listed = server.get("/keys").await;
        assert!(!listed.to_string().contains(text));
        let row = listed["items"].as_array().unwrap().iter().find(|k| k["id"] == created["id"]).unwrap().clone();
        assert!(row["revoked_at"].is_string() && row["role"] == "viewer" && row["label"] == "v");
    }

    async fn the_last_admin_key_that_works_is_revoked_only_with_force(db: TestDb) {
        let server = Server::new(db).await;
        let make = async |body: Value| server.call("POST", "/keys", Some(&body)).await.json(201);
        // None of these can make keys when the others are gone.
        make(json!({"role": "viewer", "label": "viewer"})).await;
        make(json!({"role": "admin", "label": "of one group", "resource_groups": ["gpu-cluster"]})).await;
        make(json!({"role": "admin", "label": "ends", "expires_at": "2026-01-13T13:00:00Z"})).await;
        let revoked = make(json!({"role": "admin", "label": "revoked"})).await;
        let path = |key: &Value| format!("/keys/{}", key["id"].as_str().unwrap());
        assert_eq!(server.call("DELETE", &path(&revoked), None).await.status, 204);
        server.clock.advance_seconds(3 * 3600);
        let own = json!({"id": server.get("/whoami").await["key_id"]});
        let answer = server.call("DELETE", &path(&own), None).await;
        answer.refused(409, "last_admin_key");
        assert!(answer.json(409)["detail"].as_str().unwrap().ends_with("Make another one first, or repeat with force=true"));
        let misread = server.call("DELETE", &format!("{}?force=maybe", path(&own)), None).await.status.as_u16();
        assert!([400, 422].contains(&misread), "{misread}");
        server.get("/keys").await;

        // With another one that works either of them may go, and the one that is left then stays.
        let second = make(json!({"role": "admin", "label": "second"})).await;
        assert_eq!(server.call("DELETE", &path(&own), None).await.status, 204);
        let text = second["key"].as_str().unwrap();
        server.call_as(text, "DELETE", &path(&second), None).await.refused(409, "last_admin_key");
        assert_eq!(server.call_as(text, "DELETE", &format!("{}?force=true", path(&second)), None).await.status, 204);
        server.call_as(text, "GET", "/keys", None).await.refused(401, "revoked_key");
    }

    async fn of_two_admins_who_revoke_each_other_at_once_one_stays(db: TestDb) {
        let server = Server::new(db).await;
        let second = server.call("POST", "/keys", Some(&json!({"role": "admin", "label": "second"}))).await.json(201);
        let own = server.get("/whoami").await["key_id"].clone();
        let path = |id: &Value| format!("/keys/{}", id.as_str().unwrap());
        let (first, other) = (path(&own), path(&second["id"]));
        let both = tokio::join!(server.call("DELETE", &first, None), server.call("DELETE", &other, None));
        let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
        statuses.sort_unstable();
        // The second one is refused, as the last one or with a key that the first has revoked.
        assert_eq!(statuses[0], 204, "{statuses:?}");
        assert!([401, 409].contains(&statuses[1]), "{statuses:?}");
    }

    async fn only_what_shows_no_data_is_open(db: TestDb) {
        let server = Server::new(db).await;
        let plain = |method: &str, path: &str| {
            server.send(Request::builder().method(method).uri(path).body(Body::empty()).unwrap())
        };
        for path in ["/healthz", "/readyz", "/openapi.json", "/docs/", "/graphql"] {
            assert_eq!(plain("GET", path).await.status, 200, "{path}");
        }
        let root = plain("GET", "/").await;
        assert_eq!((root.status.as_u16(), root.header("location")), (307, "/docs/"));
        let paths = endpoints().into_iter().map(|(method, path, ..)| (method, path));
        let more = [("POST", "/".to_owned()), ("POST", "/graphql".to_owned()), ("GET", "/nothing".to_owned()), ("GET", "/docsx".to_owned())];
        for (method, path) in paths.chain(more) {
            plain(method, &path).await.refused(401, "missing_key");
        }
    }
}
