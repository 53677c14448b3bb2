//! Dumps of sacct with other fields, other separators and no header.

use fairshared::cli::import::TraceOptions;
use fairshared::cli::import::reason::DropReason;

use super::{Outcome, at, collect, read, read_with, reader, refused, skipped, slots};

const START: &str = "2026-02-01T08:00:00";
const END: &str = "2026-02-01T09:00:00";

/// A finished hour with additional fields.
fn with(names: &str, values: &str) -> Outcome {
    let header = format!("JobID|User|Account|State|Start|End|{names}");
    read("sacct", format!("{header}\n7|ann|physics|COMPLETED|{START}|{END}|{values}\n"))
}

#[test]
fn other_columns_tell_what_was_held_where_the_list_is_missing() {
    for (names, values, expected) in [
        ("AllocCPUS", "8", "cpu=8"),
        ("NCPUS", "8", "cpu=8"),
        ("NCPUS|ReqMem", "8|16G", "cpu=8 mem=17179869184"),
        ("NCPUS|ReqMem|NNodes", "8|4000Mn|2", "cpu=8 mem=8388608000"),
        ("NCPUS|ReqMem|NNodes", "8|2Gc|2", "cpu=8 mem=17179869184"),
        ("NCPUS|ReqMem", "8|4Gn", "cpu=8 mem=4294967296"),
        ("NCPUS|ReqMem", "8|0n", "cpu=8"),
        // A bit that old versions print as a part of the figure: 3000 MiB for each CPU.
        ("NCPUS|ReqMem", "8|2147486648Mn", "cpu=8 mem=25165824000"),
        ("NCPUS|AllocGRES", "8|gpu:2", "cpu=8 cuda.device=2"),
        ("NCPUS|AllocGRES", "8|gpu:a100:2(IDX:0-1),nic:ib:1", "cpu=8 cuda.device=2 gres/nic:ib=1"),
        ("NCPUS|AllocGRES", "8|gpu", "cpu=8 cuda.device=1"),
        ("NCPUS|AllocGRES", "8|(null)", "cpu=8"),
        ("AllocTRES|NCPUS|ReqMem", "|8|1G", "cpu=8 mem=1073741824"),
        ("AllocTRES|NCPUS|ReqMem", "cpu=2|8|1G", "cpu=2"),
        ("AllocTRES", "cpu=4,mem=8Gn,node=2", "cpu=4 mem=17179869184"),
        ("AllocTRES", "mem=1Gc,cpu=4,node=2", "cpu=4 mem=4294967296"),
        ("AllocTRES", "cpu=4,mem=8Gn", "cpu=4 mem=8589934592"),
    ] {
        assert_eq!(slots(&with(names, values).only_job()), expected, "{names} {values}");
    }
    for (names, values, reason) in [
        ("NCPUS", "many", DropReason::BadAmount("NCPUS")),
        ("NCPUS|ReqMem", "0|much", DropReason::BadAmount("ReqMem")),
        ("NCPUS|AllocGRES", "0|gpu:", DropReason::BadResources("AllocGRES")),
    ] {
        assert_eq!(with(names, values).reasons(), [reason], "{names} {values}");
    }
    // A job that never started took nothing from others.
    let never = format!("JobID|User|Account|State|Start|End|NCPUS\n7|ann|physics|CANCELLED|None|{END}|8\n");
    assert_eq!(slots(&read("sacct", never).only_job()), "");
    assert_eq!(refused("sacct", "JobIDRaw|User|State|Start|NCPUS\n"), "the header line lacks the fields Account, End");
}

#[test]
fn how_long_a_job_ran_stands_for_its_end() {
    let dump = |names: &str, values: &str, state: &str| {
        let header = format!("JobID|User|Account|State|Start|{names}|NCPUS");
        read("sacct", format!("{header}\n7|ann|physics|{state}|{START}|{values}|1\n"))
    };
    for (names, values) in [
        ("ElapsedRaw", "3600"),
        ("Elapsed", "01:00:00"),
        ("Elapsed", "60:00"),
        ("Elapsed|ElapsedRaw", "00:59:59|3600"),
        ("End|ElapsedRaw", "Unknown|3600"),
        ("ElapsedRaw|Suspended", "3600|00:10:00"),
    ] {
        let job = dump(names, values, "COMPLETED").only_job();
        assert_eq!(job.terminated_at, Some(at(&format!("{END}Z"))), "{names} {values}");
    }
    assert_eq!(dump("Elapsed", "2-01:00:00", "FAILED").only_job().terminated_at, Some(at("2026-02-03T09:00:00Z")));
    assert_eq!(dump("ElapsedRaw", "3600", "RUNNING").only_job().terminated_at, None);
    assert_eq!(dump("ElapsedRaw", "", "COMPLETED").reasons(), [DropReason::EndMissing]);
    assert_eq!(dump("ElapsedRaw", "long", "COMPLETED").reasons(), [DropReason::BadNumber("ElapsedRaw")]);
}

#[test]
fn suspended_time_comes_off_the_end() {
    for (suspended, end) in [
        ("00:00:00", "2026-02-01T09:00:00Z"),
        ("00:15:00", "2026-02-01T08:45:00Z"),
        ("900", "2026-02-01T08:45:00Z"),
        ("15:00.250", "2026-02-01T08:45:00Z"),
        ("02:00:00", "2026-02-01T08:00:00Z"),
        ("", "2026-02-01T09:00:00Z"),
    ] {
        assert_eq!(
            with("NCPUS|Suspended", &format!("1|{suspended}")).only_job().terminated_at,
            Some(at(end)),
            "{suspended}"
        );
    }
    let outcome = with("NCPUS|Suspended", "1|often");
    assert_eq!(skipped(&outcome), [("Suspended", 1)]);
    assert_eq!(outcome.only_job().terminated_at, Some(at("2026-02-01T09:00:00Z")));
}

#[test]
fn the_raw_id_is_the_key_and_the_shown_one_the_session() {
    let task = with("NCPUS|JobIDRaw", "1|15");
    assert_eq!(task.only_job().job_key, format!("15@{}", at("2026-02-01T08:00:00Z").micros() / 1_000_000));
    let rows = format!(
        "JobID|JobIDRaw|User|Account|State|Start|End|NCPUS\n\
         12_3|15|ann|physics|COMPLETED|{START}|{END}|1\n\
         12+1|16|ann|physics|COMPLETED|{START}|{END}|1\n\
         12_3.batch|15.batch|ann|physics|COMPLETED|{START}|{END}|1\n"
    );
    let outcome = read("sacct", rows);
    let keys: Vec<_> = outcome.jobs.iter().map(|job| (job.run_of.as_str(), job.session_key.as_str())).collect();
    assert_eq!((keys, outcome.reasons()), (vec![("15", "12"), ("16", "12")], vec![DropReason::JobStep]));
    let raw = format!("JobIDRaw|User|Account|State|Start|End|NCPUS\n15|ann|physics|COMPLETED|{START}|{END}|1\n");
    let raw = read("sacct", raw).only_job();
    assert_eq!((raw.kernel_id(), raw.session_key.as_str()), (outcome.jobs[0].kernel_id(), "15"));
}

#[test]
fn any_character_separates() {
    let rows = format!("JobID|User|Account|State|Start|End|NCPUS\n7|ann|physics|COMPLETED|{START}|{END}|8\n");
    for separator in ['\t', ',', '^', ';', '~', '§', ' '] {
        let text = rows.replace('|', &separator.to_string());
        let told = TraceOptions { delimiter: Some(separator), ..TraceOptions::default() };
        for outcome in [read("sacct", text.clone()), read_with("sacct", text, &told)] {
            assert_eq!(slots(&outcome.only_job()), "cpu=8", "{separator:?}");
        }
    }
    let other = TraceOptions { delimiter: Some('^'), ..TraceOptions::default() };
    let error = collect(reader("sacct", rows, &other)).err().expect("one field").to_string();
    assert!(error.starts_with("the header line lacks the fields JobID"), "{error}");
}

#[test]
fn a_dump_without_a_header_has_its_fields_named() {
    let options = |delimiter| TraceOptions {
        fields: Some("jobid%20,User,Account,State,Start,End,NCPUS".to_owned()),
        delimiter,
        ..TraceOptions::default()
    };
    let row = format!("7|ann|physics|COMPLETED|{START}|{END}|8");
    for (text, delimiter) in [(row.clone(), None), (format!("{row}|"), None), (row.replace('|', "\t"), Some('\t'))] {
        let outcome = read_with("sacct", format!("\n{text}\n{}\n", text.replace('7', "8")), &options(delimiter));
        assert_eq!((outcome.jobs.len(), slots(&outcome.jobs[0]).as_str()), (2, "cpu=8"), "{text}");
        assert_eq!((outcome.jobs[0].session_key.as_str(), outcome.jobs[1].session_key.as_str()), ("7", "8"));
    }
    // An empty one is a quiet day.
    assert_eq!(read_with("sacct", "", &options(None)).summary.rows, 0);
    let few = TraceOptions { fields: Some("JobID,User".to_owned()), ..TraceOptions::default() };
    let error = collect(reader("sacct", row, &few)).err().expect("too few").to_string();
    assert_eq!(error, "--fields lacks the fields Account, State, Start, End, AllocTRES");
    let twice = TraceOptions {
        fields: Some("JobID,User,user,Account,State,Start,End,NCPUS".to_owned()),
        ..TraceOptions::default()
    };
    let error =
        collect(reader("sacct", "7|ann|ann|ml|COMPLETED|||8", &twice)).err().expect("a field twice").to_string();
    assert_eq!(error, "--fields names the field User twice");
}
