//! The summary of an import, in singular and plural.

use fairshared::cli::import::earlier_rows::EarlierRows;
use fairshared::cli::import::history::HistoryReport;
use fairshared::cli::import::map_mismatches::MapMismatches;
use fairshared::cli::import::outcome::{FileSummary, LocalRows};
use fairshared::cli::import::report::ImportReport;

fn summary(count: u64) -> FileSummary {
    let times = LocalRows { assumed: count, twice: count, by_run_time: count, never: count };
    FileSummary { rows: 2 * count, taken: 2 * count, zone: Some("UTC"), times, ..FileSummary::default() }
}

fn report(count: u64) -> (String, Vec<String>) {
    let report = ImportReport {
        summary: FileSummary { rows: count, taken: count, ..summary(count) },
        changed: count,
        groups: count,
        new_groups: count,
        agents_changed: count,
        capacity_days: count,
        earlier_runs_ended: count,
        replaced: count,
        earlier: Some(EarlierRows {
            rows: count,
            before: "2023-01-10".parse().unwrap(),
            source: "earlier-kernels".to_owned(),
        }),
        without_capacity: (0..5 + count).map(|n| format!("g{n}")).collect(),
        placed_projects: count,
        slices: Some(count),
        ..ImportReport::default()
    };
    (report.to_string(), report.warnings())
}

#[track_caller]
fn says(text: &str, sentences: &[&str]) {
    for sentence in sentences {
        assert!(text.contains(sentence), "{sentence}: {text}");
    }
}

#[test]
fn one_thing_is_told_in_the_singular() {
    let (told, warnings) = report(1);
    says(
        &told,
        &[
            "1 row read, 1 taken, 0 dropped\n",
            "read as UTC, in 1 row\n",
            "  1 row has a time that the clock showed twice",
            "  1 row has a time that the clock never showed",
            "\n1 row new or changed, 0 already known; 1 resource group, 1 new\n",
            "\n1 agent changed, 1 day got a capacity\n",
            "\n1 earlier run ended, ",
            "\n1 known kernel was taken back, ",
            "\n1 project got its domain from the map, ",
            "\n1 slice recorded\n",
            "\n1 row is of a job that ended before 2023-01-10, ",
        ],
    );
    says(&warnings.join("\n"), &["\n1 more resource group has no capacity; "]);
    let history = HistoryReport {
        source: "old".to_owned(),
        summary: FileSummary { rows: 3, taken: 3, ..summary(1) },
        repeated: 1,
        unended: 1,
        groups: 1,
        known_groups: 1,
        stored: 1,
        left_out: 1,
        left_out_days: ["2024-03-01".parse().unwrap()].into(),
        without_domain: vec!["ml".to_owned()],
        map_mismatches: MapMismatches::default(),
    };
    says(
        &history.to_string(),
        &[
            "3 rows, 1 job taken into the history \"old\"\n",
            "  1 row repeats a job of the file: ",
            "  1 row left out, ",
            "\n1 day total stored, in 1 resource group\n1 resource group left out: ",
            "\n1 day total left out, of days whose usage the server counts from kernels: 2024-03-01",
        ],
    );
    says(
        &history.warnings().concat(),
        &["no domain is known of 1 project (ml); what they used counts in \"unknown\". "],
    );
}

#[test]
fn several_things_are_told_in_the_plural() {
    let (told, warnings) = report(2);
    says(
        &told,
        &[
            "2 rows read, 2 taken, 0 dropped\n",
            "read as UTC, in 2 rows\n",
            "  2 rows have a time that the clock showed twice",
            "\n2 rows new or changed, 0 already known; 2 resource groups, 2 new\n",
            "\n2 agents changed, 2 days got a capacity\n",
            "\n2 earlier runs ended, ",
            "\n2 known kernels were taken back, ",
            "\n2 projects got their domains from the map, ",
            "\n2 slices recorded\n",
            "\n2 rows are of jobs that ended before 2023-01-10, ",
        ],
    );
    says(&warnings.join("\n"), &["\n2 more resource groups have no capacity; "]);
}
