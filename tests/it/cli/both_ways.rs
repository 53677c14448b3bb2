//! Every command works through a server and directly on the database, with the same output.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use fairshared::cli::COMMANDS;
use serde_json::json;
use uuid::Uuid;

use super::program::{Ended, Server, fed, over, program, run};
use super::two_users;
use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};
use crate::support::fixture::{GROUP, id};
use crate::support::on_both;

/// A command and its input.
type Step<'a> = (Vec<&'a str>, &'a str);

fn local(db: &TestDb, (args, input): &Step) -> Ended {
    fed(keeping(db).args(args), input.as_bytes())
}

/// The program over a database, with jobs whose retention covers a trace of long ago.
fn keeping(db: &TestDb) -> Command {
    let mut command = over(&db.url);
    command.env("FAIRSHARED_KEEP_KERNELS_DAYS", "36500");
    command
}

fn remote(server: &Server, key: &str, (args, input): &Step) -> Ended {
    let mut command = program();
    command.env("FAIRSHARED_SERVER", &server.address).env("FAIRSHARED_KEY", key);
    fed(command.args(args), input.as_bytes())
}

/// A key of a database, with the name that the command line gives itself.
fn key(db: &TestDb) -> String {
    let actor = run(db, ["whoami", "-o", "json"]).json()["label"].as_str().unwrap().to_owned();
    run(db, ["keys", "create", "--role", "admin", "--label", &actor]).ok().trim_end().to_owned()
}

fn step<'a>(line: &'a str, input: &'a str) -> Step<'a> {
    (line.split_whitespace().collect(), input)
}

fn first_words<'a>(steps: impl IntoIterator<Item = &'a Step<'a>>) -> BTreeSet<String> {
    steps.into_iter().map(|(args, _)| args[0].to_owned()).collect()
}

/// The output with the values masked that differ from run to run.
fn masked(ended: &Ended) -> (Option<i32>, String, String) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-:._".contains(c);
    let mask = |text: &str| {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_word) {
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
            rest = &rest[word.len()..];
            let is_time = word.contains('T')
                && word.ends_with('Z')
                && word.parse::<fairshared::domain::time::Timestamp>().is_ok();
            let is_random = word.parse::<Uuid>().is_ok_and(|id| id.get_version_num() == 7) || word.starts_with("fsk_");
            let is_length = rest.starts_with(" seconds");
            out.push_str(if is_time || is_random || is_length { "#" } else { word });
        }
        // Columns are as wide as what was masked; deliveries are counted by minutes.
        let lines = (out + rest)
            .lines()
            .filter(|line| !line.contains("kernels.ingest"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>();
        lines.join("\n")
    };
    (ended.code, mask(&ended.stdout), mask(&ended.stderr))
}

on_both! {
    async fn what_commands_read(db: TestDb) {
        let f = two_users(db).await;
        let queues = "queues: [{name: ml, quota: {cpu: 8}}, {name: course, quota: {cpu: 2}}]";
        local(&f.db, &step("weights apply gpu-cluster -f -", queues)).ok();
        f.service.refresh().await.unwrap();
        f.service.keep_division(GROUP).await.unwrap();
        let key = key(&f.db);
        let server = Server::over(&f.db.url);
        let workload = json!({"workload_id": "w", "user_uuid": id("bob"), "project_id": id("course")});
        let workloads = json!({"workloads": [workload]}).to_string();
        let plan = json!({"workload_id": "new", "queue": "ml", "members": [{"slots": {"cpu": 9}}]}).to_string();
        let kernel = format!("kernels show {GROUP} {}", id("k1"));
        let stranger = format!("kernels show {GROUP} {}", id("nothing"));
        let user = format!("users show {} -o json", id("alice"));
        let plain = [
            "rank gpu-cluster", "rank gpu-cluster -o json", "rank gpu-cluster -o csv", "rank gpu-cluster -o ndjson",
            "rank gpu-cluster --limit 1 -o json", "rank gpu-cluster --domains", "rank gpu-cluster --domains -o json",
            "rank gpu-cluster --projects", "rank gpu-cluster --projects -o csv", "rank nowhere", "rank gpu-cluster --limit 0",
            "explain bob -o csv", "explain bob --project course --group gpu-cluster -o csv", "explain --domain teaching -o csv",
            "explain --project ml -o csv", "explain nobody", "explain bob --group nowhere", "explain bob --place 9", "explain",
            "explain bob --workload nothing",
            "weights get gpu-cluster", "weights get gpu-cluster -o json", "weights get gpu-cluster -o table",
            "weights get gpu-cluster -o csv", "weights get nowhere", "queues gpu-cluster", "queues gpu-cluster -o json",
            "division gpu-cluster", "division gpu-cluster --explain", "division gpu-cluster -o csv",
            "fairness gpu-cluster --window 2026-01-13..2026-01-13 --tier user -o csv", "fairness gpu-cluster --history -o csv",
            "history gpu-cluster --tier domain --from 2026-01-10 --to 2026-01-13", "division gpu-cluster --history -o json", "division gpu-cluster --history --queue ml", "division nowhere",
            "groups list", "groups list -o json", "groups show gpu-cluster", "groups show gpu-cluster -o json",
            "groups show nowhere", "options get gpu-cluster", "options get gpu-cluster -o json", "agents list gpu-cluster",
            "agents list gpu-cluster -o json", "domains list", "domains show research -o json", "domains show nowhere",
            "projects list -o csv", "projects list --domain teaching", "users list", "users list --search ali -o json",
            "kernels list gpu-cluster", "kernels list gpu-cluster -o json --status RUNNING", "kernels list gpu-cluster -o csv",
            "kernels list gpu-cluster --status DANCING", "kernels list gpu-cluster --limit 1 -o json",
            "usage gpu-cluster --from 2026-01-13 --to 2026-01-14", "usage gpu-cluster --from 2026-01-13 --to 2027-01-14",
            "usage gpu-cluster --month 2026-01 --by project", "usage gpu-cluster --month 2026-01 --by domain,user,day -o csv",
            "usage gpu-cluster --from 2026-01-13 --to 2026-01-14 --by user -o json", "usage gpu-cluster --month 2026-13 --by user",
            "usage gpu-cluster --month 2026-01 --by colour", "usage gpu-cluster --month 2026-01", "usage nowhere --month 2026-01 --by user",
            "usage gpu-cluster gpu-cluster --month 2026-01 --by resource_group,week --slots cpu -o csv",
            "export buckets gpu-cluster", "export buckets gpu-cluster --tier domains -o json", "jobs list", "jobs list -o json",
            "log", "log -o json", "log --action weights.put -o csv", "audit", "audit gpu-cluster -o json", "audit nowhere",
            "metadata", "metadata -o json", "metadata -o csv", "workloads list gpu-cluster", "workloads list gpu-cluster -o csv",
            "workloads list gpu-cluster --status running -o ndjson", "workloads list nowhere", "workloads show gpu-cluster nothing", "workloads forecasts gpu-cluster", "sequence gpu-cluster --forecast", "workloads what-if gpu-cluster nothing --alone --priority -3",
            "occupancy gpu-cluster", "occupancy gpu-cluster --by agent -o csv", "occupancy nowhere",
            "connectors list", "connectors list -o json", "connectors list -o csv", "connectors report gpu-cluster",
            "connectors report gpu-cluster -o json", "connectors report gpu-cluster -o csv --from 2026-01-13 --to 2026-01-13", "connectors report nowhere", "connectors remove nowhere", "connectors remove linux --group nowhere --reason gone",
            "jobs run nothing", "jobs run purge --group nowhere",
        ];
        let mut steps: Vec<Step> = plain.iter().map(|line| step(line, "")).collect();
        steps.extend([step(&kernel, ""), step(&stranger, ""), step(&user, "")]);
        for line in ["sequence gpu-cluster -", "sequence gpu-cluster - -o json", "sequence gpu-cluster - --explain", "sequence nowhere -"] {
            steps.push(step(line, &workloads));
        }
        let changes = r#"{"weights": [{"target_type": "domain", "target_id": "research", "weight": "3"}]}"#;
        for line in ["simulate gpu-cluster -", "simulate gpu-cluster - -o json", "simulate nowhere -"] {
            steps.push(step(line, changes));
        }
        for line in ["plan gpu-cluster -", "plan gpu-cluster - -o json", "plan nowhere -"] {
            steps.push(step(line, &plan));
        }
        for line in ["cycle-plan gpu-cluster", "cycle-plan gpu-cluster - -o json", "cycle-plan nowhere -"] {
            steps.push(step(line, r#"{"cycle": {"backfill": "easy"}}"#));
        }
        steps.extend([
            step("sequence gpu-cluster -", "{\"workloads\": [{}]}"), step("plan gpu-cluster -", "["),
            step("cycle-plan gpu-cluster -", r#"{"cycle": {"depth": 0}}"#),
            step("weights diff gpu-cluster -f - -o json", "domains: {research: 7}"),
            step("weights diff gpu-cluster --prune -f -", "domains: {nowhere: 7}"),
        ]);
        for step in &steps {
            let (one, other) = (local(&f.db, step), remote(&server, &key, step));
            assert_eq!((one.code, &one.stdout, &one.stderr), (other.code, &other.stdout, &other.stderr), "{:?}", step.0);
        }
        // The key knows when it was used, and who shows it.
        let listed = |ended: Ended| ended.json()["items"][0]["label"].clone();
        let list = step("keys list -o json", "");
        assert_eq!(listed(local(&f.db, &list)), listed(remote(&server, &key, &list)));
        let who = remote(&server, &key, &step("whoami -o json", "")).json();
        assert_eq!((who["role"].as_str(), who["key_id"].is_string()), (Some("admin"), true));
        assert!(local(&f.db, &step("whoami", "")).ok().contains("cli:"));
        let known: BTreeSet<String> = COMMANDS.iter().filter(|entry| !entry.is_local).map(fairshared::cli::CommandEntry::name).collect();
        let mut asked = first_words(&steps);
        // `doctor` says which database or server it has asked, so that its answers differ.
        // `connect` reports to a server alone; tests/it/connect tries it.
        asked.extend(["doctor", "keys", "whoami", "import", "connect"].map(str::to_owned));
        assert_eq!(asked, known, "every command that asks the API is tried both ways");
    }
}

const JOBS: &str = "job_id,user,project,domain,resource_group,start_time,end_time,cpu,mem_gib,gpu\n\
    1,ann,ml,research,g,2026-01-10T00:00:00Z,2026-01-10T01:00:00Z,4,,\n\
    2,bob,ml,research,g,2026-01-10T00:00:00Z,2026-01-10T02:00:00Z,1,,\n\
    3,bob,course,teaching,h,2026-01-11T00:00:00Z,2026-01-11T02:00:00Z,1,,\n";

/// The same writes on two databases, one of them behind a server.
fn writes(one: &TestDb, other: &TestDb) {
    let folder = tempfile::tempdir().unwrap();
    let nodes = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\ng,n1,8,,,2026-01-01T00:00:00Z,2026-01-20T00:00:00Z\n";
    let nodes = super::program::file(folder.path(), "nodes.csv", nodes);
    let jobs = super::program::file(folder.path(), "jobs.csv", JOBS);
    let row = json!({
        "kernel_id": id("k"), "session_id": id("k"), "user": "cid", "project": "ml", "domain_name": "research",
        "occupied_slots": {"cpu": "2"}, "status": "TERMINATED", "started_at": "2026-01-12T00:00:00Z",
        "terminated_at": "2026-01-12T03:00:00Z",
    });
    let mixed = format!("{row}\n{{\"kernel_id\": 7}}\n");
    // Usage is recorded below: a server may have begun by itself.
    let import = format!("import csv {jobs} --capacities {nodes} --no-aggregate");
    let queues = "queues: [{name: ml, quota: {cpu: 4}}]\nusers: [{user: ann, project: ml, weight: 3}]";
    let steps = [
        step("groups create g --option half_life_days=14 --reason new", ""),
        step("groups create g", ""),
        step("groups create x --scheduler nonsense", ""),
        step("agents set g a1 --slot cpu=8 --label rack=r7", ""),
        step("agents set g a1 --slot cpu=16", ""),
        step("agents set g a2 --slot cpu=-1", ""),
        step("kernels post g -", &mixed),
        step("kernels post g - --dry-run", &mixed),
        step("kernels post g -", "[{"),
        step(&import, ""),
        step(&import, ""),
        step("import csv - --resource-group g", "nonsense"),
        step("weights set g user ann 2 --project ml --reason term", ""),
        step("weights set g domain nowhere 1", ""),
        step("weights set g user nobody 1", ""),
        step("weights apply g -f -", queues),
        step("weights apply g -f -", "queues: [{name: x, parent: y}]"),
        step("weights apply g --prune -f -", "domains: {research: 2}"),
        step("options set g decay=continuous scheduler=drf", ""),
        step("options set g half_life_days=never", ""),
        step("options set g -f -", "{\"scheduler_opts\": {\"max_gap_hours\": 5}}"),
        step("options set g -f -", "half_life_days=3\nmax_gap_hours=null\n"),
        step("options get g", ""),
        step("domains set research --display-name Research", ""),
        step("domains set new", ""),
        step("domains archive nowhere", ""),
        step("projects set ml --domain teaching", ""),
        step("projects set ml --unpin", ""),
        step("projects show ml", ""),
        step("users set ann --display-name Ann", ""),
        step("users set dora", ""),
        step("users archive dora --reason left", ""),
        step("users archive dora --undo", ""),
        step("users list -o csv", ""),
        step("queues g", ""),
        step("agents remove g a1", ""),
        step("agents remove g a1", ""),
        step("agents list g", ""),
        step("keys create --role viewer --label v --group g --expires 2099-01-01T00:00:00Z", ""),
        step("keys create --role user --label u --user zoe", ""),
        step("keys create --role user --label u", ""),
        step("keys revoke 019b76da-2c00-7d7e-9c35-0d6a7c4f2b11", ""),
        step("jobs trust-clock --reason test", ""),
    ];
    let afterwards = [
        // The active users depend on the recorded usage.
        step("rank g -o csv", ""),
        step("rank g --projects", ""),
        step("groups remove g", ""),
        step("groups remove g --confirm g", ""),
        step("groups remove h --confirm h", ""),
        step("groups remove h", ""),
        step("groups list", ""),
        step("log --limit 1000", ""),
    ];
    run(other, ["migrate", "up"]).ok();
    run(one, ["migrate", "up"]).ok();
    // The same entry of the audit log.
    key(one);
    let mut serve = keeping(other);
    serve.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::null());
    let (key, server) = (key(other), Server::start(&mut serve));
    let compare = |step: &Step| {
        let (here, there) = (local(one, step), remote(&server, &key, step));
        assert_eq!(masked(&here), masked(&there), "{:?}", step.0);
    };
    steps.iter().for_each(compare);
    // Records and buckets are counted by refusals; the server may be about to record and to purge them by itself.
    for job in ["aggregate", "purge"] {
        for group in ["g", "h"] {
            let run = format!("jobs run {job} --group {group}");
            let run = step(&run, "");
            local(one, &run).ok();
            while remote(&server, &key, &run).code != Some(0) {}
        }
    }
    afterwards.iter().for_each(compare);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_commands_write_on_sqlite() {
    writes(&sqlite_unmigrated(), &sqlite_unmigrated());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_commands_write_on_postgres() {
    writes(&postgres_unmigrated().await, &postgres_unmigrated().await);
}
