//! `fairshared replay` as a process.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use super::program::{Ended, end, program, run, run_with_input};
use super::two_users;
use crate::support::fixture::GROUP;
use crate::support::on_both;
use crate::support::plain::data;

const NODES: &str = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n\
    main,n1,4,,,2026-01-01T00:00:00Z,\nmain,n2,4,,,2026-01-01T00:00:00Z,\n";

/// Two users who take turns in filling eight cores; what each job waited is what a fifo cluster of that size makes it wait.
/// Each is a name with a project and a domain.
fn jobs(owners: [(&str, &str, &str); 2]) -> String {
    let mut lines = String::from("job_id,user,project,domain,resource_group,submit_time,start_time,end_time,cpu\n");
    for n in 0..20 {
        let ((user, project, domain), submitted, started) = (owners[n % 2], n * 10, n * 30);
        let at = |minutes: usize| format!("2026-01-01T{:02}:{:02}:00Z", minutes / 60, minutes % 60);
        let (submitted, start, end) = (at(submitted), at(started), at(started + 30));
        writeln!(lines, "{n:02},{user},{project},{domain},main,{submitted},{start},{end},8").unwrap();
    }
    lines
}

/// A folder with the trace, the nodes and some policies.
fn desk() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("jobs.csv", &jobs([("ann", "ann-p", "anns"), ("bob", "bob-p", "bobs")]));
    write("nodes.csv", NODES);
    write("fifo.yaml", "scheduler: fifo\n");
    write(
        "fair.yaml",
        "scheduler=fairshare\nhalf_life_days=14\nsequence_mode=progressive\ndomains:\n  anns: 3\nusers:\n  - {user: ann, weight: 2}\n",
    );
    write("json.yaml", "{\"scheduler\": \"fairshare\", \"scheduler_opts\": {\"order\": \"tiered\"}, \"warnings\": []}");
    folder
}

fn replay(folder: &Path, args: &[&str]) -> Ended {
    end(program().current_dir(folder).arg("replay").args(args))
}

const GIVEN: [&str; 5] = ["jobs.csv", "--capacities", "nodes.csv", "--policy", "fifo.yaml"];

#[test]
fn a_fifo_cluster_replays_to_what_happened() {
    let folder = desk();
    let args = [&GIVEN[..], &["--policy", "fair.yaml", "--policy", "json.yaml", "-o", "json"]].concat();
    let report: Value = replay(folder.path(), &args).json();
    assert_eq!((report["jobs"].as_u64(), report["owners"].as_u64()), (Some(20), Some(2)));
    assert_eq!(report["capacity"]["cpu"], "8");
    assert_eq!(report["compared_with"], "recorded");
    let (recorded, fifo) = (&report["recorded"], &report["policies"][0]);
    assert_eq!((&recorded["wait"], &recorded["users"][0]["wait"]), (&fifo["wait"], &fifo["users"][0]["wait"]));
    assert_eq!(fifo["wait_change"], 0.0);
    assert!((fifo["utilisation"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{fifo}");
    // The user with six times the weight waits less.
    let fair = &report["policies"][1];
    let of = |name: &str| fair["users"].as_array().unwrap().iter().find(|user| user["user"] == name).unwrap();
    assert!(of("ann")["wait_change"].as_f64() < Some(0.0) && of("bob")["wait_change"].as_f64() > Some(0.0), "{fair}");
    assert_eq!(report["policies"][2]["policy"], "json");
}

on_both! {
    async fn a_policy_is_what_the_program_prints_of_a_group(db: TestDb) {
        let f = two_users(db).await;
        let set = ["half_life_days=3", "order=tiered", "sequence_mode=progressive", "resource_weights={\"cpu\": \"0.5\"}", "default_weight=2"];
        run(&f.db, [&["options", "set", GROUP], &set[..]].concat()).ok();
        let weights = "domains: {teaching: 4}\nprojects: {course: 1.5}\nusers: [{user: bob, weight: 3}]";
        run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], weights.as_bytes()).ok();
        let [options, weights] = ["options", "weights"].map(|what| run(&f.db, [what, "get", GROUP]).ok());
        let folder = desk();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("jobs.csv", &jobs([("alice", "ml", "research"), ("bob", "course", "teaching")]));
        write("printed.yaml", &[options.as_str(), &weights].concat());
        write("options.yaml", &options);
        write("weights.yaml", &weights);
        write("by-hand.yaml", "scheduler_opts: {half_life_days: 3, order: tiered, sequence_mode: progressive, \
            resource_weights: {cpu: 0.5}, default_weight: 2}\n\
            domains: {teaching: 4}\nprojects: {course: 1.5}\nusers: [{user: bob, project: course, weight: 3}]");
        let policies = ["printed", "by-hand", "options", "weights"].map(|name| format!("{name}.yaml"));
        let named = policies.iter().flat_map(|file| ["--policy", file]);
        let args: Vec<&str> = ["jobs.csv", "--capacities", "nodes.csv", "-o", "json"].into_iter().chain(named).collect();
        let ended = replay(folder.path(), &args);
        assert!(!ended.stderr.contains("no jobs in the trace"), "{ended:?}");
        let report: Value = ended.json();
        let [printed, by_hand, options, weights] = [0, 1, 2, 3].map(|at| {
            let mut told = report["policies"][at].clone();
            told["policy"].take();
            told
        });
        assert_eq!(printed, by_hand);
        assert!(printed != options && printed != weights, "{report}");
    }
}

#[test]
fn a_report_is_the_same_twice_in_every_form() {
    let folder = desk();
    for form in ["table", "json", "csv", "ndjson"] {
        let told = |page: &str| {
            let args = [&GIVEN[..], &["--policy", "fair.yaml", "-o", form, "--html", page]].concat();
            (replay(folder.path(), &args).ok(), std::fs::read(folder.path().join(page)).unwrap())
        };
        assert_eq!(told("a.html"), told("b.html"), "{form}");
    }
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("fair"), "{page}");
    for other in ["src=", "href=", "url(", "@import"] {
        assert!(!page.contains(other), "the page needs another file: {other}");
    }
}

#[test]
fn every_scheduler_and_any_capacity() {
    let folder = desk();
    for scheduler in ["strict", "skip", "easy"] {
        for offer in [&["--capacity", "cpu=16"][..], &["--load", "0.5"]] {
            let args =
                [&["jobs.csv", "--policy", "fair.yaml", "--scheduler", scheduler, "-o", "csv"][..], offer].concat();
            let told = replay(folder.path(), &args).ok();
            assert_eq!(told.lines().filter(|line| line.starts_with("fair,all,")).count(), 1, "{told}");
        }
    }
}

#[test]
fn a_trace_without_waits_says_so() {
    let folder = desk();
    let lines = "job_id,user,project,resource_group,start_time,end_time,cpu\n\
        1,ann,p,g,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,1\n2,bob,p,g,2026-01-01T00:30:00Z,2026-01-01T01:30:00Z,1\n";
    std::fs::write(folder.path().join("bare.csv"), lines).unwrap();
    let quantities =
        ["bare.csv", "--capacity", "cpu=2500m", "--capacity", "mem=64Gi", "--policy", "fifo.yaml", "-o", "json"];
    let capacity = replay(folder.path(), &quantities).json()["capacity"].clone();
    assert!(capacity["cpu"] == "2.5" && capacity["mem"] == "68719476736", "{capacity}");
    let ended = replay(folder.path(), &["bare.csv", "--capacity", "cpu=1", "--policy", "fifo.yaml", "-o", "json"]);
    assert!(ended.stderr.contains("the trace has no waits"), "{ended:?}");
    let report: Value = ended.json();
    assert_eq!(report["compared_with"], Value::Null);
    assert!(report["policies"][0]["wait"]["mean"].as_f64() > Some(0.0));
}

#[test]
fn a_job_counts_once_however_often_the_traces_have_it() {
    let folder = desk();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let header = "job_id,user,project,resource_group,submit_time,start_time,end_time,cpu\n";
    let job = |id: u8, group: &str, hours: [&str; 2], cpu: u8| {
        let at = |hour: &str| if hour.is_empty() { String::new() } else { format!("2026-01-01T{hour}:00:00Z") };
        let [start, end] = hours.map(at);
        format!("{id},ann,p,{group},2026-01-01T00:00:00Z,{start},{end},{cpu}\n")
    };
    // The first night saw one job running, and the other as it was not.
    let [first, second] = [["", "02"], ["03", "04"]].map(|ends| {
        let cpus = if ends[0].is_empty() { 4 } else { 2 };
        [header.to_owned(), job(1, "g", ["00", ends[0]], 1), job(2, "g", ["01", ends[1]], cpus)].concat()
    });
    write("first.csv", &first);
    write("second.csv", &second);
    let told = |traces: &[&str], more: &[&str]| {
        let ended = replay(folder.path(), &[traces, &["--policy", "fifo.yaml", "-o", "json"], more].concat());
        let mut report: Value = ended.json();
        let notes = report["notes"].take().to_string();
        (report, notes)
    };
    // With this load the cluster offers the size of the largest job: that of a row that is replaced is none.
    let load = ["--load", "10"];
    let (once, notes) = told(&["second.csv"], &load);
    assert!(once["jobs"] == 2 && once["capacity"]["cpu"] == "2" && !notes.contains("repeat"), "{once} {notes}");
    let (again, notes) = told(&["first.csv", "second.csv", "second.csv"], &load);
    assert_eq!(again, once);
    assert!(notes.contains("4 rows repeat jobs of earlier rows: each job counts once"), "{notes}");
    assert!(!notes.contains("not ended"), "{notes}");
    // Jobs that are known to have ended do not run again.
    let (back, notes) = told(&["second.csv", "first.csv"], &load);
    assert!(back["jobs"] == 2 && back["capacity"]["cpu"] == "4" && !notes.contains("not ended"), "{back} {notes}");
    let (_, notes) = told(&["first.csv", "first.csv"], &load);
    assert!(notes.contains("1 job was left out, because it has not ended"), "{notes}");

    // A job that another user has already is not theirs, as in an import.
    write("others.csv", &jobs([("bob", "bob-p", "bobs"), ("ann", "ann-p", "anns")]));
    let nodes = ["--capacities", "nodes.csv"];
    let (ours, _) = told(&["jobs.csv"], &nodes);
    let (both, notes) = told(&["jobs.csv", "others.csv"], &nodes);
    assert_eq!(both, ours);
    assert!(notes.contains("20 rows were left out, because their jobs have other users or projects"), "{notes}");

    // Clusters that count their jobs from one have different ones, and stay apart in one group.
    write("clusters.csv", &[header.to_owned(), job(1, "g", ["00", "01"], 1), job(1, "h", ["00", "01"], 1)].concat());
    let (clusters, notes) = told(&["clusters.csv"], &["--group", "all", "--capacity", "cpu=2"]);
    assert!(clusters["jobs"] == 2 && !notes.contains("repeat"), "{clusters} {notes}");
}

#[test]
fn a_group_has_its_own_capacities() {
    let folder = desk();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let row = |group: &str| format!("{group},n1,4000,,,2026-01-01T00:00:00Z,\n");
    let header = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n";
    write("nodes.csv", &[header.to_owned(), row("main"), row("other")].concat());
    let told = |args: &[&str]| {
        let ended = replay(folder.path(), &[&GIVEN[..], args, &["-o", "json"]].concat());
        let notes = ended.stderr.clone();
        let report: Value = ended.json();
        (report["capacity"]["cpu"].as_str().unwrap().to_owned(), notes)
    };
    assert_eq!(told(&[]).0, "4000");
    let (capacity, notes) = told(&["--group", "main"]);
    assert_eq!(capacity, "4000");
    assert!(notes.contains("note: capacities of other resource groups are left out: other\n"), "{notes}");
    // A name of the file of capacities decides, also where the jobs name another group.
    let (capacity, notes) = told(&["--group", "other"]);
    assert_eq!(capacity, "4000");
    assert!(notes.contains("jobs of other resource groups are replayed on the capacities of other: main"), "{notes}");
    // Another name: the groups of the jobs.
    assert_eq!(told(&["--group", "all"]).0, "4000");
    let jobs = std::fs::read_to_string(folder.path().join("jobs.csv")).unwrap();
    let both = jobs.replacen(",main,", ",other,", 1);
    write("jobs.csv", &both);
    let (capacity, notes) = told(&["--group", "all"]);
    assert_eq!(capacity, "8000");
    assert!(notes.contains("capacities of several resource groups are added up: main, other"), "{notes}");
    // The jobs of one of two groups, on what that group offers.
    for (group, jobs, left_out) in
        [("main", 19, "1 job of another resource group"), ("other", 1, "19 jobs of other resource groups")]
    {
        let report = replay(folder.path(), &[&GIVEN[..], &["--group", group, "-o", "json"]].concat()).json();
        assert_eq!(report["jobs"], jobs, "{group}");
        let (capacity, notes) = told(&["--group", group]);
        assert_eq!(capacity, "4000");
        assert!(notes.contains(&format!("note: {left_out} left out: the replay is of {group}\n")), "{notes}");
    }
    write("nodes.csv", &[header.to_owned(), row("main")].concat());
    let refused = replay(folder.path(), &[&GIVEN[..], &["--group", "other"]].concat()).refused(2);
    assert!(refused.contains("no row offers anything in other; the rows are of main"), "{refused}");
    write("nodes.csv", &[header.to_owned(), row("main"), row("other")].concat());
    // Jobs that name no group: all that there is.
    write("jobs.csv", &jobs.replace(",resource_group,", ",").replace(",main,", ","));
    assert_eq!(told(&["--group", "all"]).0, "8000");
    assert_eq!(told(&["--group", "other"]).0, "4000");
    // Jobs of partitions that the file does not know.
    write("jobs.csv", &jobs.replace(",main,", ",elsewhere,"));
    let (capacity, notes) = told(&["--group", "all"]);
    assert_eq!(capacity, "8000");
    assert!(notes.contains("capacities of several resource groups are added up: main, other"), "{notes}");
    let refused = replay(folder.path(), &GIVEN).refused(2);
    assert!(refused.contains("no row offers anything in elsewhere; the rows are of main, other"), "{refused}");
}

#[test]
fn what_cannot_be_replayed_is_refused_in_one_sentence() {
    let folder = desk();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("broken.yaml", "scheduler: [");
    write("list.yaml", "- a\n- b\n");
    write("unknown.yaml", "scheduler: slurm\n");
    write("queues.yaml", "scheduler: saturation\n");
    write("misspelt.yaml", "scheduler_opts: {half_live_days: 3}\n");
    write("range.yaml", "half_life_days=0\n");
    write("weight.yaml", "users: [{user: ann, weight: -1}]\n");
    write("pair.yaml", "users: [{user: ann, weight: 2}, {user: ann, weight: 3}]\n");
    write("twice.yaml", "half_life_days=1\nhalf_life_days: 2\n");
    write("jobs.txt", "");
    write("empty.csv", "job_id,user,project,start_time,end_time\n");
    write(
        "groups.csv",
        "job_id,user,project,resource_group,start_time,end_time,cpu\n\
        1,a,p,g,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,1\n2,a,p,h,2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,1\n",
    );
    let refused = |trace: &str, rest: &[&str]| replay(folder.path(), &[&[trace][..], rest].concat()).refused(2);
    let with = |policy: &str| refused("jobs.csv", &["--capacity", "cpu=8", "--policy", policy]);
    for (policy, said) in [
        ("broken.yaml", "broken.yaml: a policy is not YAML"),
        ("list.yaml", "list.yaml: a policy is not a map of keys"),
        ("unknown.yaml", "unknown.yaml: `scheduler` is \"slurm\", and a replay knows"),
        ("queues.yaml", "queues.yaml: `scheduler` is \"saturation\""),
        ("misspelt.yaml", "half_live_days"),
        ("range.yaml", "`half_life_days` is not a whole number from 1 to 3650"),
        ("weight.yaml", "weight.yaml: the weight of the user \"ann\": \"-1\" must not be negative"),
        ("pair.yaml", "pair.yaml: the weight of the user \"ann\" is there twice"),
        ("twice.yaml", "`half_life_days` is there twice"),
        ("absent.yaml", "cannot read absent.yaml"),
    ] {
        let line = with(policy);
        assert!(line.contains(said), "{policy}: {line}");
    }
    let fifo = ["--policy", "fifo.yaml"];
    for (trace, rest, said) in [
        ("jobs.csv", &fifo[..], "a replay needs what the cluster offered"),
        ("jobs.txt", &["--capacity", "cpu=1", "--policy", "fifo.yaml"], "give it with --format"),
        (
            "empty.csv",
            &["--capacity", "cpu=1", "--policy", "fifo.yaml"],
            "the trace has no job that has started and ended",
        ),
        ("absent.csv", &["--capacity", "cpu=1", "--policy", "fifo.yaml"], "cannot open absent.csv"),
        ("groups.csv", &["--capacity", "cpu=1", "--policy", "fifo.yaml"], "--group NAME replays those of one"),
        (
            "jobs.csv",
            &["--capacity", "cpu=8", "--capacity", "cpu=9", "--policy", "fifo.yaml"],
            "--capacity names a slot twice",
        ),
        ("jobs.csv", &["--capacity", "cpu=4", "--policy", "fifo.yaml"], "no job of the trace fits into the cluster"),
    ] {
        let line = refused(trace, rest);
        assert!(line.contains(said), "{trace}: {line}");
    }
    let wrong = replay(folder.path(), &["jobs.csv", "--capacity", "mem=64GiB", "--policy", "fifo.yaml"]);
    let said = "the amount is not a decimal number; amounts are like 4, 0.5, 500m, 2k or 64Gi";
    assert!(wrong.code == Some(2) && wrong.stderr.contains(said), "{wrong:?}");
    // Arguments that the command line itself refuses.
    for rest in [
        &["--scheduler", "slurm"][..],
        &["--capacity", "cpu"],
        &["--capacity", "cpu=0"],
        &["--load", "0"],
        &["--load", "0.9", "--capacity", "cpu=1"],
    ] {
        let args = [&["jobs.csv", "--policy", "fifo.yaml"][..], rest].concat();
        let ended = replay(folder.path(), &args);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{rest:?}: {ended:?}");
    }
    let ended = end(program().args(["replay", "jobs.csv", "--policy", "x", "--server", "http://127.0.0.1:1"]));
    assert_eq!(ended.code, Some(2));
}

#[test]
fn forecasts_are_held_against_the_starts_that_follow() {
    let folder = desk();
    let args = [&GIVEN[..], &["--policy", "fair.yaml", "--forecasts", "1"]].concat();
    let report: Value = replay(folder.path(), &[&args[..], &["-o", "json"]].concat()).json();
    let [fifo, fair] = &report["forecasts"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&fifo["policy"], &fair["policy"]), (&"fifo".into(), &"fair".into()));
    assert_eq!((&fifo["waited"], &fifo["asked"]), (&19.into(), &19.into()), "{fifo}");
    // When the last job is submitted, six have ended.
    assert_eq!((&fifo["known"], &fifo["coverage"]), (&0.into(), &Value::Null), "{fifo}");
    let table = replay(folder.path(), &args).ok();
    assert!(table.contains("Forecasts of starts, each from its past alone; errors are medians"), "{table}");
    assert!(
        table.contains("BEYOND HISTORY") && table.contains("IN INTERVAL") && table.contains("BY ANNOUNCED TIMES"),
        "{table}"
    );
    let ended = replay(folder.path(), &[&GIVEN[..], &["--forecasts", "0"]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
}

/// A trace on which the interval has to keep what it promises.
#[test]
fn forecasts_of_a_trace_keep_what_they_promise() {
    let Some(data) = data() else { return };
    let folder = desk();
    std::fs::write(folder.path().join("week.yaml"), "scheduler=fairshare\nhalf_life_days=7\n").unwrap();
    let file = |name: &str| data.join("wagap2013").join(name).display().to_string();
    let (trace, nodes) = (file("wagap2013.swf.gz"), file("capacities.csv"));
    let cluster = [&trace, "--group", "cerit", "--swf-memory", "bytes-per-node", "--capacities", &nodes];
    let asked = ["--policy", "week.yaml", "--scheduler", "easy", "--forecasts", "10", "-o", "json"];
    let report: Value = replay(folder.path(), &[&cluster[..], &asked].concat()).json();
    let figure = |key: &str| report["forecasts"][0][key].as_f64().unwrap();
    assert!((0.7..=0.9).contains(&figure("coverage")), "{}", report["forecasts"]);
    assert!(figure("median_error_seconds") < figure("announced_error_seconds"), "{}", report["forecasts"]);
}

/// A simple scheduler on a trace with real waits and capacities. No figure here is a bar, because the real cluster had
/// another scheduler. The replay itself asserts that no job starts where it does not fit.
#[test]
fn a_trace_with_waits_and_capacities_under_fifo() {
    let Some(data) = data() else { return };
    let folder = desk();
    let file = |name: &str| data.join("wagap2013").join(name).display().to_string();
    let (trace, nodes) = (file("wagap2013.swf.gz"), file("capacities.csv"));
    let args = [
        &trace,
        "--group",
        "cerit",
        "--swf-memory",
        "bytes-per-node",
        "--capacities",
        &nodes,
        "--policy",
        "fifo.yaml",
        "-o",
        "json",
    ];
    let report: Value = replay(folder.path(), &args).json();
    let mean = |outcome: &Value| outcome["wait"]["mean"].as_f64().unwrap();
    let fifo = &report["policies"][0];
    println!("mean wait under fifo {:.0} s, recorded {:.0} s", mean(fifo), mean(&report["recorded"]));
    assert_eq!((&report["jobs"], &fifo["never_started"]), (&fifo["jobs"], &0.into()));
    assert!(fifo["utilisation"].as_f64() <= Some(1.0), "{}", fifo["utilisation"]);
}
