//! Queries that are too large: a clear refusal, never a hang, an overflow or excessive SQL.

use std::fmt::Write;

use serde_json::json;

use super::support::{Api, column};
use crate::support::fixture::{admin, id, kernel};
use crate::support::on_both;

on_both! {
    async fn hostile_queries_are_refused(db: TestDb) {
        let api = Api::cluster(db).await;
        let nested = |open: &str, close: &str, n: usize| format!("{}{}", open.repeat(n), close.repeat(n));
        let filter = |inner: &str| format!(r#"{{ user_fair_shares(resource_group: "gpu-cluster", filter: {inner}) {{ count }} }}"#);
        let mut doubling = "{ ...f0 }".to_owned();
        for n in 0..40 {
            let _ = write!(doubling, " fragment f{n} on Query {{ ...f{next} ...f{next} }}", next = n + 1);
        }
        doubling.push_str(" fragment f40 on Query { jobs { name } }");
        let aliases = (0..2_000).fold(String::new(), |mut all, n| {
            let _ = write!(all, "a{n}: jobs {{ name }} ");
            all
        });
        let chain = (0..500).fold("{ ...f0 }".to_owned(), |all, n| format!("{all} fragment f{n} on Query {{ ...f{} }}", n + 1));
        let types = "ofType { ".repeat(20);
        let conditions = vec![r#"{domain_name: {equals: "x"}}"#; 200].join(" ");
        let ids = vec![format!("\"{}\"", id("x")); 2_000].join(" ");
        for (query, code) in [
            (nested("{ a ", "}", 10_000), "query_too_deep"),
            ("{".repeat(10_000), "query_too_deep"),
            (filter(&nested("{AND: [", "]}", 10_000)), "query_too_deep"),
            (filter(&nested("{NOT: [", "]}", 15)), "filter_too_deep"),
            (format!("{{ jobs(a: {}) {{ name }} }}", nested("[", "]", 10_000)), "query_too_deep"),
            (format!("query ($a: {}) {{ jobs {{ name }} }}", nested("[", "]", 10_000)), "query_too_deep"),
            (format!("{{ __type(name: \"Query\") {{ {types} name {} }} }}", "}".repeat(20)), "query_too_deep"),
            (doubling, "query_too_complex"),
            (chain, "query_too_deep"),
            ("{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }".to_owned(), "query_too_deep"),
            (format!("{{ {aliases} }}"), "query_too_complex"),
            (format!("{{ jobs {{ name }} }} # {}", "x".repeat(300_000)), "query_too_large"),
            (filter(&format!("{{OR: [{conditions}]}}")), "filter_too_large"),
            (filter(&format!("{{user_uuid: {{in: [{ids}]}}}}")), "filter_too_large"),
        ] {
            let shown: String = query.chars().take(60).collect();
            assert_eq!(api.refused(admin(), &query).await["code"], code, "{shown}");
        }
        // Brackets in texts and comments are no nesting.
        let brackets = "[{(".repeat(100);
        let data = api.ask(&format!("# {brackets}\n{{ domain_fair_shares(resource_group: \"gpu-cluster\", filter: {{domain_name: {{in: [\"\\\"{brackets}\", \"\"\"{brackets}\"\"\"]}}}}) {{ count }} }}")).await;
        assert_eq!(data["domain_fair_shares"]["count"], 0);
        // A variable nests no deeper than a literal.
        let deep = (0..50).fold(json!({}), |inner, _| json!({"AND": [inner]}));
        let query = r#"query ($f: UserFairShareFilter) { user_fair_shares(resource_group: "gpu-cluster", filter: $f) { count } }"#;
        let answer = api.send(admin(), query, json!({"f": deep})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "query_too_deep");
        let less = (0..20).fold(json!({}), |inner, _| json!({"AND": [inner]}));
        let answer = api.send(admin(), query, json!({"f": less})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "filter_too_deep");
    }

    async fn an_answer_names_a_hundred_errors_and_counts_the_others(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let query = format!("{{ {} }}", "nothing ".repeat(900));
        let answer = api.send(admin(), &query, json!({})).await;
        let errors = answer["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 101);
        assert!(errors.iter().all(|error| error["extensions"]["code"].is_string()));
        assert_eq!(errors[100]["extensions"]["code"], "more_errors");
        assert_eq!(errors[100]["message"], "800 more errors are not shown");
        assert!(answer.to_string().len() < 64 * 1024);
    }

    async fn an_answer_has_an_end(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let kernels: Vec<_> = (0..300).map(|n| kernel(&format!("u{n}"), &format!("u{n}"), "ml", "2026-01-12T00:00:00Z")).collect();
        api.fixture.ingest(&kernels).await;
        api.fixture.tick().await;
        let many = |aliases: usize, fields: &str| {
            let list = (0..aliases).map(|n| format!(r#"a{n}: user_fair_shares(resource_group: "gpu-cluster", first: 1000) {{ edges {{ node {{ {fields} }} }} }}"#));
            format!("{{ {} }}", list.collect::<Vec<_>>().join(" "))
        };
        api.ask(&many(5, "id rank")).await;
        let fields = (0..60).map(|n| format!("f{n}: rank")).collect::<Vec<_>>().join(" ");
        assert_eq!(api.code(&many(15, &fields)).await, "query_too_complex");
    }

    async fn a_query_looks_at_so_many_rows_and_equal_lists_are_looked_at_once(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let kernels: Vec<_> = (0..5_000).map(|n| kernel(&format!("u{n}"), &format!("u{n}"), "ml", "2026-01-12T00:00:00Z")).collect();
        api.fixture.ingest(&kernels).await;
        api.fixture.tick().await;
        let lists = |aliases: usize, filter: &dyn Fn(usize) -> String| {
            let list = (0..aliases).map(|n| {
                let filter = filter(n);
                format!(r#"a{n}: user_fair_shares(resource_group: "gpu-cluster", first: 1, offset: {n}, filter: {{user_name: {{contains: "{filter}"}}}}) {{ count }}"#)
            });
            format!("{{ {} }}", list.collect::<Vec<_>>().join(" "))
        };
        // 450 lists of 5,000 rows each are more than two million rows; in equal ones 5,000 are looked at.
        assert_eq!(api.code(&lists(450, &|n| format!("q{n}"))).await, "query_too_complex");
        let equal = api.ask(&lists(450, &|_| "u1".to_owned())).await;
        assert_eq!(equal["a0"]["count"], equal["a449"]["count"]);
        let reports = (0..21).map(|n| format!(r#"a{n}: division(resource_group: "gpu-cluster") {{ algorithm }}"#));
        assert_eq!(api.code(&format!("{{ {} }}", reports.collect::<Vec<_>>().join(" "))).await, "query_too_complex");
    }

    async fn every_field_is_charged_before_its_work(db: TestDb) {
        let api = Api::cluster(db).await;
        // These look one row up, or show what the server is; queues cost their number, and there are none.
        let free = [
            "resource_group", "resource_groups", "domain_fair_share", "project_fair_share", "user_fair_share", "queue", "queues",
            "domain", "project", "user", "whoami", "metadata",
        ];
        let text = |value: &str| json!(value).to_string();
        let argument = |field: &str, name: &str, kind: &str| match (name, kind) {
            ("resource_group", _) => text("gpu-cluster"),
            ("from", _) => text("2026-01-10"),
            ("to" | "day", _) => text("2026-01-12"),
            ("ids", _) => format!("[{}]", text("a")),
            ("id", _) => text("a"),
            (_, "UUID") => text(&id("alice").to_string()),
            (_, "JSONString") => text("{}"),
            _ => text(&format!("{field} {name}")),
        };
        let described = api.ask("{ __schema { queryType { fields { name type { kind ofType { kind } } args { name defaultValue type { kind ofType { name } } } } } } }").await;
        // All that a query may look at.
        let spent = (0..20).map(|n| format!(r#"d{n}: division(resource_group: "gpu-cluster") {{ algorithm }}"#)).collect::<Vec<_>>().join(" ");
        api.ask(&format!("{{ {spent} }}")).await;
        let mut uncharged = Vec::new();
        for field in described["__schema"]["queryType"]["fields"].as_array().unwrap() {
            let name = field["name"].as_str().unwrap();
            let required = field["args"].as_array().unwrap().iter().filter(|arg| arg["type"]["kind"] == "NON_NULL" && arg["defaultValue"].is_null());
            let given: Vec<_> = required.map(|arg| {
                let argument_name = arg["name"].as_str().unwrap();
                format!("{argument_name}: {}", argument(name, argument_name, arg["type"]["ofType"]["name"].as_str().unwrap_or_default()))
            }).collect();
            let given = if given.is_empty() { String::new() } else { format!("({})", given.join(", ")) };
            let kind = if field["type"]["kind"] == "NON_NULL" { &field["type"]["ofType"]["kind"] } else { &field["type"]["kind"] };
            let selected = if kind == "SCALAR" { "" } else { "{ __typename }" };
            let answer = api.send(admin(), &format!("{{ {spent} x: {name}{given} {selected} }}"), json!({})).await;
            if answer["errors"][0]["extensions"]["code"] != "query_too_complex" {
                uncharged.push(name.to_owned());
            }
        }
        uncharged.retain(|name| !free.contains(&&**name));
        // Rows by their ids cost the statements that read them.
        assert_eq!(uncharged, ["node", "nodes"]);
        let agent = api.ask(r#"{ agents(resource_group: "gpu-cluster", first: 1) { edges { node { id } } } }"#).await;
        let agent = &column(&agent["agents"], "id")[0];
        assert_eq!(api.code(&format!("{{ {spent} node(id: {agent}) {{ id }} }}")).await, "query_too_complex");
    }

    async fn a_field_costs_what_its_work_takes(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let kernels: Vec<_> = (0..9_000).map(|n| kernel(&format!("u{n}"), &format!("u{n}"), "ml", "2026-01-12T00:00:00Z")).collect();
        api.fixture.ingest(&kernels).await;
        api.fixture.tick().await;
        // After these, 100,000 rows are left.
        let spent = (0..19).map(|n| format!(r#"d{n}: division(resource_group: "gpu-cluster") {{ algorithm }}"#)).collect::<Vec<_>>().join(" ");
        let group = r#"resource_group: "gpu-cluster""#;
        let large = format!(r#""[{}0]""#, "0,".repeat(500));
        for field in [
            format!(r#"simulate_fair_shares({group}, input: "{{}}")"#),
            format!("simulate_division(input: {large})"),
            r#"usage_report(from: "2025-11-01", to: "2026-01-12") { count }"#.to_owned(),
            format!(r#"fairness({group}, window: "2025-11-01..2026-01-12") {{ active }}"#),
        ] {
            assert_eq!(api.code(&format!("{{ {spent} {field} }}")).await, "query_too_complex", "{field}");
        }
        // Fields that take no more go on, and no field of a group costs more than half of what a query has.
        api.ask(&format!("{{ {spent} occupancy({group}) {{ held }} }}")).await;
        let long = |n| format!(r#"r{n}: usage_report(from: "1990-01-01", to: "2026-01-12", first: 1) {{ count }}"#);
        api.ask(&format!("{{ {} {} }}", long(0), long(1))).await;
        api.ask(&format!(r#"{{ simulate_fair_shares({group}, input: "{{}}") }}"#)).await;
    }

    async fn statements_do_not_grow_with_rows(db: TestDb) {
        let api = Api::cluster(db).await;
        let tree = |first: usize| format!(r#"{{ domain_fair_shares(resource_group: "gpu-cluster", first: {first}) {{ edges {{ node {{
            domain_name project_fair_shares(first: {first}) {{ edges {{ node {{
                project_name user_fair_shares(first: {first}) {{ count edges {{ node {{ user_name rank total_decayed_usage }} }} }} }} }} }} }} }} }} }}"#);
        assert_eq!(api.statements(&tree(1)).await, 0);
        assert_eq!(api.statements(&tree(50)).await, 0);
        for (list, most) in [("user_usage_buckets", 3), ("project_usage_buckets", 3), ("domain_usage_buckets", 3), ("user_fair_shares", 0), ("fair_share_weights", 0), ("agents", 1)] {
            let query = |first: usize| format!(r#"{{ {list}(resource_group: "gpu-cluster", first: {first}) {{ count edges {{ node {{ id }} }} }} }}"#);
            let (few, many) = (api.statements(&query(1)).await, api.statements(&query(1000)).await);
            assert_eq!(few, many, "{list}");
            assert!(many <= most, "{list} takes {many} statements");
        }
    }

    async fn nested_lists_hold_their_own_rows(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"{ domain_fair_shares(resource_group: "gpu-cluster", filter: {domain_name: {equals: "research"}}) { edges { node {
            project_fair_shares(order: {field: RANK, direction: DESC}) { count edges { node { project_name domain_name rank
                user_fair_shares(order: {field: FAIR_SHARE_FACTOR, direction: DESC}) { count edges { node { user_name project_id } } } } } } } } } }"#).await;
        let projects = &data["domain_fair_shares"]["edges"][0]["node"]["project_fair_shares"];
        assert_eq!(projects["count"], 2);
        assert_eq!(column(projects, "project_name"), ["ml", "vision"]);
        assert_eq!(column(projects, "rank"), [2, 1]);
        let users = &projects["edges"][0]["node"]["user_fair_shares"];
        assert_eq!(users["count"], 2);
        assert_eq!(column(users, "user_name"), ["bob", "alice"]);
        assert_eq!(column(users, "project_id"), [json!(id("ml")), json!(id("ml"))]);
        let sole = &projects["edges"][1]["node"]["user_fair_shares"];
        assert_eq!(column(sole, "user_name"), ["alice"]);
        let filtered = api.ask(&format!(r#"{{ project_fair_share(resource_group: "gpu-cluster", project_id: "{}") {{
            user_fair_shares(filter: {{user_uuid: {{equals: "{}"}}}}) {{ count edges {{ node {{ user_name }} }} }} }} }}"#, id("ml"), id("bob"))).await;
        assert_eq!(column(&filtered["project_fair_share"]["user_fair_shares"], "user_name"), ["bob"]);
    }
}
