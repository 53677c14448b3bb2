//! The field of a trace that becomes the charge class of its jobs.

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::charge_class::ChargeClassField;
use fairshared::cli::import::format::ImportFormat;

use super::{Outcome, TraceReader, read, read_with, report, skipped, source};
use crate::cli::program::{file, run};
use crate::support::database::sqlite;

const SACCT: &str = "JobID|User|Account|Cluster|Partition|QOS|State|Start|End|AllocTRES\n";
const CSV: &str = "job_id,user,project,start_time,end_time,cpu,charge_class\n";

fn by(field: ChargeClassField) -> TraceOptions {
    TraceOptions { charge_class: field, ..TraceOptions::default() }
}

fn classes(outcome: &Outcome) -> Vec<&str> {
    outcome.jobs.iter().map(|job| job.charge_class.as_str()).collect()
}

/// A finished hour of a job with a partition and a QOS.
fn sacct(id: u32, partition: &str, qos: &str) -> String {
    format!("{id}|ann|physics|alpha|{partition}|{qos}|COMPLETED|2026-02-01T08:00:00|2026-02-01T09:00:00|cpu=8\n")
}

#[test]
fn slurm_has_qos_and_partition() {
    let dump = [SACCT, &sacct(1, "long", "high"), &sacct(2, "debug,long", ""), &sacct(3, "long", "a/b")].concat();
    let of = |field| read_with("sacct", dump.clone(), &by(field));
    assert_eq!(classes(&of(ChargeClassField::None)), ["", "", ""]);
    assert_eq!(classes(&of(ChargeClassField::Partition)), ["long", "", "long"]);
    let by_qos = of(ChargeClassField::Qos);
    // A QOS that is no name is left out, and the summary says so.
    assert_eq!(classes(&by_qos), ["high", "", ""]);
    assert_eq!(skipped(&by_qos), [("charge class", 1)]);
    assert_eq!(report(&by_qos.jobs[0]).charge_class.as_deref(), Some("high"));
    assert_eq!(report(&by_qos.jobs[1]).charge_class, None);
    let json = r#"{"jobs": [{"job_id": 7, "user": "ann", "account": "physics", "cluster": "alpha", "partition": "long",
        "qos": "normal", "state": {"current": ["COMPLETED"]}, "tres": {"allocated": [{"type": "cpu", "count": 8}]},
        "time": {"start": 1770000600, "end": 1770004200}}]}"#;
    assert_eq!(classes(&read_with("sacct", json, &by(ChargeClassField::Qos))), ["normal"]);
    assert_eq!(classes(&read_with("sacct", json, &by(ChargeClassField::Partition))), ["long"]);
}

#[test]
fn other_formats_have_queues_and_csv_has_a_column() {
    let pbs = "02/01/2026 09:00:00;E;7.server;user=ann group=physics queue=night start=1770000600 end=1770004200 \
               Resource_List.ncpus=4 resources_used.walltime=01:00:00\n";
    assert_eq!(classes(&read_with("pbs", pbs, &by(ChargeClassField::Queue))), ["night"]);
    assert_eq!(classes(&read("pbs", pbs)), [""]);
    let swf = "; UnixStartTime: 1770000000\n; Queue: 2 batch\n1 0 0 3600 4 -1 -1 4 -1 -1 1 3 2 -1 2 1 -1 -1\n";
    assert_eq!(classes(&read_with("swf", swf, &by(ChargeClassField::Queue))), ["batch"]);
    let row = |id: u32, class: &str| format!("{id},ann,physics,2026-02-01T08:00:00Z,2026-02-01T09:00:00Z,4,{class}\n");
    let csv = read("csv", [CSV, &row(1, "high"), &row(2, ""), &row(3, " low ")].concat());
    assert_eq!(classes(&csv), ["high", "", "low"]);
}

#[test]
fn a_field_that_a_format_lacks_is_refused() {
    for (format, field, said) in [
        (
            "sacct",
            ChargeClassField::Queue,
            "the format sacct has no field for --charge-class queue; it has qos or partition",
        ),
        ("pbs", ChargeClassField::Qos, "the format pbs has no field for --charge-class qos; it has queue"),
        (
            "csv",
            ChargeClassField::Queue,
            "the format csv has no field for --charge-class queue; it has a column charge_class",
        ),
    ] {
        let refused = TraceReader::new(ImportFormat::named(format).unwrap(), source("x\n"), &by(field)).err().unwrap();
        assert_eq!(refused.to_string(), said);
    }
}

#[tokio::test]
async fn the_program_imports_classes_and_reports_them() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let dump = [SACCT, &sacct(1, "long", "high"), &sacct(2, "long", "low"), &sacct(3, "long", "low")].concat();
    let jobs = file(folder.path(), "jobs.txt", &dump);
    let import = |more: &[&str]| run(&db, [&["import", "sacct", &jobs, "-o", "json"], more].concat());
    import(&["--charge-class", "qos", "--no-aggregate"]).json();
    // The same file without the option takes no class away.
    assert_eq!(import(&[]).json()["changed"], 0);
    let usage = |group: &str, more: &[&str]| {
        let days = ["usage", group, "--from", "2026-02-01", "--to", "2026-02-01", "-o", "csv"];
        run(&db, [&days[..], more].concat()).ok()
    };
    let by_class = usage("alpha", &["--by", "charge_class"]);
    assert_eq!(
        by_class,
        "first_day,last_day,charge_class,cpu_hours\n2026-02-01,2026-02-01,low,16\n2026-02-01,2026-02-01,high,8\n"
    );
    let of_class = usage("alpha", &["--by", "user", "--charge-class", "high"]);
    assert!(of_class.ends_with(",8\n") && of_class.lines().count() == 2, "{of_class}");
    let kernels = run(&db, ["kernels", "list", "alpha", "-o", "csv"].to_vec()).ok();
    assert_eq!(kernels.matches(",low\n").count(), 2, "{kernels}");
    // A history has classes as well.
    run(
        &db,
        [&["import", "sacct", &jobs][..], &["--history", "--resource-group", "old", "--charge-class", "partition"]]
            .concat(),
    )
    .ok();
    let old = usage("old", &["--by", "charge_class"]);
    assert!(old.contains(",long,") && old.ends_with(",24\n"), "{old}");
}
