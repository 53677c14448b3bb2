//! "GraphQL over HTTP", edition of September 2026: media types, statuses, and GET. `tests/graphql-http` holds a server
//! against the audits of its reference implementation.

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role};
use crate::rest::support::{Answer, Server, request};
use crate::support::fixture::admin;
use crate::support::on_both;
use crate::ui::person::{HOST, Person};

const GRAPHQL: &str = "application/graphql-response+json";

struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Reply {
    fn kind(&self) -> &str {
        self.headers["content-type"].to_str().unwrap().split(';').next().unwrap()
    }
}

async fn reply(api: &Api, request: Request<Body>) -> Reply {
    let (status, headers, bytes) = api.http(Some(admin()), request).await;
    Reply { status: status.as_u16(), headers, body: serde_json::from_slice(&bytes).unwrap_or_default() }
}

async fn post(api: &Api, accept: Option<&str>, body: &Value) -> Reply {
    let mut request = Request::post("/graphql").header("content-type", "application/json");
    if let Some(accept) = accept {
        request = request.header("accept", accept);
    }
    reply(api, request.body(body.to_string().into()).unwrap()).await
}

async fn get(api: &Api, accept: &str, parameters: &[(&str, &str)]) -> Reply {
    reply(api, Request::get(address(parameters)).header("accept", accept).body(Body::empty()).unwrap()).await
}

fn address(parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    format!("/graphql?{}", query.extend_pairs(parameters).finish())
}

on_both! {
    async fn the_answer_has_the_media_type_that_is_preferred(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let query = json!({"query": "{ __typename }"});
        for (accept, kind) in [
            (None, "application/json"),
            (Some(""), "application/json"),
            (Some("*/*"), "application/json"),
            (Some("application/*"), "application/json"),
            // Common clients send what is no media range.
            (Some("text/html, image/gif, *; q=.2, */*; q=.2"), "application/json"),
            (Some("application/json"), "application/json"),
            (Some("APPLICATION/JSON; Charset=UTF-8"), "application/json"),
            (Some(GRAPHQL), GRAPHQL),
            (Some("application/graphql-response+json; charset=utf-8, application/json; charset=utf-8"), GRAPHQL),
            (Some("application/graphql-response+json, application/json;q=0.9"), GRAPHQL),
            (Some("application/json;q=0.9, application/graphql-response+json"), GRAPHQL),
            (Some("application/graphql-response+json;q=0.5, application/json"), "application/json"),
            (Some("application/graphql-response+json;q=0, */*"), "application/json"),
            (Some("application/json;q=0, */*"), GRAPHQL),
            (Some("multipart/mixed;deferSpec=20220824, application/graphql-response+json, application/json"), GRAPHQL),
        ] {
            let reply = post(&api, accept, &query).await;
            assert_eq!((reply.status, reply.kind()), (200, kind), "{accept:?}");
            assert_eq!(reply.body, json!({"data": {"__typename": "Query"}}), "{accept:?}");
            assert_eq!(reply.headers["cache-control"], "no-store");
        }
        for accept in ["text/html", "application/xml, text/*", "application/json;q=0", "application/problem+json"] {
            let reply = post(&api, Some(accept), &query).await;
            assert_eq!((reply.status, reply.kind(), &reply.body["code"]), (406, "application/problem+json", &json!("not_acceptable")), "{accept}");
        }
    }

    async fn a_body_is_json_in_utf_8_and_says_so(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let body = json!({"query": "{ __typename }"}).to_string();
        let send = async |kind: Option<&str>| {
            let mut request = Request::post("/graphql");
            if let Some(kind) = kind {
                request = request.header("content-type", kind);
            }
            reply(&api, request.body(body.clone().into()).unwrap()).await
        };
        for kind in ["application/json", "application/json; charset=utf-8", "Application/JSON;charset=\"UTF-8\""] {
            assert_eq!(send(Some(kind)).await.status, 200, "{kind}");
        }
        let wrong = [
            "text/plain", "text/plain;charset=UTF-8", "application/graphql", "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x", "application/json; charset=utf-16", "json", "",
        ];
        for kind in wrong.map(Some).into_iter().chain([None]) {
            let reply = send(kind).await;
            assert_eq!((reply.status, &reply.body["code"]), (415, &json!("unsupported_media_type")), "{kind:?}");
        }
    }

    async fn a_request_that_cannot_be_executed_has_no_data(db: TestDb) {
        let api = Api::cluster(db).await;
        let required = "query ($rg: String!, $n: Int!) { user_fair_shares(resource_group: $rg, first: $n) { count } }";
        for (body, code) in [
            (json!({"query": "{"}), "invalid_query"),
            (json!({"query": ""}), "invalid_query"),
            (json!({"query": "{ nothing }"}), "invalid_query"),
            (json!({"query": "query a { __typename } query b { __typename }"}), "invalid_query"),
            (json!({"query": "query a { __typename }", "operationName": "b"}), "invalid_query"),
            (json!({"query": "subscription { __typename }"}), "invalid_query"),
            (json!({"query": required}), "invalid"),
            (json!({"query": required, "variables": {"rg": "gpu-cluster"}}), "missing_variable"),
            (json!({"query": required, "variables": {"rg": null, "n": 1}}), "missing_variable"),
            (json!({"query": required, "variables": {"rg": "gpu-cluster", "n": "many"}}), "invalid_query"),
            (json!({"query": format!("{}a{}", "{".repeat(60), "}".repeat(60))}), "query_too_deep"),
        ] {
            let refused = post(&api, Some(GRAPHQL), &body).await;
            assert_eq!((refused.status, refused.kind()), (400, GRAPHQL), "{body}: {}", refused.body);
            // Clients of plain JSON take any status but 200 for one of a proxy.
            let legacy = post(&api, Some("application/json"), &body).await;
            assert_eq!((legacy.status, legacy.kind()), (200, "application/json"), "{body}");
            assert_eq!(legacy.body, refused.body);
            assert_eq!(refused.body.get("data"), None, "{body}: {}", refused.body);
            assert_eq!(refused.body["errors"][0]["extensions"]["code"], code, "{body}: {}", refused.body);
        }
        let missing = post(&api, None, &json!({"query": required})).await;
        let faults = missing.body["errors"][0]["extensions"]["errors"].clone();
        assert_eq!(faults[0]["pointer"], "/variables/rg");
        assert_eq!(faults[1], json!({"pointer": "/variables/n", "code": "missing_variable", "detail": "the variable $n of the type Int! is missing"}));
        // A variable with a default, and one that may be null, are not required.
        let optional = "query ($a: Boolean! = true, $b: String) { __typename @include(if: $a) resource_group(name: \"gpu-cluster\") { name } __type(name: \"x\") @skip(if: $a) { name } domain(name: $b) { name } }";
        let answered = post(&api, Some(GRAPHQL), &json!({"query": optional})).await;
        assert!(answered.body["errors"][0]["extensions"]["code"] != "missing_variable", "{}", answered.body);
    }

    async fn the_whole_server_leaves_the_errors_of_a_refused_request_as_they_are(db: TestDb) {
        let server = Server::new(db).await;
        let send = async |method: &str, path: &str, body: Body| {
            let request = request(&server.key, method, path).header("accept", GRAPHQL).header("content-type", "application/json");
            server.send(request.body(body).unwrap()).await
        };
        let unknown = send("POST", "/graphql", json!({"query": "{ nope }"}).to_string().into()).await;
        let unreadable = send("GET", &address(&[("query", "{")]), Body::empty()).await;
        for refused in [&unknown, &unreadable] {
            assert_eq!(refused.header("content-type"), "application/graphql-response+json; charset=utf-8");
            let body = refused.json(400);
            assert_eq!((body.get("data"), &body["errors"][0]["extensions"]["code"]), (None, &json!("invalid_query")), "{body}");
        }
        assert!(unknown.json(400)["errors"][0]["message"].as_str().unwrap().contains("nope"));
    }

    async fn an_executed_request_has_data_and_a_success_status(db: TestDb) {
        let api = Api::cluster(db).await;
        let partial = json!({"query": r#"{ resource_groups { name } job_runs(job: "nope") { count } }"#});
        for (accept, status) in [(GRAPHQL, 294), ("application/json", 200)] {
            let reply = post(&api, Some(accept), &partial).await;
            assert_eq!((reply.status, reply.kind()), (status, accept));
            assert!(reply.body.get("data").is_some() && reply.body["errors"][0]["path"][0] == "job_runs", "{}", reply.body);
        }
        let whole = post(&api, Some(GRAPHQL), &json!({"query": "{ resource_groups { name } }", "later": true})).await;
        assert_eq!((whole.status, &whole.body), (200, &json!({"data": {"resource_groups": [{"name": "gpu-cluster"}]}})));
        // Access is a matter of fields: the operation was executed.
        let viewer = role(Role::Viewer, None);
        let body = json!({"query": "{ audit_log { count } }"}).to_string();
        let request = Request::post("/graphql").header("content-type", "application/json").header("accept", GRAPHQL);
        let (status, _, bytes) = api.http(Some(viewer), request.body(body.into()).unwrap()).await;
        let answer: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!((status.as_u16(), &answer["data"], &answer["errors"][0]["extensions"]["code"]), (294, &Value::Null, &json!("forbidden")));
    }

    async fn parameters_have_one_type_each(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let values = [json!({"a": 1}), json!(0), json!(false), json!(["a"]), json!("text"), Value::Null];
        let allowed = [("query", "text"), ("operationName", "text"), ("variables", "object"), ("extensions", "object")];
        for (name, kind) in allowed {
            for value in &values {
                let mut body = json!({"query": "query text { __typename }"});
                body[name] = value.clone();
                let fits = match kind {
                    "text" => value.is_string(),
                    _ => value.is_object(),
                } || (value.is_null() && name != "query");
                let reply = post(&api, Some(GRAPHQL), &body).await;
                // `text` as a query is a GraphQL request, and no document.
                let refused = !fits || (name == "query" && value.is_string());
                assert_eq!(reply.status, if refused { 400 } else { 200 }, "{body}: {}", reply.body);
                if !fits {
                    assert_eq!(reply.body["code"], "malformed_json");
                    assert!(reply.body["detail"].as_str().unwrap().contains(&format!("`{name}`")), "{}", reply.body);
                }
            }
        }
        let typo = post(&api, Some(GRAPHQL), &json!({"qeury": "{ __typename }"})).await;
        assert_eq!((typo.status, &typo.body["detail"]), (400, &json!("the body is not a GraphQL request in JSON: `query` is missing")));
    }

    async fn queries_can_be_sent_with_get(db: TestDb) {
        let api = Api::cluster(db).await;
        let query = "query one($n: Int!) { user_fair_shares(resource_group: \"gpu-cluster\", first: $n) { edges { node { rank } } count } } query two { __typename }";
        for accept in [GRAPHQL, "application/json"] {
            let one = get(&api, accept, &[("query", query), ("operationName", "one"), ("variables", r#"{"n": 1}"#), ("extensions", "{}"), ("later", "x")]).await;
            assert_eq!((one.status, one.kind()), (200, accept), "{}", one.body);
            assert_eq!(one.body["data"]["user_fair_shares"]["edges"].as_array().unwrap().len(), 1, "{}", one.body);
            // An answer to one key must not be kept for another.
            assert_eq!(one.headers["cache-control"], "no-store");
            assert_eq!(one.headers["vary"], "accept, authorization, cookie");
            let two = get(&api, accept, &[("query", query), ("operationName", "two"), ("variables", ""), ("extensions", "null")]).await;
            assert_eq!(two.body, json!({"data": {"__typename": "Query"}}));
        }
        let unnamed = get(&api, GRAPHQL, &[("query", "{ __typename }"), ("operationName", "")]).await;
        assert_eq!((unnamed.status, unnamed.body), (200, json!({"data": {"__typename": "Query"}})));
        for (parameters, said) in [
            (&[("variables", "{}")][..], "`query` is missing"),
            (&[("query", "{ a }"), ("query", "{ b }")], "`query` is given twice"),
            (&[("query", "{ __typename }"), ("variables", "[1]")], "`variables` must be a JSON object"),
            (&[("query", "{ __typename }"), ("variables", "{")], "`variables` must be a JSON object"),
            (&[("query", "{ __typename }"), ("extensions", "5")], "`extensions` must be a JSON object"),
        ] {
            let refused = get(&api, GRAPHQL, parameters).await;
            let detail = format!("the address is not a GraphQL request: {said}");
            assert_eq!((refused.status, &refused.body["detail"]), (400, &json!(detail)), "{parameters:?}");
        }
        let unreadable = get(&api, GRAPHQL, &[("query", "{")]).await;
        assert_eq!((unreadable.status, unreadable.body.get("data")), (400, None));
        let unacceptable = get(&api, "text/css", &[("query", "{ __typename }")]).await;
        assert_eq!(unacceptable.status, 406);
    }

    async fn get_changes_nothing(db: TestDb) {
        let api = Api::cluster(db).await;
        let weight = r#"mutation set { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "sales", weight: 2) { weight } }"#;
        let both = format!("{weight} query read {{ __typename }}");
        for (parameters, accept) in [(&[("query", weight)][..], GRAPHQL), (&[("query", &*both), ("operationName", "set")], "*/*")] {
            let refused = get(&api, accept, parameters).await;
            assert_eq!((refused.status, &refused.headers["allow"], &refused.body["code"]), (405, &"POST".parse().unwrap(), &json!("method_not_allowed")));
            assert_eq!(refused.body["detail"], "GET takes queries only; send the mutation with POST");
        }
        assert_eq!(get(&api, GRAPHQL, &[("query", &both), ("operationName", "read")]).await.status, 200);
        assert_eq!(api.ask("{ audit_log(action: \"weights.put\") { count } }").await["audit_log"]["count"], 0);
    }

    async fn a_browser_that_sends_no_query_sees_the_page(db: TestDb) {
        let server = Server::new(db).await;
        let open = async |path: &str, accept: &str| -> Answer {
            let request = Request::get(path).header("accept", accept);
            server.send(request.body(Body::empty()).unwrap()).await
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for accept in [browser, "text/html", "*/*"] {
            let page = open("/graphql", accept).await;
            assert_eq!((page.status.as_u16(), page.header("content-type")), (200, "text/html; charset=utf-8"));
            assert!(page.header("vary").contains("accept"));
        }
        // With a query, or for a client of GraphQL, it is a request like any other.
        for (path, accept) in [(&*address(&[("query", "{ __typename }")]), browser), ("/graphql", GRAPHQL), ("/graphql", "application/json")] {
            open(path, accept).await.refused(401, "missing_key");
        }
        let keyed = request(&server.key, "GET", "/graphql").header("accept", GRAPHQL).body(Body::empty()).unwrap();
        server.send(keyed).await.refused(400, "malformed_json");
        let keyed = request(&server.key, "GET", &address(&[("query", "{ whoami { role } }")])).body(Body::empty()).unwrap();
        assert_eq!(server.send(keyed).await.json(200)["data"]["whoami"]["role"], "admin");
    }

    async fn a_session_reads_with_get_from_its_own_pages_only(db: TestDb) {
        let server = Server::with_usage(db).await;
        let person = Person::of(&server);
        person.sign_in(&server.key).await;
        let path = address(&[("query", "{ whoami { role } }")]);
        let own = format!("http://{HOST}");
        let csrf = ("x-fairshared-csrf", "1");
        let foreign: [&[(&str, &str)]; 7] = [
            &[],
            &[("sec-fetch-site", "same-origin")],
            &[("origin", &own)],
            &[csrf],
            &[csrf, ("sec-fetch-site", "same-site")],
            &[csrf, ("sec-fetch-site", "cross-site"), ("origin", "https://evil.test")],
            &[csrf, ("sec-fetch-site", "same-origin"), ("origin", "https://evil.test")],
        ];
        for headers in foreign {
            person.send("GET", &path, headers, &Value::Null).await.refused(403, "forbidden");
        }
        for headers in [&[csrf, ("origin", &*own)][..], &[csrf, ("sec-fetch-site", "same-origin")]] {
            let answer = person.send("GET", &path, headers, &Value::Null).await;
            assert_eq!(answer.json(200)["data"]["whoami"]["role"], "admin");
            assert_eq!(answer.header("cache-control"), "no-store");
        }
    }
}
