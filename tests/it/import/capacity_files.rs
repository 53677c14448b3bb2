//! Files of capacities.

use fairshared::cli::import::ImportError;
use fairshared::cli::import::capacities::{AgentCapacity, read_capacities};

use super::{at, gzip, source};
use crate::support::plain::data;

const HEADER: &str = "resource_group,agent_id,cpu,mem_gib,gpu,from,to";

fn read_rows(rows: &str) -> Result<Vec<AgentCapacity>, String> {
    read_capacities(&mut source(format!("{HEADER}\n{rows}\n"))).map_err(|error| error.to_string())
}

/// The agents of one row.
fn agents(agent: &str) -> Result<Vec<String>, String> {
    let rows = read_rows(&format!("c1,{agent},64,512,8,2026-11-01T00:00:00Z,"))?;
    assert!(rows.iter().all(|row| row.slots == rows[0].slots && row.resource_group == "c1"), "{agent}");
    Ok(rows.into_iter().map(|row| row.agent).collect())
}

#[test]
fn capacities_are_typed_rows() {
    let text = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n\
                alpha,n1,64,250.4004,0,2026-02-01T00:00:00Z,\n\
                \n\
                beta,pool,,,112,2026-02-01T00:00:00Z,2026-02-02T00:00:00Z\n";
    let rows = read_capacities(&mut source(gzip(text.as_bytes()))).unwrap();
    let [first, second] = rows.as_slice() else { panic!("two rows") };
    assert_eq!((first.resource_group.as_str(), first.agent.as_str()), ("alpha", "n1"));
    assert_eq!(first.slots.to_json(), r#"{"cpu":"64","cuda.device":"0","mem":"268865382226.3296"}"#);
    assert_eq!((first.from, first.to), (at("2026-02-01T00:00:00Z"), None));
    assert_eq!(second.slots.to_json(), r#"{"cuda.device":"112"}"#);
    assert_eq!(second.to, Some(at("2026-02-02T00:00:00Z")));
}

#[test]
fn a_node_may_offer_one_thing_after_the_other() {
    let text = "resource_group,agent_id,cpu,from,to\n\
                alpha,n1,8,2026-03-01T00:00:00Z,\n\
                alpha,n1,4,2026-02-01T00:00:00Z,2026-03-01T00:00:00Z\n\
                alpha,n1,2,2026-02-05T00:00:00Z,2026-02-05T00:00:00Z\n\
                alpha,n2,8,2026-03-01T00:00:00Z,\n\
                beta,n1,8,2026-03-01T00:00:00Z,\n";
    assert_eq!(read_capacities(&mut source(text)).unwrap().len(), 5);
}

#[test]
fn a_capacities_file_with_one_bad_row_is_refused_whole() {
    let read = |text: &str| {
        let text = format!("resource_group,agent_id,cpu,from,to\nalpha,n1,8,2026-02-01T00:00:00Z,\n{text}\n");
        read_capacities(&mut source(text)).unwrap_err().to_string()
    };
    for (row, error) in [
        ("alpha,n2,8,,", "line 3: from is not a time between the years 1970 and 9999"),
        ("alpha,n2,-8,2026-02-01T00:00:00Z,", "line 3: cpu is not an amount from 0 to 10^21 with at most 12 decimals"),
        ("alpha,n2,8,2026-02-01T00:00:00Z,2026-01-01T00:00:00Z", "line 3: ends before it starts"),
        ("alpha,,8,2026-02-01T00:00:00Z,", "line 3: agent name is too long or has characters that a name cannot have"),
        ("alpha,n2", "line 3: wrong number of fields"),
    ] {
        assert_eq!(read(row), error);
    }
    for (rows, lines) in [
        ("alpha,n1,9,2026-02-01T00:00:00Z,", "2 and 3"),
        ("alpha,n1,9,2026-03-01T00:00:00Z,2026-04-01T00:00:00Z", "2 and 3"),
        ("alpha,n2,8,2026-01-01T00:00:00Z,\nalpha,n1,9,2026-01-01T00:00:00Z,2026-02-01T00:00:01Z", "2 and 4"),
    ] {
        let both = "both say what the node \"n1\" of the resource group \"alpha\" offers at the same time";
        assert_eq!(read(rows), format!("lines {lines} {both}"));
    }
    assert!(matches!(read_capacities(&mut source("")), Err(ImportError::NoHeader)));
    let whole = gzip(b"resource_group,agent_id,cpu,from,to\n");
    let cut = read_capacities(&mut source(&whole[..whole.len() - 4]));
    assert!(matches!(cut, Err(ImportError::EndedEarly(_))));
}

#[test]
fn a_range_of_nodes_is_one_agent_for_each_node() {
    let numbered = |prefix: &str, numbers: &[&str]| numbers.iter().map(|n| format!("{prefix}{n}")).collect::<Vec<_>>();
    for (agent, expected) in [
        ("node[01-10]", numbered("node", &["01", "02", "03", "04", "05", "06", "07", "08", "09", "10"])),
        ("n[1-3,7]", numbered("n", &["1", "2", "3", "7"])),
        ("\"n[1-3,7]\"", numbered("n", &["1", "2", "3", "7"])),
        ("a[1-2]b[1-2]", numbered("a", &["1b1", "1b2", "2b1", "2b2"])),
        ("a[1-2]b[1,3]-ib", numbered("a", &["1b1-ib", "1b3-ib", "2b1-ib", "2b3-ib"])),
        ("n[9-11]", numbered("n", &["9", "10", "11"])),
        ("n[098-100]", numbered("n", &["098", "099", "100"])),
        ("\"n[1-2],m4\"", vec!["n1".to_owned(), "n2".to_owned(), "m4".to_owned()]),
        ("node[01..03]", numbered("node", &["01", "02", "03"])),
        ("node{01..03}", numbered("node", &["01", "02", "03"])),
        ("n{8..10}-ib", numbered("n", &["8-ib", "9-ib", "10-ib"])),
        ("n{1,3}", numbered("n", &["1", "3"])),
        (
            "\"a{1..2}b[1-2],m4\"",
            vec!["a1b1".to_owned(), "a1b2".to_owned(), "a2b1".to_owned(), "a2b2".to_owned(), "m4".to_owned()],
        ),
        ("node-1", vec!["node-1".to_owned()]),
        // A rack and a place in it.
        ("rack01-10", vec!["rack01-10".to_owned()]),
        ("r1-n10", vec!["r1-n10".to_owned()]),
        ("n{0}", vec!["n{0}".to_owned()]),
        // Virtual nodes of PBS have one number in brackets.
        ("n1[0]", vec!["n1[0]".to_owned()]),
    ] {
        assert_eq!(agents(agent), Ok(expected), "{agent}");
    }
}

#[test]
fn a_range_that_is_none_is_refused_with_a_sentence() {
    let bad = "line 2: the agent is no range of nodes that can be read, like node[01-10], n[1-3,7] or a[1-2]b[1-2]";
    for agent in [
        "n[10-01]",
        "n[1-",
        "n1-3]",
        "n[[1-2]]",
        "n[a-c]",
        "n[1-2-3]",
        "n[1-]",
        "n[-3]",
        "n[1-3,2]",
        "n(1-3)",
        "n<1-3>",
        "n(1..3)",
        "n[1:3]",
        "n01-n10",
        "gpu-a1-gpu-a4",
        "n01..n10",
        "n1..10",
        "n{1..}",
        "n{1..3..2}",
        "n{1..3]",
        "n{a..c}",
        "n{[1-2]}",
    ] {
        assert_eq!(agents(agent), Err(bad.to_owned()), "{agent}");
    }
    for agent in ["n[1-100001]", "n[0-999999999999999999]", "a[1-1000]b[1-1000]", "a[1-400]b[1-400]c[1-400]"] {
        assert_eq!(
            agents(agent),
            Err("line 2: ranges of nodes stand for more than 100000 nodes".to_owned()),
            "{agent}"
        );
    }
    let rows = (0..3).map(|n| format!("c{n},n[1-50000],64,512,8,2026-11-01T00:00:00Z,\n")).collect::<Vec<_>>().concat();
    assert_eq!(read_rows(&rows), Err("line 4: ranges of nodes stand for more than 100000 nodes".to_owned()));
    let twice = "c1,n[1-3],1,,,2026-11-01T00:00:00Z,\nc1,n2,1,,,2026-11-01T00:00:00Z,";
    let both = "both say what the node \"n2\" of the resource group \"c1\" offers at the same time";
    assert_eq!(read_rows(twice), Err(format!("lines 2 and 3 {both}")));
}

#[test]
fn a_second_header_line_replaces_the_columns() {
    let rows = format!(
        "c1,n1,64,512,8,2026-11-01T00:00:00Z,\n{HEADER}\nc1,n2,64,512,8,2026-11-01T00:00:00Z,\n\
         from,to,cpu,agent_id,resource_group\n2026-11-01T00:00:00Z,,32,n3,c1"
    );
    let rows = read_rows(&rows).unwrap();
    let found: Vec<_> = rows.iter().map(|row| (row.agent.as_str(), row.slots.to_json())).collect();
    let large = r#"{"cpu":"64","cuda.device":"8","mem":"549755813888"}"#.to_owned();
    assert_eq!(found, [("n1", large.clone()), ("n2", large), ("n3", r#"{"cpu":"32"}"#.to_owned())]);
}

#[test]
fn the_handed_range_is_ten_nodes() {
    let Some(data) = data() else { return };
    let file = std::fs::read(data.join("odd-accounting/12-node-range.capacities.csv")).unwrap();
    let rows = read_capacities(&mut source(file)).unwrap();
    let agents: Vec<_> = rows.iter().map(|row| row.agent.as_str()).collect();
    assert_eq!((agents.len(), agents[0], agents[9]), (10, "node01", "node10"));
}
