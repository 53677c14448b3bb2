//! Laws of pages: read in any way, a list has the same rows.

use serde_json::{Value, json};

use super::support::{Api, column};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const USERS: usize = 23;

/// Users, most of them with exactly the same usage.
async fn crowd(db: crate::support::database::TestDb) -> Api {
    let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
    api.fixture.agent("node-1", &json!({"cpu": "100"})).await;
    let kernels: Vec<_> = (0..USERS)
        .map(|n| {
            let (user, project) = (format!("u{n}"), format!("p{}", n % 4));
            let cpu = if n < 3 { "2" } else { "1" };
            with(
                kernel(&user, &user, &project, "2026-01-12T01:00:00Z"),
                &json!({
                    "domain_name": format!("d{}", n % 2), "occupied_slots": {"cpu": cpu},
                    "status": "TERMINATED", "terminated_at": "2026-01-12T02:00:00Z",
                    "user_name": (n % 3 > 0).then(|| format!("n{}", n % 5)), "project_name": format!("q{}", n % 2),
                }),
            )
        })
        .collect();
    api.fixture.ingest(&kernels).await;
    api.fixture.tick().await;
    let items: Vec<_> = (0..USERS)
        .map(|n| format!(r#"{{target_type: USER, target_id: "{}", weight: "{}"}}"#, id(&format!("u{n}")), n % 3 + 1))
        .collect();
    api.ask(&format!(
        r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [{}]) {{ upserted_count }} }}"#,
        items.join(" ")
    ))
    .await;
    api
}

/// One list under one order.
struct Walk<'a> {
    api: &'a Api,
    list: &'a str,
    order: String,
    /// The fields that distinguish rows.
    row: &'a str,
}

fn nodes(page: &Value) -> Vec<Value> {
    page["edges"].as_array().unwrap().iter().map(|edge| edge["node"].clone()).collect()
}

impl<'a> Walk<'a> {
    fn of_group(api: &'a Api, list: &'a str, order: &str) -> Self {
        Self { api, list, order: format!(r#"resource_group: "gpu-cluster" {order}"#), row: "id" }
    }

    async fn page(&self, args: &str) -> Value {
        let Self { list, order, row, .. } = self;
        let query = format!(
            r"{{ {list}({order} {args}) {{
                count edges {{ cursor node {{ {row} }} }} pageInfo {{ hasNextPage hasPreviousPage startCursor endCursor }} }} }}"
        );
        self.api.ask(&query).await[list].clone()
    }

    /// Follows cursors from one end to the other.
    async fn follow(&self, forward: bool, size: usize) -> Vec<Value> {
        let (count, from, more, less, next) = if forward {
            ("first", "after", "hasNextPage", "hasPreviousPage", "endCursor")
        } else {
            ("last", "before", "hasPreviousPage", "hasNextPage", "startCursor")
        };
        let (mut rows, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = self.page(&format!("{count}: {size} {cursor}")).await;
            assert_eq!(page["pageInfo"][less], !cursor.is_empty(), "{} {}", self.list, self.order);
            let ids = nodes(&page);
            if forward {
                rows.extend(ids);
            } else {
                rows.splice(0..0, ids);
            }
            assert!(rows.len() <= USERS, "{} {} repeats rows", self.list, self.order);
            if page["pageInfo"][more] == false {
                return rows;
            }
            cursor = format!("{from}: {}", page["pageInfo"][next]);
        }
    }

    async fn check(&self) {
        let whole = self.page("first: 1000").await;
        let rows = nodes(&whole);
        assert_eq!(whole["count"], rows.len());
        assert_eq!(whole["pageInfo"]["hasNextPage"], false);
        assert_eq!(whole["pageInfo"]["hasPreviousPage"], false);
        assert_eq!(whole["pageInfo"]["startCursor"], whole["edges"][0]["cursor"]);
        for size in [1, 5, rows.len()] {
            assert_eq!(self.follow(true, size).await, rows, "{} {} forward by {size}", self.list, self.order);
            assert_eq!(self.follow(false, size).await, rows, "{} {} backward by {size}", self.list, self.order);
        }
        for offset in [0, 3, rows.len() - 1, rows.len() + 5] {
            let page = self.page(&format!("first: 2 offset: {offset}")).await;
            let expected: Vec<_> = rows.iter().skip(offset).take(2).cloned().collect();
            assert_eq!(nodes(&page), expected);
            assert_eq!(page["pageInfo"]["hasNextPage"], offset + 2 < rows.len());
        }
        // Between two cursors, and away from one.
        let (third, sixth) = (&whole["edges"][2]["cursor"], &whole["edges"][5]["cursor"]);
        let page = self.page(&format!("first: 10 after: {third} before: {sixth}")).await;
        assert_eq!(nodes(&page), rows[3..5]);
        assert_eq!(page["pageInfo"]["hasPreviousPage"], true);
        assert_eq!(page["pageInfo"]["hasNextPage"], true);
    }
}

on_both! {
    async fn user_shares_in_every_order(db: TestDb) {
        let api = crowd(db).await;
        Walk::of_group(&api, "user_fair_shares", "").check().await;
        for field in ["FAIR_SHARE_FACTOR", "EFFECTIVE_USAGE", "EFFECTIVE_WEIGHT", "RANK", "NAME"] {
            for direction in ["ASC", "DESC"] {
                let order = format!("order: {{field: {field}, direction: {direction}}}");
                Walk::of_group(&api, "user_fair_shares", &order).check().await;
            }
        }
    }

    async fn user_buckets_in_every_order(db: TestDb) {
        let api = crowd(db).await;
        for field in ["PERIOD_START", "PERIOD_END", "CREATED_AT", "UPDATED_AT"] {
            for direction in ["ASC", "DESC"] {
                let order = format!("order: {{field: {field}, direction: {direction}}}");
                Walk::of_group(&api, "user_usage_buckets", &order).check().await;
            }
        }
    }

    async fn weights_in_every_order(db: TestDb) {
        let api = crowd(db).await;
        for field in ["TARGET_TYPE", "TARGET_ID", "WEIGHT"] {
            for direction in ["ASC", "DESC"] {
                let order = format!("order: {{field: {field}, direction: {direction}}}");
                Walk::of_group(&api, "fair_share_weights", &order).check().await;
            }
        }
    }

    async fn an_order_by_name_runs_both_ways(db: TestDb) {
        let api = crowd(db).await;
        for (list, name) in [("domain_fair_shares", "domain_name"), ("project_fair_shares", "project_name"), ("user_fair_shares", "user_name")] {
            let ask = async |direction: &str| {
                let data = api.ask(&format!(
                    r#"{{ {list}(resource_group: "gpu-cluster", order: {{field: NAME, direction: {direction}}}) {{ edges {{ node {{ id {name} }} }} }} }}"#
                )).await;
                (column(&data[list], "id"), column(&data[list], name))
            };
            let ((ids, names), (mut back, _)) = (ask("ASC").await, ask("DESC").await);
            back.reverse();
            assert_eq!(ids, back, "{list}");
            let named: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            assert!(named.is_sorted() && named.len() > 1, "{list}: {named:?}");
        }
    }

    async fn numbered_lists_page_both_ways(db: TestDb) {
        let api = crowd(db).await;
        for _ in 0..7 {
            api.ask(r#"mutation { run_job(name: "aggregate", resource_group: "gpu-cluster") { id }
                a: upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "d0", weight: 2) { id }
                b: upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "d0", weight: 3) { id } }"#).await;
        }
        for (list, args) in [("job_runs", r#"job: "aggregate""#), ("audit_log", r#"action: "weights.put""#)] {
            Walk { api: &api, list, order: args.to_owned(), row: "id" }.check().await;
        }
        Walk::of_group(&api, "audit_log", "").check().await;
        let all = "job_runs(first: 1000) { edges { node { id } } }";
        assert_eq!(api.statements(&format!("{{ {all} }}")).await, api.statements("{ job_runs(last: 2, offset: 1) { count } }").await);
    }

    async fn a_history_of_divisions_pages_both_ways(db: TestDb) {
        let api = crowd(db).await;
        // Names that a locale would order otherwise than their bytes.
        api.ask(r#"mutation { upsert_queues(resource_group: "gpu-cluster", queues: [{name: "a"}, {name: "B"}, {name: "é"}]) { created_count } }"#).await;
        for day in 13..18 {
            api.fixture.clock.set(&format!("2026-01-{day}T01:00:00Z"));
            api.fixture.service.keep_division("gpu-cluster").await.unwrap();
        }
        for (args, rows) in [("", 20), (r#"from: "2026-01-14", to: "2026-01-16""#, 12)] {
            let walk = Walk { row: "day queue", ..Walk::of_group(&api, "division_history", args) };
            walk.check().await;
            assert_eq!(walk.page("last: 1").await["count"], rows);
        }
        let last = Walk { row: "day queue", ..Walk::of_group(&api, "division_history", "") }.page("last: 2").await;
        assert_eq!(nodes(&last), [json!({"day": "2026-01-17", "queue": "default"}), json!({"day": "2026-01-17", "queue": "é"})]);
        let query = r#"{ division_history(resource_group: "gpu-cluster", first: 1, last: 1) { count } }"#;
        assert_eq!(api.code(query).await, "invalid_page");
    }

    async fn a_nested_list_pages_like_any_other(db: TestDb) {
        let api = crowd(db).await;
        let ask = async |args: &str| {
            let query = format!(r#"{{ project_fair_share(resource_group: "gpu-cluster", project_id: "{}") {{
                user_fair_shares({args}) {{ count edges {{ node {{ id }} }} pageInfo {{ hasNextPage endCursor }} }} }} }}"#, id("p1"));
            api.ask(&query).await["project_fair_share"]["user_fair_shares"].clone()
        };
        let whole = ask("first: 100").await;
        let mut rows = Vec::new();
        let mut args = "first: 2".to_owned();
        loop {
            let page = ask(&args).await;
            assert_eq!(page["count"], whole["count"]);
            rows.extend(column(&page, "id"));
            if page["pageInfo"]["hasNextPage"] == false {
                break;
            }
            args = format!("first: 2, after: {}", page["pageInfo"]["endCursor"]);
        }
        assert_eq!(rows.len(), 6);
        assert_eq!(rows, column(&whole, "id"));
    }
}
