//! The examples of docs/DIVISION.md, as printed there.

use fairshared::domain::time::Timestamp;
use fairshared::domain::{division, reclaim};

/// The JSON documents of the page, each with the rows of the table below it, the head first.
fn examples() -> Vec<(String, Vec<Vec<String>>)> {
    let page = include_str!("../../../docs/DIVISION.md");
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split_once("```").unwrap());
    let table = |text: &str| {
        let lines = text.lines().skip_while(|l| l.is_empty()).take_while(|l| l.starts_with('|'));
        let cells = |line: &str| line.trim_matches('|').split('|').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
        lines.map(cells).filter(|row| row[0] != "---").collect::<Vec<_>>()
    };
    blocks.map(|(json, after)| (json.to_owned(), table(after.trim_start_matches('\n')))).collect()
}

fn divided(json: &str, head: &[String]) -> Vec<Vec<String>> {
    let report = serde_json::from_str::<division::DivisionSimulation>(json).unwrap().run().unwrap();
    let slots: Vec<_> = head[1..].iter().map(|s| fairshared::domain::slots::SlotName::new(s).unwrap()).collect();
    let row = |queue: &division::report::QueueReport| {
        let shares = slots.iter().map(|slot| queue.fair_share.get(*slot).unwrap().to_string());
        std::iter::once(queue.name.clone()).chain(shares).collect()
    };
    report.queues.iter().map(row).collect()
}

fn planned(json: &str, verdict: reclaim::ReclaimVerdict) -> reclaim::ReclaimPlan {
    let plan = serde_json::from_str::<reclaim::ReclaimSimulation>(json).unwrap().run(Timestamp::EPOCH).unwrap();
    assert_eq!(plan.verdict, verdict);
    plan
}

fn victims(json: &str) -> Vec<Vec<String>> {
    let plan = planned(json, reclaim::ReclaimVerdict::Reclaim);
    plan.victims.iter().map(|v| vec![v.kernel_ids.join(" "), v.rule.clone()]).collect()
}

fn refusals(json: &str) -> Vec<Vec<String>> {
    let row = |line: serde_json::Value| {
        let cell = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let of = line["workload_id"].as_str().unwrap_or("new").to_owned();
        vec![of, cell("rule"), cell("level"), cell("reclaimer_ratio"), cell("victim_ratio")]
    };
    let plan = planned(json, reclaim::ReclaimVerdict::Refused);
    plan.refusals.iter().map(|line| row(serde_json::to_value(line).unwrap())).collect()
}

#[test]
fn the_pages_examples_hold() {
    let examples = examples();
    assert_eq!(examples.len(), 6);
    for (json, table) in examples {
        let (head, rows) = table.split_first().unwrap();
        let found = match head[0].as_str() {
            "victim" => victims(&json),
            "refused" => refusals(&json),
            _ => divided(&json, head),
        };
        assert_eq!(found, rows, "{json}");
    }
}
