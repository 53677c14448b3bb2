//! The examples of docs/CYCLE.md, as printed there.

use serde_json::Value;

use super::support::cycle;

/// The rows of the first table of a text, without its head.
fn rows(text: &str) -> Vec<(String, String)> {
    let table = text.lines().skip_while(|line| !line.starts_with("| ")).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        let cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
        (cells[0].clone(), cells[1].clone())
    };
    table.skip(2).map(cells).collect()
}

/// The result of each workload in an answer: first the starts, then the evictions, then what waits.
fn results(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |key: &str| answer[key].as_array().unwrap().clone();
    let starts =
        list("starts").into_iter().map(|s| (text(&s["workload_id"]), format!("starts ({})", text(&s["action"]))));
    let victims =
        list("evictions").into_iter().map(|e| (text(&e["workload_id"]), format!("evicted for {}", text(&e["for"]))));
    let waiting =
        list("waiting").into_iter().map(|w| (text(&w["workload_id"]), format!("waits ({})", text(&w["reason"]))));
    starts.chain(victims).chain(waiting).collect()
}

#[test]
fn the_examples_of_the_page() {
    let page = include_str!("../../../../docs/CYCLE.md");
    let mut count = 0;
    for part in page.split("```json\n").skip(1) {
        let (document, after) = part.split_once("```").expect("an end of the block");
        let document: Value = serde_json::from_str(document).expect("JSON");
        assert_eq!(results(&cycle(&document)), rows(after), "{document:#}");
        count += 1;
    }
    assert_eq!(count, 4, "one for each action");
}

#[test]
fn the_names_of_the_page() {
    let page = include_str!("../../../../docs/CYCLE.md");
    let table = |head: &str| -> Vec<String> {
        let (_, text) = page.split_once(head).expect("the table");
        rows(&format!("{head}{text}")).into_iter().map(|(name, _)| name.trim_matches('`').to_owned()).collect()
    };
    assert_eq!(table("| predicate |"), domain::cycle::predicate_names().collect::<Vec<_>>());
    assert_eq!(table("| score |"), domain::cycle::score_names().collect::<Vec<_>>());
    for action in domain::cycle::action_names() {
        assert!(page.contains(&format!("### `{action}`\n")), "{action}");
    }
}
