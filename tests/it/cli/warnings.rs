//! Commands print warnings on standard error, and do their work.

use serde_json::json;

use super::program::{Ended, run, run_with_input};
use super::two_users;
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn warnings_stand_on_standard_error(db: TestDb) {
        let f = two_users(db).await;
        let said = |ended: Ended| -> Vec<String> {
            assert_eq!(ended.code, Some(0), "{ended:?}");
            ended.stderr.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_owned).collect()
        };
        let job = |name: &str| json!({"workload_id": name, "user": "alcie", "project_id": id("ml")});
        let body = json!({"workloads": [job("a"), job("b")]}).to_string();
        for output in ["table", "json"] {
            let ended = run_with_input(&f.db, &["sequence", GROUP, "-", "-o", output], body.as_bytes());
            let said = said(ended);
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].contains("knows no user \"alcie\"") && said[0].ends_with("(in 2 places, first at /workloads/0/user)"), "{said:?}");
        }
        let report = with(kernel("g", "alice", "ml", "2026-01-13T10:00:00Z"), &json!({"occupied_slots": {"gpu": "1"}}));
        let said_of = said(run_with_input(&f.db, &["kernels", "post", GROUP, "-"], report.to_string().as_bytes()));
        assert!(said_of.len() == 1 && said_of[0].contains("`gpu`"), "{said_of:?}");
        for name in ["node[01-10]", "node[01..10]", "node{01..10}", "node{1,2}", "node(1-3)", "node<1-3>", "node01-node10"] {
            let said_of = said(run(&f.db, ["agents", "set", GROUP, name, "--slot", "cpu=1"]));
            assert!(said_of.len() == 1 && said_of[0].contains("looks like a range"), "{name}: {said_of:?}");
        }
        for name in ["rack01-10", "n1[0]", "r1-n10"] {
            let said_of = said(run(&f.db, ["agents", "set", GROUP, name, "--slot", "cpu=1"]));
            assert!(said_of.is_empty(), "{name}: {said_of:?}");
        }
        let said_of = said(run(&f.db, ["options", "set", GROUP, "half_life_days=60"]));
        assert!(said_of.iter().any(|line| line.contains("half-life of 60 days")), "{said_of:?}");
    }
}
