//! The agents of a kernel, and the part of it that each of them has.

use domain::decimal::Amount;
use domain::kernel_agents::{KernelAgents, MAX_AGENTS_OF_KERNEL, ReportedAgents};
use domain::reading::read_from;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{amounts, cases, slot};

fn agents(names: &[&str]) -> KernelAgents {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().into()
}

/// The parts of a kernel with this amount of one slot, as `agent amount`.
fn parts(names: &[&str], amount: &str) -> Vec<String> {
    let (agents, slots) = (agents(names), amounts(&[("cpu", amount)]));
    let text = |agent: Option<&str>, amount: Option<Amount>| {
        format!("{} {}", agent.unwrap_or("-"), amount.map_or("nothing".to_owned(), |amount| amount.to_string()))
    };
    agents.parts(&slots).map(|part| text(part.agent, part.slots.get(slot("cpu")))).collect()
}

#[test]
fn a_kernel_is_divided_evenly_in_the_order_of_its_agents() {
    assert_eq!(parts(&[], "7"), ["- 7"]);
    assert_eq!(parts(&["n1"], "7"), ["n1 7"]);
    assert_eq!(parts(&["n2", "n1"], "8"), ["n2 4", "n1 4"]);
    assert_eq!(parts(&["n3", "n1", "n2"], "8"), ["n3 3", "n1 3", "n2 2"]);
    assert_eq!(parts(&["n1", "n2"], "1"), ["n1 1", "n2 nothing"]);
    assert_eq!(parts(&["n1", "n2"], "2.5"), ["n1 1.3", "n2 1.2"]);
    assert_eq!(parts(&["n1", "n2", "n3"], "0.000000000002"), ["n1 0.000000000001", "n2 0.000000000001", "n3 nothing"]);
    assert_eq!(
        parts(&["n1", "n2"], &Amount::MAX.to_string()),
        ["n1 500000000000000000000", "n2 500000000000000000000"]
    );
}

#[test]
fn a_single_agent_is_not_a_list() {
    let (none, one, two) = (agents(&[]), agents(&["n1"]), agents(&["n2", "n1"]));
    assert_eq!((none.only(), none.names().len()), (None, 0));
    assert_eq!((one.only().map(String::as_str), one.names()), (Some("n1"), &["n1".to_owned()][..]));
    assert_eq!((two.only(), two.names()), (None, &["n2".to_owned(), "n1".to_owned()][..]));
    assert_eq!(json!([none, one, two]), json!([null, "n1", ["n2", "n1"]]));
}

fn read(reported: Value) -> Result<KernelAgents, Vec<(String, &'static str, String)>> {
    let reported: ReportedAgents = read_from(reported, "invalid_type").map_err(|error| {
        let fault = error.fault("`agent_id`");
        vec![(fault.pointer, fault.code, fault.detail)]
    })?;
    let faults = |fault: domain::fault::Fault| (fault.pointer, fault.code, fault.detail);
    reported.check("/agent_id").map_err(|found| found.into_iter().map(faults).collect())
}

#[test]
fn a_report_names_one_agent_or_several() {
    assert_eq!(read(json!("n1")), Ok(agents(&["n1"])));
    assert_eq!(read(json!(["n1"])), Ok(agents(&["n1"])));
    assert_eq!(read(json!(["n2", "n1"])), Ok(agents(&["n2", "n1"])));
    let many = |count: usize| (0..count).map(|n| format!("n{n}")).collect::<Vec<_>>();
    assert_eq!(read(json!(many(MAX_AGENTS_OF_KERNEL))), Ok(many(MAX_AGENTS_OF_KERNEL).into()));
    let refused = |reported: Value, expected: &[(&str, &str)]| {
        let found = read(reported.clone()).unwrap_err();
        let found: Vec<(&str, &str)> = found.iter().map(|(pointer, code, _)| (&**pointer, *code)).collect();
        assert_eq!(found, expected, "{reported}");
    };
    refused(json!(many(MAX_AGENTS_OF_KERNEL + 1)), &[("", "too_many")]);
    refused(json!([]), &[("/agent_id", "empty")]);
    refused(json!(""), &[("/agent_id", "invalid_name")]);
    refused(json!(7), &[("", "invalid_type")]);
    refused(json!(["n1", 7]), &[("/1", "invalid_type")]);
    refused(json!(["n1", null]), &[("/1", "invalid_type")]);
    let two = [("/agent_id/1", "invalid_name"), ("/agent_id/3", "duplicate_agent")];
    refused(json!(["n1", "a/b", "n2", "n1"]), &two);
    assert_eq!(read(json!(["n1", "n1"])).unwrap_err()[0].2, "`agent_id` names the agent \"n1\" twice");
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn parts_add_up_and_differ_by_at_most_one_unit(units in 0..10u128.pow(33), zeros in 0u32..13, count in 1usize..50) {
        let step = 10u128.pow(zeros);
        let amount = Amount::from_units(units / step * step);
        let names: Vec<String> = (0..count).map(|n| format!("n{n}")).collect();
        let agents = KernelAgents::from(names.clone());
        let slots = [(slot("cpu"), amount)].into_iter().collect();
        let parts: Vec<_> = agents.parts(&slots).collect();
        let found: Vec<&str> = parts.iter().filter_map(|part| part.agent).collect();
        prop_assert_eq!(found, names.iter().map(String::as_str).collect::<Vec<_>>());
        let amounts: Vec<u128> =
            parts.iter().map(|part| part.slots.get(slot("cpu")).unwrap_or_default().units()).collect();
        prop_assert_eq!(amounts.iter().sum::<u128>(), amount.units());
        prop_assert!(amounts.is_sorted_by(|a, b| a >= b), "a remainder goes to the first: {:?}", amounts);
        // The unit is 1, or the last decimal place of an amount that is not whole.
        let mut unit = Amount::ONE.units();
        while !amount.units().is_multiple_of(unit) {
            unit /= 10;
        }
        prop_assert!(amounts[0] - amounts[count - 1] <= unit);
        prop_assert!(amounts.iter().all(|part| part % unit == 0));
    }
}
