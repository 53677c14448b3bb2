//! `divide`, `reclaim` and `cycle`, which need neither a server nor a database.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::program::{Ended, end, program};

/// Runs the program in an empty folder with a database that cannot be reached.
fn run(args: &[&str], input: &[u8]) -> Ended {
    let mut command = program();
    command.env("FAIRSHARED_DATABASE_URL", "postgres://nowhere.invalid/none").args(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A program that refuses early does not read.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn run_ai() -> Value {
    json!({
        "algorithm": "quota_over_quota", "options": {"rounding": "whole"}, "capacity": {"gpu": 36}, "queues": [
            {"name": "p1", "over_quota_weight": 2, "quota": {"gpu": 10}, "request": {"gpu": 36}},
            {"name": "p2", "over_quota_weight": 3, "quota": {"gpu": 6}, "request": {"gpu": 36}},
            {"name": "p3", "over_quota_weight": 1, "request": {"gpu": 36}, "limit": {"gpu": "1"}, "allocated": {"gpu": 37}},
        ]
    })
}

fn reclaim(asked: u32) -> Value {
    json!({
        "algorithm": "quota_over_quota", "options": {}, "capacity": {"gpu": 4}, "queues": [{"name": "a"}, {"name": "b"}],
        "running": [{"workload_id": "w", "queue": "b", "priority": 0, "preemptible": true, "gang_min": 1, "members": [
            {"kernel_id": "k1", "slots": {"gpu": 2}}, {"kernel_id": "k2", "slots": {"gpu": 2}},
        ]}],
        "pending": {"workload_id": "new", "queue": "a", "priority": 0, "preemptible": true, "members": [{"slots": {"gpu": asked}}]},
    })
}

#[test]
fn a_division_in_every_form() {
    let input = run_ai().to_string().into_bytes();
    let divide = |args: &[&str]| run(&[&["divide", "-"], args].concat(), &input);
    let table = divide(&[]);
    assert!(table.stderr.contains("warning: p3, gpu: the request of gpu is below the allocation"), "{table:?}");
    let table = table.ok();
    let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
    assert_eq!(lines[0][..3], ["QUEUE", "SLOT", "FAIR"]);
    assert_eq!(lines[2][..4], ["p2", "gpu", "17", "in_quota"]);
    let csv = divide(&["-o", "csv"]).ok();
    assert!(
        csv.starts_with("queue,slot,fair_share,state,saturation_ratio,dominant_share\np1,gpu,18,in_quota,0,0\n"),
        "{csv}"
    );
    assert!(csv.ends_with("p3,gpu,1,over_fair_share,37,37\n"), "{csv}");
    let report = divide(&["-o", "json"]).json();
    assert_eq!(
        (&report["queues"][2]["state"], &report["warnings"][0]["code"]),
        (&json!("over_fair_share"), &json!("request_below_allocation"))
    );

    let mut explained = run_ai();
    explained["explain"] = json!(true);
    let explained = run(&["divide", "-"], explained.to_string().as_bytes()).ok();
    assert!(explained.contains("p1 gets 18 of 36 gpu: 10 quota + "), "{explained}");
}

#[test]
fn plans_in_every_form_and_any_verdict() {
    let plan =
        |asked: u32, args: &[&str]| run(&[&["reclaim", "-"], args].concat(), reclaim(asked).to_string().as_bytes());
    let answer = plan(2, &["-o", "json"]).json();
    assert_eq!((&answer["verdict"], &answer["victims"][0]["kernel_ids"]), (&json!("reclaim"), &json!(["k2"])));
    let csv = plan(2, &["-o", "csv"]).ok();
    assert_eq!(
        csv,
        "kind,verdict,workload_id,kernels,agent_id,queue,rule,level,slot,reclaimer_ratio,victim_ratio\n\
        verdict,reclaim,,,,,,,,,\nvictim,,w,k2,,b,fair_share,b,gpu,,\n"
    );
    let table = plan(3, &[]).ok();
    assert!(table.lines().nth(1).is_some_and(|l| l.contains("refused")), "{table}");
    assert!(table.contains("gate_fair_share") && table.contains("1.5"), "{table}");
    let mut fits = reclaim(2);
    fits["agents"] = json!([{"agent_id": "n0", "available_slots": {"gpu": 2}}]);
    let fits = run(&["reclaim", "-", "-o", "csv"], fits.to_string().as_bytes()).ok();
    assert!(fits.contains("\nverdict,fits,") && fits.contains("\nplacement,,,0,n0,"), "{fits}");
}

#[test]
fn unusable_input_ends_with_2_and_its_place() {
    let (divide, plan) = (run_ai(), reclaim(1));
    let with = |base: &Value, place: &str, value: Value| {
        let mut body = base.clone();
        *body.pointer_mut(place).unwrap() = value;
        body.to_string()
    };
    for (command, input, message) in [
        (
            "divide",
            with(&divide, "/queues/1/name", json!("p1")),
            "standard input: /queues/1/name: the queue \"p1\" is named twice",
        ),
        ("divide", with(&divide, "/capacity", json!({"gpu": -1})), "standard input: /capacity/gpu: "),
        (
            "divide",
            with(&divide, "/options", json!({"luck": 1})),
            "standard input: /options/luck: `options.luck` is not known here",
        ),
        ("divide", "{".to_owned(), "standard input: the JSON document ends too early"),
        ("divide", String::new(), "standard input: the JSON document ends too early"),
        (
            "reclaim",
            with(&plan, "/pending/queue", json!("x")),
            "standard input: /pending/queue: there is no queue \"x\"",
        ),
        (
            "reclaim",
            with(&plan, "/running/0/queue", json!("x")),
            "standard input: /running/0/queue: there is no queue \"x\"",
        ),
        ("reclaim", "[".repeat(10_000), "standard input: the JSON document is nested deeper"),
    ] {
        let line = run(&[command, "-"], input.as_bytes()).refused(2);
        assert!(line.starts_with(message), "{line}");
    }
    for command in ["divide", "reclaim"] {
        assert!(end(program().args([command, "/nowhere.json"])).refused(2).starts_with("cannot read /nowhere.json: "));
    }
}

fn cycle(pending: &Value) -> Value {
    json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": 4}, "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b"}],
        "agents": [{"agent_id": "n1", "available_slots": {"gpu": 4}}],
        "running": [{"workload_id": "r", "queue": "b", "members": [{"kernel_id": "k", "slots": {"gpu": 3}, "agent_id": "n1"}]}],
        "pending": pending,
    })
}

#[test]
fn a_cycle_in_every_form() {
    let pending = json!([
        {"workload_id": "w1", "queue": "b", "members": [{"slots": {"gpu": 1}}]},
        {"workload_id": "w2", "queue": "a", "members": [{"slots": {"gpu": 2}}]},
        {"workload_id": "w3", "queue": "b", "members": [{"slots": {"gpu": 9}}]},
    ]);
    let run = |args: &[&str]| run(&[&["cycle", "-"], args].concat(), cycle(&pending).to_string().as_bytes());
    let answer = run(&["-o", "json"]).json();
    assert_eq!(
        (&answer["starts"][0]["workload_id"], &answer["evictions"][0]["for"]),
        (&json!("w1"), &json!("w2")),
        "{answer}"
    );
    let csv = run(&["-o", "csv"]).ok();
    assert_eq!(
        csv,
        "kind,workload_id,queue,position,members,agents,action,reason,details,blocked_by,reserved_at\n\
        start,w1,b,1,1,n1,allocate,,,,\nstart,w2,a,2,1,n1,reclaim,,,,\n\
        eviction,r,b,,1,,reclaim,fair_share,k,w2,\n\
        waiting,w3,b,,1,,,too_large,asked=9 most=4 scope=agent slot=gpu,,\n"
    );
    let table = run(&[]);
    assert!(table.stderr.contains("warning: "), "{table:?}");
    assert!(table.ok().contains("too_large"));
}

#[test]
fn a_cycle_with_a_fault_ends_with_2() {
    let pending = json!({"workload_id": "w", "queue": "gone", "members": []});
    let line = run(&["cycle", "-"], cycle(&pending).to_string().as_bytes()).refused(2);
    assert!(line.starts_with("standard input: ") && line.contains("/pending/queue"), "{line}");
    let line = run(&["cycle", "-"], b"{").refused(2);
    assert!(line.starts_with("standard input: the JSON document ends too early"), "{line}");
}
