//! Workloads: lists, one workload, what can never start, and what is held.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::cli::program::run;
use crate::support::database::TestDb;
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

fn pending(name: &str, user: &str, changes: &Value) -> Value {
    let waits =
        with(kernel(name, user, "vision", "2026-01-13T10:00:00Z"), &json!({"status": "PENDING", "started_at": null}));
    with(waits, changes)
}

fn member(name: &str, changes: &Value) -> Value {
    with(
        pending(name, "alice", &json!({"gang_id": "train", "gang_min": 2, "submitted_at": "2026-01-13T09:00:00Z"})),
        changes,
    )
}

fn running() -> Value {
    json!({"status": "RUNNING", "started_at": "2026-01-13T10:00:00Z", "agent_id": "n1"})
}

fn ended(at: &str) -> Value {
    with(running(), &json!({"status": "TERMINATED", "terminated_at": at}))
}

/// Two agents of 8 GPUs; a queue `small` with a limit of 4; a gang that is starting; three kernels that wait, of which one asks
/// for more than an agent has and one for more than its queue may hold; one that runs; and two workloads that have ended.
async fn cluster(db: TestDb) -> Server {
    let server = Server::new(db).await;
    for agent in ["n1", "n2"] {
        let body = json!({"available_slots": {"cpu": "64", "gpu": "8"}, "labels": {"rack": agent}});
        server.call("PUT", &group(&format!("/agents/{agent}")), Some(&body)).await.json(201);
    }
    let queues = json!({"queues": [{"name": "small", "limit": {"gpu": "4"}}, {"name": "sub", "parent": "small"}]});
    server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
    let gpus = |count: &str| json!({"occupied_slots": {"gpu": count}});
    let report = [
        member("g1", &with(running(), &gpus("1"))),
        member("g2", &gpus("1")),
        member("g3", &with(ended("2026-01-13T11:00:00Z"), &gpus("1"))),
        pending("first", "bob", &with(gpus("2"), &json!({"submitted_at": "2026-01-13T08:00:00Z", "user_name": "bob"}))),
        pending("huge", "carol", &with(gpus("9"), &json!({"submitted_at": "2026-01-13T07:00:00Z"}))),
        pending("over", "carol", &with(gpus("5"), &json!({"queue": "sub"}))),
        pending(
            "lost",
            "carol",
            &json!({"affinity": {"agents": [{"key": "rack", "operator": "In", "values": ["n9"]}]}}),
        ),
        with(pending("runs", "bob", &gpus("3")), &running()),
        with(pending("done", "bob", &gpus("1")), &ended("2026-01-13T10:30:00Z")),
        member("old1", &with(ended("2026-01-13T10:40:00Z"), &json!({"gang_id": "old"}))),
        member("old2", &with(ended("2026-01-13T10:50:00Z"), &json!({"gang_id": "old"}))),
    ];
    assert_eq!(server.call("POST", &group("/kernels"), Some(&json!(report))).await.json(200)["rejected"], 0);
    server
}

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|item| item["workload_id"].as_str().unwrap().to_owned()).collect()
}

fn names(known: &[&str]) -> Vec<String> {
    known
        .iter()
        .map(|name| if name.contains('!') { name.trim_end_matches('!').to_owned() } else { id(name).to_string() })
        .collect()
}

on_both! {
    async fn what_waits_is_listed_by_position_and_what_never_starts_comes_last(db: TestDb) {
        let server = cluster(db).await;
        let list = server.get(&group("/workloads")).await;
        let (huge, over, lost) = (id("huge").to_string(), id("over").to_string(), id("lost").to_string());
        let mut never = [huge.clone(), over.clone(), lost.clone()];
        never.sort();
        assert_eq!(ids(&list), [&names(&["first"])[..], &never].concat());
        let item = |wanted: &str| list["items"].as_array().unwrap().iter().find(|item| item["workload_id"] == wanted).unwrap();
        let first = item(&id("first").to_string());
        for (key, value) in [
            ("status", json!("pending")), ("position", json!(1)), ("waiting", Value::Null), ("user", json!("bob")), ("domain_name", json!("research")),
            ("queue", json!("default")), ("waiting_since", json!("2026-01-13T08:00:00Z")), ("requested_slots", json!({"gpu": "2"})), ("held_slots", json!({})),
            ("members", json!({"total": 1, "pending": 1, "running": 0, "ended": 0})), ("gang_min", Value::Null), ("labels", json!({})), ("charge_class", json!("")),
            ("status_changes", json!([{"status": "pending", "at": "2026-01-13T08:00:00Z"}])),
        ] {
            assert_eq!(first[key], value, "{key}");
        }
        for (wanted, reason, details) in [
            (huge, "too_large", json!({"scope": "agent", "slot": "gpu", "asked": "9", "most": "8"})),
            (over, "too_large", json!({"scope": "queue", "queue": "small", "slot": "gpu", "asked": "5", "most": "4"})),
            (lost, "predicates", json!({"refused": {"labels": 2}, "agents": 2})),
        ] {
            let item = item(&wanted);
            let expected = json!({"reason": reason, "details": details, "blocked_by": [], "reserved_at": null, "as_of": "2026-01-13T12:00:00Z"});
            assert_eq!((&item["waiting"], &item["position"]), (&expected, &Value::Null));
        }
        // Without a submission it waits since the first report.
        assert_eq!(item(&id("over").to_string())["waiting_since"], "2026-01-13T12:00:00Z");
    }

    async fn each_status_has_its_list(db: TestDb) {
        let server = cluster(db).await;
        let list = async |query: &str| server.get(&group(&format!("/workloads?{query}"))).await;
        let starting = list("status=starting").await;
        assert_eq!(ids(&starting), names(&["train!"]));
        let gang = &starting["items"][0];
        assert_eq!(gang["members"], json!({"total": 3, "pending": 1, "running": 1, "ended": 1}));
        assert_eq!((&gang["gang_min"], &gang["held_slots"], &gang["requested_slots"]), (&json!(2), &json!({"gpu": "1"}), &json!({"gpu": "2"})));
        assert_eq!(gang["status_changes"], json!([
            {"status": "pending", "at": "2026-01-13T09:00:00Z"}, {"status": "starting", "at": "2026-01-13T10:00:00Z"},
        ]));
        assert_eq!(ids(&list("status=running").await), names(&["runs"]));
        let over = list("status=ended").await;
        assert_eq!((ids(&over), &over["total"]), (names(&["old!", "done"]), &json!(2)));
        let old = &over["items"][0];
        assert_eq!((&old["members"]["ended"], &old["requested_slots"]), (&json!(2), &json!({"cpu": "2"})));
        assert_eq!(old["status_changes"][2], json!({"status": "ended", "at": "2026-01-13T10:50:00Z"}));
        let page = list("status=ended&limit=1").await;
        assert_eq!(ids(&page), names(&["old!"]));
        let next = list(&format!("status=ended&limit=1&cursor={}", page["next_cursor"].as_str().unwrap())).await;
        assert_eq!((ids(&next), next.get("next_cursor")), (names(&["done"]), None));
    }

    async fn filters_and_orders(db: TestDb) {
        let server = cluster(db).await;
        let list = async |query: &str| ids(&server.get(&group(&format!("/workloads?{query}"))).await);
        let (first, huge, over, lost) = ("first", "huge", "over", "lost");
        let mut without_time = names(&[over, lost]);
        without_time.sort();
        assert_eq!(list("order=submitted").await, [&names(&[huge, first])[..], &without_time].concat());
        assert_eq!(list("order=waiting&limit=2").await, names(&[huge, first]));
        assert_eq!(list(&format!("user_uuid={}", id("bob"))).await, names(&[first]));
        assert_eq!(list("queue=sub").await, names(&[over]));
        assert_eq!(list("queue=small").await, names(&[]));
        assert_eq!(list("reason=predicates").await, names(&[lost]));
        assert_eq!(list("reason=too_large&order=submitted").await, names(&[huge, over]));
        assert_eq!(list("reason=no_room").await, names(&[]));
        assert_eq!(list("waiting_longer_than=14399&order=waiting").await, names(&[huge, first]));
        assert_eq!(list("waiting_longer_than=14400").await, names(&[huge]));
        assert_eq!(list("domain_name=sales").await, names(&[]));
        assert_eq!(list(&format!("project_id={}&user_uuid={}", id("vision"), id("bob"))).await, names(&[first]));
        for (query, expected) in [
            ("user_uuid=USER", vec!["done"]), ("queue=default", vec!["old!", "done"]), ("queue=small", vec![]), ("domain_name=research", vec!["old!", "done"]),
            ("domain_name=sales", vec![]), ("reason=gang", vec![]), ("waiting_longer_than=0", vec![]),
        ] {
            let query = format!("status=ended&{}", query.replace("USER", &id("bob").to_string()));
            assert_eq!(list(&query).await, names(&expected), "{query}");
        }
        for (query, code, pointer) in [
            ("status=asleep", "unknown_status", "/status"), ("order=size", "invalid_value", "/order"), ("reason=bad_luck", "invalid_value", "/reason"),
            ("waiting_longer_than=-1", "invalid_value", "/waiting_longer_than"), ("limit=0", "invalid_page_size", "/limit"), ("user=nobody", "unknown_user", "/user"),
        ] {
            let answer = server.call("GET", &group(&format!("/workloads?{query}")), None).await;
            assert_eq!(answer.refused(422, code), [pointer], "{query}");
        }
        let cursor = server.get(&group("/workloads?limit=1")).await["next_cursor"].as_str().unwrap().to_owned();
        let other = server.call("GET", &group(&format!("/workloads?order=waiting&cursor={cursor}")), None).await;
        other.refused(422, "invalid_cursor");
    }

    async fn one_workload_is_found_by_its_id_or_by_a_kernel(db: TestDb) {
        let server = cluster(db).await;
        let gang = server.get(&group("/workloads/train")).await;
        let mut kernels = names(&["g1", "g2"]);
        kernels.sort();
        assert_eq!((&gang["status"], &gang["kernel_ids"]), (&json!("starting"), &json!(kernels)));
        for kernel in ["g1", "g2"] {
            assert_eq!(server.get(&group(&format!("/workloads/{}", id(kernel)))).await, gang);
        }
        let old = server.get(&group("/workloads/old")).await;
        assert_eq!((&old["status"], old["kernel_ids"].as_array().unwrap().len()), (&json!("ended"), 2));
        assert_eq!(server.get(&group(&format!("/workloads/{}", id("old1")))).await, old);
        let done = server.get(&group(&format!("/workloads/{}", id("done")))).await;
        assert_eq!((&done["status"], &done["user_uuid"]), (&json!("ended"), &json!(id("bob"))));
        server.call("GET", &group("/workloads/nothing"), None).await.refused(404, "unknown_workload");
        server.call("GET", &group(&format!("/workloads/{}", id("nothing"))), None).await.refused(404, "unknown_workload");
        // Users see their own workloads; those of others do not exist for them.
        let bob = server.key_for(Role::User, Some("bob")).await;
        let own = server.call_as(&bob, "GET", &group("/workloads"), None).await.json(200);
        assert_eq!((ids(&own), &own["items"][0]["position"]), (names(&["first"]), &json!(1)));
        for path in ["/workloads/train", "/workloads/old"] {
            server.call_as(&bob, "GET", &group(path), None).await.refused(404, "unknown_workload");
        }
        server.call_as(&bob, "GET", &group("/occupancy?by=user"), None).await.refused(403, "forbidden");
    }

    async fn an_ended_gang_of_several_users_is_seen_by_its_owner_alone(db: TestDb) {
        let server = cluster(db).await;
        let shared = |name: &str, user: &str| with(pending(name, user, &json!({"gang_id": "shared"})), &ended("2026-01-13T10:45:00Z"));
        server.call("POST", &group("/kernels"), Some(&json!([shared("s1", "bob"), shared("s2", "carol")]))).await.json(200);
        let all = server.get(&group("/workloads?status=ended&limit=1000")).await;
        let item = all["items"].as_array().unwrap().iter().find(|item| item["workload_id"] == "shared").unwrap().clone();
        for user in ["bob", "carol"] {
            let key = server.key_for(Role::User, Some(user)).await;
            let own = server.call_as(&key, "GET", &group("/workloads?status=ended"), None).await.json(200);
            let is_owner = item["user_uuid"] == json!(id(user));
            assert_eq!(ids(&own).contains(&"shared".to_owned()), is_owner, "{user} {own:#}");
        }
    }

    async fn a_key_with_escapes_names_workloads_all_the_same(db: TestDb) {
        let server = cluster(db).await;
        let body = r#"{"\u0077orkloads": [{"workload_id": "own", "user_uuid": "USER", "project_id": "PROJECT"}]}"#;
        let body = body.replace("USER", &id("bob").to_string()).replace("PROJECT", &id("vision").to_string());
        let ordered = server.raw("POST", &group("/sequence"), "application/json", body).await.json(200);
        assert_eq!(ids(&ordered), ["own"]);
    }

    async fn what_is_held_and_free(db: TestDb) {
        let server = cluster(db).await;
        let by = async |by: &str| server.get(&group(&format!("/occupancy?by={by}"))).await;
        let users = by("user").await;
        assert_eq!((&users["held"], &users["free"], &users["capacity"]), (&json!({"gpu": "4"}), &json!({"cpu": "128", "gpu": "12"}), &json!({"cpu": "128", "gpu": "16"})));
        let bob = json!({"name": "bob", "id": id("bob"), "held": {"gpu": "3"}, "share": {"gpu": "0.1875"}, "running": 1, "pending": 1});
        assert_eq!(users["items"][0], bob);
        assert_eq!(users["items"].as_array().unwrap().iter().map(|row| row["pending"].as_u64().unwrap()).sum::<u64>(), 5);
        let agents = by("agent").await;
        let row = |at: usize| agents["items"][at].clone();
        assert_eq!(row(0), json!({
            "name": "n1", "held": {"gpu": "4"}, "share": {"gpu": "0.25"}, "running": 2, "pending": 0,
            "free": {"cpu": "64", "gpu": "4"}, "schedulable": true,
        }));
        assert_eq!((&row(1)["name"], &row(1)["pending"]), (&Value::Null, &json!(5)));
        assert_eq!((&row(2)["name"], &row(2)["free"]), (&json!("n2"), &json!({"cpu": "64", "gpu": "8"})));
        assert_eq!(by("queue").await["items"][0]["name"], "default");
        assert_eq!(by("domain").await["items"][0]["name"], "research");
        assert_eq!(by("project").await["items"][0]["id"], json!(id("vision")));
        let wrong = server.call("GET", &group("/occupancy?by=shoe_size"), None).await;
        assert_eq!(wrong.refused(422, "invalid_value"), ["/by"]);
        assert_eq!(server.get(&group("/occupancy")).await, users);
    }

    async fn a_list_takes_as_many_statements_however_much_it_finds(db: TestDb) {
        let server = cluster(db).await;
        let cost = async |path: &str| {
            let before = server.service.store().statements();
            server.get(&group(path)).await;
            server.service.store().statements() - before
        };
        let paths = ["/workloads?limit=1000", "/workloads?status=ended&limit=1000", "/workloads?status=starting", "/occupancy?by=user"];
        let mut few = Vec::new();
        for path in paths {
            few.push(cost(path).await);
        }
        let more: Vec<Value> = (0..300).map(|at| match at % 2 {
            0 => pending(&format!("more{at}"), &format!("user{}", at % 7), &json!({"gang_id": format!("gang{}", at / 6)})),
            _ => with(pending(&format!("more{at}"), "bob", &json!({})), &ended("2026-01-13T11:30:00Z")),
        }).collect();
        server.call("POST", &group("/kernels"), Some(&json!(more))).await.json(200);
        for (path, few) in paths.into_iter().zip(few) {
            assert!(cost(path).await <= few, "{path}");
            assert!(few <= 5, "{path} took {few} statements");
        }
    }

    async fn lists_follow_reports(db: TestDb) {
        let server = cluster(db).await;
        assert_eq!(server.get(&group("/workloads/train")).await["status"], "starting");
        let start = member("g2", &with(running(), &json!({"started_at": "2026-01-13T11:10:00Z"})));
        server.call("POST", &group("/kernels"), Some(&start)).await.json(200);
        let gang = server.get(&group("/workloads/train")).await;
        assert_eq!((&gang["status"], &gang["status_changes"][2]["at"]), (&json!("running"), &json!("2026-01-13T11:10:00Z")));
        assert_eq!((&gang["waiting_since"], &gang["position"]), (&Value::Null, &Value::Null));
        let suspended = json!({"status": "SUSPENDED", "started_at": "2026-01-13T11:10:00Z", "status_at": "2026-01-13T11:20:00Z"});
        server.call("POST", &group("/kernels"), Some(&member("g2", &suspended))).await.json(200);
        let gang = server.get(&group("/workloads/train")).await;
        assert_eq!((&gang["status"], &gang["members"]["running"], &gang["held_slots"]), (&json!("running"), &json!(2), &json!({"gpu": "1"})));
        // A larger agent takes away what kept a workload from starting.
        let body = json!({"available_slots": {"cpu": "64", "gpu": "16"}, "labels": {"rack": "n9"}});
        server.call("PUT", &group("/agents/n3"), Some(&body)).await.json(201);
        let waits = server.get(&group("/workloads?order=submitted")).await;
        assert_eq!((&waits["items"][0]["waiting"], &waits["items"][0]["position"].is_u64()), (&Value::Null, &true));
        assert_eq!(ids(&server.get(&group("/workloads?reason=predicates")).await).len(), 0);
    }

    async fn graphql_and_the_command_line_show_the_same(db: TestDb) {
        let server = cluster(db).await;
        let list = server.get(&group("/workloads")).await;
        let query = r#"{ workloads(resource_group: "gpu-cluster") { count edges { node { workload_id status position waiting { reason details } } } }
            workload(resource_group: "gpu-cluster", workload_id: "train") { status members { pending running ended } kernel_ids }
            none: workload(resource_group: "gpu-cluster", workload_id: "nothing") { status }
            occupancy(resource_group: "gpu-cluster", by: USER) { held items { name running } } }"#;
        let told = server.graphql(query).await["data"].clone();
        let nodes: Vec<&Value> = told["workloads"]["edges"].as_array().unwrap().iter().map(|edge| &edge["node"]).collect();
        assert_eq!(nodes.iter().map(|node| node["workload_id"].as_str().unwrap()).collect::<Vec<_>>(), ids(&list));
        assert_eq!((&nodes[0]["status"], &nodes[0]["position"]), (&json!("PENDING"), &json!(1)));
        for (node, item) in nodes.iter().zip(list["items"].as_array().unwrap()) {
            assert_eq!(node["waiting"]["reason"], item["waiting"]["reason"]);
        }
        assert_eq!((&told["workload"]["status"], &told["workload"]["members"]["ended"]), (&json!("STARTING"), &json!(1)));
        assert_eq!((&told["none"], &told["occupancy"]["items"][0]), (&Value::Null, &json!({"name": "bob", "running": 1})));
        let wrong = server.graphql(r#"{ workloads(resource_group: "gpu-cluster", reason: "bad_luck") { count } }"#).await;
        assert_eq!(wrong["errors"][0]["extensions"]["errors"][0]["pointer"], "/reason", "{wrong}");

        assert_eq!(run(&server.db, ["workloads", "list", GROUP, "-o", "json"]).json()["total"], list["total"]);
        let table = run(&server.db, ["workloads", "list", GROUP]).ok();
        assert!(table.contains("asks for 9 gpu; an agent has 8 at most") && table.contains("the limit of queue small is 4"), "{table}");
        let csv = run(&server.db, ["workloads", "list", GROUP, "--reason", "predicates", "-o", "csv"]).ok();
        assert!(csv.starts_with("position,workload_id,status,") && csv.lines().count() == 2, "{csv}");
        let shown = run(&server.db, ["workloads", "show", GROUP, "train", "-o", "json"]).json();
        assert_eq!(shown["members"], json!({"total": 3, "pending": 1, "running": 1, "ended": 1}));
        assert!(run(&server.db, ["workloads", "show", GROUP, "nothing"]).refused(2).contains("there is no workload"));
        assert_eq!(run(&server.db, ["occupancy", GROUP, "--by", "user", "-o", "json"]).json()["held"], json!({"gpu": "4"}));
        assert!(run(&server.db, ["occupancy", GROUP, "--by", "agent"]).ok().contains("held {\"gpu\":\"4\"}"));
    }

    async fn nodes_that_are_away_or_split_make_a_workload_wait_and_no_more(db: TestDb) {
        let server = Server::new(db).await;
        let gpus = |count: &str| json!({"occupied_slots": {"gpu": count}, "status": "PENDING", "started_at": null});
        let job = pending("job", "bob", &gpus("2"));
        server.call("POST", &group("/kernels"), Some(&json!([job]))).await.json(200);
        let waiting = async || {
            let list = server.get(&group("/workloads?status=pending")).await;
            let item = list["items"].as_array().unwrap().iter().find(|item| item["workload_id"] == id("job").to_string());
            let item = item.unwrap().clone();
            (item["position"].clone(), item["waiting"]["reason"].clone(), item["waiting"]["details"].clone())
        };
        let explained = || run(&server.db, ["explain", "--workload", &id("job").to_string()]).ok();
        assert_eq!(waiting().await, (json!(1), json!("predicates"), json!({"refused": {}, "agents": 0})));
        assert!(!explained().contains("never"), "{}", explained());

        let agent = async |name: &str, more: &Value| {
            let body = with(json!({"available_slots": {"gpu": "4"}}), more);
            let answer = server.call("PUT", &group(&format!("/agents/{name}")), Some(&body)).await;
            assert!(answer.status.is_success(), "{answer:?}");
        };
        for away in [json!({"schedulable": false}), json!({"alive": false})] {
            agent("n1", &away).await;
            agent("n2", &away).await;
            assert_eq!(waiting().await, (json!(1), json!("predicates"), json!({"refused": {"schedulable": 2}, "agents": 2})));
            assert!(!explained().contains("never"), "{}", explained());
        }

        // Three of four are used on each.
        for name in ["n1", "n2"] {
            agent(name, &json!({"schedulable": true, "alive": true})).await;
            let held = json!({"occupied_slots": {"gpu": "3"}, "agent_id": name});
            let used = with(with(pending(&format!("on-{name}"), "carol", &held), &running()), &json!({"agent_id": name}));
            server.call("POST", &group("/kernels"), Some(&json!([used]))).await.json(200);
        }
        let details = json!({"slot": "gpu", "asked": "2", "most_free": "1", "free": "2"});
        assert_eq!(waiting().await, (json!(1), json!("no_room"), details));
        assert!(explained().contains("asks for 2 gpu; at most 1 are free on an agent, 2 on all"), "{}", explained());
    }

    async fn a_sequence_and_an_explanation_say_what_can_never_start(db: TestDb) {
        let server = cluster(db).await;
        let workload = |name: &str, gpus: &str, more: &Value| with(json!({
            "workload_id": name, "user_uuid": id("bob"), "project_id": id("vision"), "requested_slots": {"gpu": gpus},
        }), more);
        let body = json!({"explain": true, "workloads": [
            workload("fits", "8", &json!({})), workload("large", "9", &json!({})), workload("limited", "5", &json!({"queue": "sub"})),
            workload("array", "1", &json!({"count": 1000})),
        ]});
        let told = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let item = |name: &str| told["items"].as_array().unwrap().iter().find(|item| item["workload_id"] == name).unwrap().clone();
        assert_eq!(told["items"].as_array().unwrap().len(), 4);
        assert_eq!((item("fits").get("waiting"), item("array").get("waiting")), (None, None));
        assert_eq!(item("large")["waiting"]["details"], json!({"scope": "agent", "slot": "gpu", "asked": "9", "most": "8"}));
        assert_eq!(item("limited")["waiting"]["details"]["queue"], "small");
        let explained = server.get(&group("/explain?workload=large")).await["workload"].clone();
        assert_eq!((&explained["waiting"]["reason"], explained["position"].is_u64()), (&json!("too_large"), true));

        // Without workloads those that were reported are ordered.
        let reported = server.call("POST", &group("/sequence"), None).await.json(200);
        let also = server.call("POST", &group("/sequence"), Some(&json!({"explain": true}))).await.json(200);
        assert_eq!(ids(&reported), ids(&also));
        let mut known = names(&["train!", "first", "huge", "over", "lost"]);
        let mut listed = ids(&reported);
        known.sort();
        listed.sort();
        assert_eq!(listed, known);
        let cli = run(&server.db, ["sequence", GROUP, "-o", "json"]).json();
        assert_eq!(ids(&cli), ids(&reported));
        let graphql = server.graphql(r#"{ sequence(resource_group: "gpu-cluster") { count items { workload_id waiting { reason } } } }"#).await;
        let items = graphql["data"]["sequence"]["items"].as_array().unwrap().clone();
        assert_eq!(ids(&json!({"items": items.clone()})), ids(&reported));
        let huge = items.iter().find(|item| item["workload_id"] == json!(id("huge"))).unwrap();
        assert_eq!(huge["waiting"]["reason"], "too_large");
        for body in [json!({"workloads": null}), json!({"workloads": 1})] {
            assert_eq!(server.call("POST", &group("/sequence"), Some(&body)).await.status, 422, "{body}");
        }

        // Every reported workload that waits is explained, by its id or by a kernel.
        let gang = server.get(&group("/explain?workload=train")).await["workload"].clone();
        assert_eq!((&gang["workload_id"], gang["position"].is_u64(), gang.get("waiting")), (&json!("train"), true, None));
        assert_eq!(server.get(&group(&format!("/explain?workload={}", id("g2")))).await["workload"], gang);
        let never = server.get(&group(&format!("/explain?workload={}", id("huge")))).await["workload"].clone();
        assert_eq!((&never["position"], &never["of"], &never["waiting"]["details"]["most"]), (&Value::Null, &json!(2), &json!("8")));
        let told = run(&server.db, ["explain", "--workload", &id("huge").to_string()]).ok();
        assert!(told.contains("can never start as it is: asks for 9 gpu; an agent has 8 at most"), "{told}");
        server.call("GET", &group(&format!("/explain?workload={}", id("runs"))), None).await.refused(404, "unknown_workload");
    }

    async fn the_tasks_of_an_array_are_charged_together(db: TestDb) {
        let server = Server::with_usage(db).await;
        let asked = |more: &Value| with(json!({
            "workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision"), "expected_seconds": 3600,
        }), more);
        let charge = async |workload: Value| {
            let body = json!({"mode": "progressive", "workloads": [workload]});
            server.call("POST", &group("/sequence"), Some(&body)).await.json(200)["items"][0]["charge"].clone()
        };
        let whole = charge(asked(&json!({"requested_slots": {"cpu": "2000"}}))).await;
        assert_eq!(charge(asked(&json!({"requested_slots": {"cpu": "2"}, "count": 1000}))).await, whole);
        assert_ne!(charge(asked(&json!({"requested_slots": {"cpu": "2"}, "count": 1}))).await, whole);
        for count in [json!(0), json!(1_000_001)] {
            let body = json!({"workloads": [asked(&json!({"count": count}))]});
            let refused = server.call("POST", &group("/sequence"), Some(&body)).await.refused(422, "out_of_range");
            assert_eq!(refused, ["/workloads/0/count"]);
        }
        let largest = json!({"workloads": [asked(&json!({"requested_slots": {"cpu": "1e21"}, "count": 1_000_000}))], "mode": "progressive"});
        server.call("POST", &group("/sequence"), Some(&largest)).await.json(200);
    }
}
