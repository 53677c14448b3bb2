//! Help texts, and the messages about wrong usage of the program.

use fairshared::cli::{COMMANDS, CommandEntry};

use super::program::{end, program};

#[test]
fn help_tells_the_commands_and_the_exit_codes() {
    let help = end(program().arg("--help")).ok();
    // One line for each command of the registry, in its order, and in the guide a place in the table.
    let listed: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next())
        .collect();
    let names: Vec<String> = COMMANDS.iter().map(CommandEntry::name).collect();
    let shown = listed.iter().position(|name| *name == names[0]).unwrap();
    assert_eq!(listed[shown..shown + names.len()], names);
    let guide = include_str!("../../../docs/OPERATIONS.md").split("| command | what for |").nth(1).unwrap();
    let table: String = guide.lines().skip(1).take_while(|line| line.starts_with('|')).collect();
    for name in &names {
        assert!(table.contains(&format!("`{name}`")), "docs/OPERATIONS.md lacks the command {name}");
    }
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(
        "Exit codes: 0 done 1 failed, or `audit` or `weights diff` found a difference, or `doctor` a fault, or an import file ended early"
    ));
    for commands in [&["serve"][..], &["weights", "apply"], &["keys", "create"]] {
        assert!(end(program().args(commands).arg("--help")).ok().contains("Usage: fairshared"));
    }
}

#[test]
fn help_lists_the_jobs_and_keeps_global_options_apart() {
    let help = end(program().args(["jobs", "run", "--help"])).ok();
    for (name, description) in fairshared::jobs::described_jobs() {
        let line =
            help.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{name}: {help}"));
        assert!(line.contains(description.split_whitespace().next().unwrap()), "{line}");
    }
    for commands in [&["rank"][..], &["weights", "apply"], &["serve"]] {
        let help = end(program().args(commands).arg("--help")).ok();
        let (own, global) = help.split_once("\nGlobal options:\n").unwrap_or_else(|| panic!("{help}"));
        assert!(
            own.contains("Options:") && !own.contains("--database-url") && global.contains("--database-url"),
            "{help}"
        );
    }
}

#[test]
fn wrong_usage_exits_with_2() {
    for args in [&["nonsense"][..], &["rank"], &["rank", "g", "-o", "xml"], &["weights", "apply", "g"], &["migrate"]] {
        let ended = end(program().args(args));
        assert_eq!(ended.code, Some(2), "{args:?}");
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}
