//! The requests that the pages print, run in a shell over a fresh demo: each gets the answer that the page shows.

use serde_json::Value;

use super::program::{Demo, answer};

/// The shell blocks of a page with requests to the server, each with the JSON printed below it, if any.
fn requests(page: &str) -> Vec<(String, Option<Value>)> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split_once("```\n").unwrap());
    let asks = blocks.filter(|(block, _)| block.contains("curl "));
    let shown = |after: &str| {
        let json = after.trim_start().strip_prefix("```json\n")?.split_once("```").unwrap().0;
        Some(serde_json::from_str(json).unwrap_or_else(|e| panic!("{e}: {json}")))
    };
    asks.map(|(block, after)| (block.to_owned(), shown(after))).collect()
}

/// Values that are the same on every demo.
const FIXED: [&str; 7] = ["verdict", "code", "detail", "status", "algorithm", "sequencer", "upserted"];

/// Fails unless the answer has the keys that the page shows, with values of the same types. Lists may be shortened.
fn assert_shown(shown: &Value, answered: &Value, place: &str) {
    match (shown, answered) {
        (Value::Object(shown), Value::Object(answered)) => {
            for (key, value) in shown {
                let place = format!("{place}/{key}");
                let found = answered.get(key).unwrap_or_else(|| panic!("{place} is not in {answered:?}"));
                assert_shown(value, found, &place);
                if FIXED.contains(&key.as_str()) {
                    assert_eq!(value, found, "{place}");
                }
            }
        }
        (Value::Array(shown), Value::Array(answered)) => {
            assert!(answered.len() >= shown.len(), "{place}: {answered:?}");
            shown.iter().zip(answered).for_each(|(shown, answered)| assert_shown(shown, answered, place));
        }
        _ => assert_eq!(std::mem::discriminant(shown), std::mem::discriminant(answered), "{place}: {answered}"),
    }
}

/// Runs every request of a page, in order.
async fn run_page(demo: &Demo, page: &str) -> Vec<Value> {
    let mut answers = Vec::new();
    for (block, shown) in requests(page) {
        let (status, answered) = answer(&block, &demo.variables()).await;
        let refusal = shown.as_ref().and_then(|shown| shown["status"].as_u64());
        assert_eq!(u64::from(status), refusal.unwrap_or(200), "{block}: {answered}");
        if let Some(shown) = &shown {
            assert_shown(shown, &answered, "");
        }
        answers.push(answered);
    }
    answers
}

fn misallocated(fairness: &Value) -> f64 {
    fairness["misallocated_share"].as_str().unwrap().parse().unwrap()
}

/// The factor of the domain whose weight changes.
fn research(answer: &Value) -> f64 {
    let edges = answer["data"]["domain_fair_shares"]["edges"].as_array().unwrap();
    let node = edges.iter().map(|e| &e["node"]).find(|n| n["domain_name"] == "research").unwrap();
    node["fair_share_factor"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_tour_and_the_examples_work() {
    let demo = Demo::start(&["--days", "30"]);
    let tour = run_page(&demo, include_str!("../../../README.md")).await;
    let [month, now, sequence, domains, division, plan, set, after, refused] = &tour[..] else {
        panic!("{} requests", tour.len())
    };
    assert!(misallocated(month) < 0.005 && misallocated(now) > 0.1, "{month} {now}");
    assert_eq!(now["most_under_served"]["domain_name"], "industry", "{now}");
    assert_eq!(sequence["items"][0]["workload_id"], "yara-1", "{sequence}");
    let queues = division["queues"].as_array().unwrap();
    let forecasting = queues.iter().find(|queue| queue["name"] == "forecasting").unwrap();
    assert_eq!((&forecasting["allocated"]["cuda.device"], &forecasting["state"]), (&"0".into(), &"in_quota".into()));
    assert_eq!((set["ok"].as_bool(), refused["code"].is_string()), (Some(true), true));
    let factor = research(domains);
    let first = &after["items"][0];
    let new_factor: f64 = first["fair_share_factor"].as_str().unwrap().parse().unwrap();
    assert!(first["domain_name"] == "research" && new_factor > factor, "{domains} {after}");
    assert_eq!(plan["verdict"], "reclaim", "{plan}");
    assert!(!plan["victims"].as_array().unwrap().is_empty(), "{plan}");

    let queues = run_page(&demo, include_str!("../../../docs/API.md")).await;
    assert!(queues.iter().any(|answer| answer["trace"].is_array()), "{queues:?}");
    // The examples leave the demo's own queues as they are: the plan of the other page still finds victims.
    let [plan] = &run_page(&demo, include_str!("../../../docs/INTEGRATION.md")).await[..] else {
        panic!("one request")
    };
    assert_eq!(plan["verdict"], "reclaim", "{plan}");
    assert!(!plan["victims"].as_array().unwrap().is_empty(), "{plan}");
    assert_eq!(demo.stop(), Some(0));
}
