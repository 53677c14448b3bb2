//! `fairshared id`: the rule of names, as people and other programs calculate it.

use std::process::Command;

use super::program::{end, over};

/// The worked example of the integration guide.
fn example() -> String {
    let guide = include_str!("../../../docs/INTEGRATION.md");
    let (_, rest) = guide.split_once("```python\nimport uuid\n").expect("the guide has the example");
    format!("import uuid\n{}", rest.split_once("```").unwrap().0)
}

fn id(args: &[&str]) -> String {
    end(over("sqlite:///nowhere/at/all.db").arg("id").args(args)).ok()
}

#[test]
fn the_guides_example_gives_the_same_as_the_program() {
    let ended = Command::new("python3").arg("-c").arg(example()).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let printed = String::from_utf8(ended.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, [id(&["user", "alice"]).trim_end(), id(&["project", "climate"]).trim_end()]);
    let guide = include_str!("../../../docs/INTEGRATION.md");
    assert!(lines.iter().all(|line| guide.contains(line)), "the guide prints {lines:?}");
    assert_eq!(lines[0], fairshared::domain::identity::user("alice").to_string());
}

#[test]
fn kernels_and_sessions_have_the_ids_of_imports() {
    use fairshared::domain::identity;
    assert_eq!(id(&["kernel", "gpu", "4711"]).trim_end(), identity::kernel("gpu", "4711").to_string());
    assert_eq!(id(&["session", "gpu", "4711"]).trim_end(), identity::session("gpu", "4711").to_string());
}

#[test]
fn a_name_that_reads_as_a_uuid_has_the_id_of_imports() {
    let name = "6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69";
    let ended = end(over("sqlite:///nowhere/at/all.db").args(["id", "user", name]));
    assert!(ended.stderr.contains("is taken as a name, although it reads as a UUID"), "{ended:?}");
    assert_eq!(ended.ok().trim_end(), fairshared::domain::identity::user(name).to_string());
}

#[test]
fn what_is_no_name_is_refused() {
    for name in ["", " alice", "a\tb"] {
        let line = end(over("sqlite:///nowhere/at/all.db").args(["id", "user", name])).refused(2);
        assert!(line.starts_with("a name must have 1 to 255 characters"), "{line}");
    }
    let line = end(over("sqlite:///nowhere/at/all.db").args(["id", "kernel", "a/b", "1"])).refused(2);
    assert!(line.starts_with("the resource group must have"), "{line}");
}
