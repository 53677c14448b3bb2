//! The output of commands: rankings, orders, reports, audits, buckets and documents.

use serde_json::{Value, json};

use super::program::{end, over, run, run_with_input};
use super::two_users;
use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, id, with};
use crate::support::on_both;

fn items(answer: &Value) -> &[Value] {
    answer["items"].as_array().unwrap()
}

/// Changes stored usage behind the service's back.
#[expect(clippy::disallowed_methods, reason = "damage that no use-case can do")]
async fn damage(db: &TestDb) {
    use sea_orm::ConnectionTrait;
    let sql = "UPDATE user_usage_buckets SET resource_usage = '{\"cpu\":\"1\"}'";
    db.store().await.write().execute_unprepared(sql).await.unwrap();
}

on_both! {
    async fn the_ranking(db: TestDb) {
        let f = two_users(db).await;
        let ranking = run(&f.db, ["rank", GROUP, "-o", "json"]).json();
        let [first, second] = items(&ranking) else { panic!("{ranking}") };
        assert_eq!((&first["user_name"], &first["rank"]), (&json!("alice"), &json!(1)));
        assert_eq!((&second["user_uuid"], &second["rank"]), (&json!(id("bob")), &json!(2)));
        assert_eq!((&ranking["total"], &ranking["calculated_at"]), (&json!(2), &json!("2026-01-13T11:00:00Z")));
        // 4 of 10 cores for one hour, in 28 days.
        let used: f64 = second["effective_usage"].as_str().unwrap().parse().unwrap();
        assert!((used - 0.4 / 24.0 / 28.0).abs() < 1e-12);
        let factor: f64 = second["fair_share_factor"].as_str().unwrap().parse().unwrap();
        assert!((factor - (-used).exp2()).abs() < 1e-11);

        let table = run(&f.db, ["rank", GROUP]).ok();
        let lines: Vec<Vec<&str>> = table.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(lines[0][..2], ["RANK", "USER"]);
        assert_eq!(lines[1][..2], ["1", "alice"]);
        assert_eq!(lines[2][..2], ["2", "bob"]);
        assert_eq!(lines[0], ["RANK", "USER", "PROJECT", "DOMAIN", "FACTOR", "USAGE", "WEIGHT", "ENTITLED", "PARENT"]);
        assert_eq!(lines[2], ["2", "bob", "course", "teaching", "0.999587", "0.000595", "1", "50.00%", "100.00%"]);
        assert!(!table.contains('\u{1b}'), "{table}");
        let csv = run(&f.db, ["rank", GROUP, "-o", "csv", "--limit", "1"]).ok();
        assert_eq!(csv.lines().count(), 2);
        assert!(csv.starts_with("rank,user_name,user_uuid,project_name,project_id,domain_name,"), "{csv}");

        let domains = run(&f.db, ["rank", GROUP, "--domains", "-o", "json"]).json();
        assert_eq!(items(&domains).iter().map(|d| &d["domain_name"]).collect::<Vec<_>>(), ["research", "teaching"]);
        let projects = run(&f.db, ["rank", GROUP, "--projects", "-o", "json"]).json();
        assert_eq!(items(&projects).iter().map(|p| &p["project_name"]).collect::<Vec<_>>(), ["ml", "course"]);
        assert_eq!(items(&projects).iter().map(|p| &p["rank"]).collect::<Vec<_>>(), [1, 1]);

        assert_eq!(run(&f.db, ["rank", "nowhere"]).refused(2), "there is no resource group \"nowhere\"");
        assert_eq!(run(&f.db, ["rank", GROUP, "--limit", "0"]).code, Some(2));
        assert_eq!(run(&f.db, ["rank", GROUP, "--domains", "--projects"]).code, Some(2));
    }

    async fn the_audit_log_calls_people_by_their_names(db: TestDb) {
        let f = two_users(db).await;
        let ml = id("ml").to_string();
        run(&f.db, ["projects", "set", &ml, "--display-name", "Learning"]).ok();
        let log = |args: &[&str]| run(&f.db, [&["log", "--action", "project.put"], args].concat());
        let table = log(&[]).ok();
        assert!(table.contains("Learning") && !table.contains(&ml), "{table}");
        assert_eq!(items(&log(&["-o", "json"]).json())[0]["target"], ml);
        assert!(log(&["-o", "csv"]).ok().contains(&ml));
    }

    async fn options_that_look_like_a_mistake_are_said_to(db: TestDb) {
        let f = two_users(db).await;
        let set = run(&f.db, ["options", "set", GROUP, r#"resource_weights={"nope":1}"#]);
        let warnings: Vec<&str> = set.stderr.lines().filter(|line| line.starts_with("warning: `nope` ")).collect();
        assert_eq!((set.code, warnings.len()), (Some(0), 1), "{set:?}");
        let get = run(&f.db, ["options", "get", GROUP]);
        assert!(get.stderr.contains(warnings[0]), "{get:?}");
        assert!(get.ok().contains(r#"resource_weights={"nope":"1"}"#));
        let mended = run(&f.db, ["options", "set", GROUP, "resource_weights=null"]);
        assert!(!mended.stderr.contains("warning: "), "{mended:?}");
        // Neither of two values for one option has precedence.
        let twice = run(&f.db, ["options", "set", GROUP, "half_life_days=7", "half_life_days=8"]);
        assert_eq!(twice.refused(2), "half_life_days is given twice");
        let twice = run(&f.db, ["agents", "set", GROUP, "n1", "--slot", "cpu=1", "--slot", "cpu=2"]);
        assert_eq!(twice.refused(2), "cpu is given twice");
        // Numbers keep their digits.
        run(&f.db, ["options", "set", GROUP, r#"resource_weights={"cpu":123456789.123456789}"#]).ok();
        assert!(run(&f.db, ["options", "get", GROUP]).ok().contains(r#"{"cpu":"123456789.123456789"}"#));
    }

    async fn an_order_of_workloads(db: TestDb) {
        let f = two_users(db).await;
        let workload = |name: &str, user: &str, project: &str| json!({
            "workload_id": name, "user_uuid": id(user), "project_id": id(project), "submitted_at": "2026-01-13T11:00:00Z",
        });
        let body = json!({"workloads": [workload("b1", "bob", "course"), workload("a1", "alice", "ml"), workload("n1", "new", "ml")]});
        let sequence = |args: &[&str], body: &[u8]| run_with_input(&f.db, &[&["sequence", GROUP, "-"], args].concat(), body);
        let answer = sequence(&["-o", "json"], body.to_string().as_bytes()).json();
        assert_eq!(answer["sequencer"], "fairshare");
        assert_eq!(answer["calculated_at"], "2026-01-13T11:00:00Z");
        let order: Vec<_> = items(&answer).iter().map(|i| i["workload_id"].as_str().unwrap()).collect();
        assert_eq!(order, ["n1", "a1", "b1"]);
        assert_eq!((&items(&answer)[0]["fair_share_factor"], &items(&answer)[0]["rank"]), (&json!("1"), &Value::Null));
        let csv = sequence(&["-o", "csv"], body.to_string().as_bytes()).ok();
        assert!(csv.starts_with("position,workload_id,fair_share_factor,rank\n1,n1,1,\n2,a1,0."), "{csv}");
        let charged = with(body.clone(), &json!({"mode": "progressive"}));
        let csv = sequence(&["-o", "csv"], charged.to_string().as_bytes()).ok();
        assert!(csv.starts_with("position,workload_id,fair_share_factor,rank,charge,factor_after\n1,n1,1,,0."), "{csv}");
        let table = sequence(&[], body.to_string().as_bytes()).ok();
        assert_eq!(table.lines().nth(3).unwrap().split_whitespace().take(2).collect::<Vec<_>>(), ["3", "b1"]);
        let deep = format!("{{\"workloads\": {}", "[".repeat(10_000));
        for (body, part) in [
            ("{\"workloads\": [{}]}", "/workloads/0/workload_id: "),
            ("{\"workloads\": [], \"x\": 1}", "/x: `x` is not known here"), (deep.as_str(), "the JSON document is nested deeper"),
        ] {
            let line = sequence(&[], body.as_bytes()).refused(2);
            assert!(line.starts_with(&format!("standard input: {part}")), "{line}");
        }
        assert!(sequence(&[], b"\xff\xfe").refused(2).starts_with("standard input: "));
        assert!(run(&f.db, ["sequence", GROUP, "/nowhere.json"]).refused(2).starts_with("cannot read /nowhere.json: "));
        assert!(run_with_input(&f.db, &["sequence", "nowhere", "-"], b"{\"workloads\":[]}").refused(2).contains("no resource group"));
    }

    async fn csv_has_no_cell_that_a_spreadsheet_runs(db: TestDb) {
        let f = two_users(db).await;
        let ml = id("ml").to_string();
        let show = |display_name: &str| {
            run(&f.db, ["projects", "set", &ml, &format!("--display-name={display_name}")]).ok();
            run(&f.db, ["projects", "list", "-o", "csv"]).ok()
        };
        for text in ["=1+1", "+cmd|x", "-1+1", "-inf", "@SUM(A1)", "\u{ff1d}1+1", "\u{ff20}x"] {
            let csv = show(text);
            assert!(csv.contains(&format!(",'{text},{ml},")), "{csv}");
        }
        for number in ["-1.5", "+2", "-2e-7"] {
            let csv = show(number);
            assert!(csv.contains(&format!(",{number},{ml},")), "{csv}");
        }
        show("=A1");
        assert!(run(&f.db, ["projects", "show", &ml, "-o", "csv"]).ok().contains("display_name,'=A1\n"));
        assert_eq!(run(&f.db, ["projects", "show", &ml, "-o", "json"]).json()["display_name"], "=A1");
    }

    async fn a_report_as_csv_has_what_was_used_of_the_capacity(db: TestDb) {
        let f = two_users(db).await;
        let csv = run(&f.db, ["usage", GROUP, "--from", "2026-01-12", "--to", "2026-01-13", "--by", "project", "-o", "csv"]).ok();
        assert!(csv.lines().next().unwrap().ends_with(",used_share,entitled_share,cpu_hours,cpu_capacity_share"), "{csv}");
        assert!(csv.lines().count() > 1 && csv.lines().skip(1).all(|line| !line.ends_with(',')), "{csv}");
        let none = run(&f.db, ["usage", GROUP, "--from", "2026-01-01", "--to", "2026-01-02", "--by", "project", "-o", "csv"]).ok();
        assert_eq!(none, "first_day,last_day,project_name\n");
        let table = run(&f.db, ["usage", GROUP, "--from", "2026-01-12", "--to", "2026-01-13", "--by", "domain"]).ok();
        assert!(table.contains("80.00%"), "{table}");
    }

    async fn an_audit_names_the_first_row_that_differs(db: TestDb) {
        let f = two_users(db).await;
        let clean = run(&f.db, ["audit", "-o", "json"]).json();
        assert_eq!((&clean["items"][0]["resource_group"], &clean["items"][0]["ok"]), (&json!(GROUP), &json!(true)));
        assert_eq!(clean["items"][0]["totals"]["users"], json!({"cpu": "18000"}));
        assert!(run(&f.db, ["audit", GROUP]).ok().contains("true"));
        assert!(run(&f.db, ["audit", GROUP, "nowhere"]).refused(2).contains("nowhere"));
        damage(&f.db).await;
        let ended = run(&f.db, ["audit", GROUP]);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains("false"), "{ended:?}");
        assert!(ended.stderr.starts_with("gpu-cluster: tier:project 2026-01-13 differs: "), "{ended:?}");
    }

    async fn buckets_as_rows(db: TestDb) {
        let f = two_users(db).await;
        let export = |args: &[&str]| run(&f.db, [&["export", "buckets", GROUP], args].concat());
        let csv = export(&["-o", "csv"]).ok();
        let mut lines = csv.lines();
        assert_eq!(lines.next(), Some("period_start,period_end,user_uuid,user_name,project_id,project_name,domain_name,resource_usage,capacity_snapshot"));
        assert_eq!(lines.count(), 2);
        assert!(csv.contains("research,\"{\"\"cpu\"\":\"\"3600\"\"}\",\"{\"\"cpu\"\":\"\"10\"\"}\""), "{csv}");
        let users = export(&["-o", "json"]).json();
        assert_eq!(users["total"], 2);
        assert_eq!(items(&export(&["--tier", "projects", "-o", "json"]).json()).len(), 2);
        let domains = export(&["--tier", "domains", "-o", "json"]).json();
        assert_eq!(items(&domains)[1]["resource_usage"], json!({"cpu": "14400"}));
        assert!(items(&domains)[1].get("user_uuid").is_none());
        assert!(export(&[]).ok().contains("2026-01-13"));
        for (args, rows) in [(["--from", "2026-01-13"], 2), (["--from", "2026-01-14"], 0), (["--to", "2026-01-13"], 2), (["--to", "2026-01-12"], 0)] {
            assert_eq!(export(&[&args[..], &["-o", "json"]].concat()).json()["total"], rows, "{args:?}");
        }
        assert_eq!(run(&f.db, ["export", "buckets", "nowhere"]).refused(2), "there is no resource group \"nowhere\"");
        let crossed = export(&["--from", "2026-01-14", "--to", "2026-01-13"]);
        assert_eq!(crossed.refused(2), "--from 2026-01-14 lies after --to 2026-01-13");
        assert_eq!(export(&["--from", "2026-02-30"]).code, Some(2));
    }

    async fn a_job_by_hand(db: TestDb) {
        let f = two_users(db).await;
        // The service of the test was last alive long before the program's time.
        assert!(run(&f.db, ["jobs", "run", "rebuild", "--group", GROUP]).refused(1).contains("trust-clock"));
        run(&f.db, ["jobs", "trust-clock"]).ok();
        let runs = run(&f.db, ["jobs", "run", "rebuild", "--group", GROUP, "-o", "json"]).json();
        assert_eq!((&items(&runs)[0]["status"], &items(&runs)[0]["trigger"]), (&json!("succeeded"), &json!("manual")));
        let list = run(&f.db, ["jobs", "list", "-o", "csv"]).ok();
        assert!(list.starts_with("name,schedule,next_run_at,resource_group,status,started_at,did,description\n"), "{list}");
        assert!(list.contains("rebuild,,,gpu-cluster,succeeded,"), "{list}");
        assert!(list.contains("purge,0 0 3 * * *,2026-01-14T"), "{list}");
        let weekly = end(over(&f.db.url).args(["jobs", "list", "-o", "csv"]).env("FAIRSHARED_SCHEDULE_REBUILD", "0 0 4 * * SUN")).ok();
        assert!(weekly.contains("rebuild,0 0 4 * * SUN,20"), "{weekly}");
        assert_eq!(run(&f.db, ["jobs", "run", "nothing"]).refused(2), "there is no job \"nothing\"");
        assert!(run(&f.db, ["jobs", "run", "purge", "--group", "nowhere"]).refused(2).contains("nowhere"));
    }

    async fn whoever_stops_reading_ends_the_program_quietly(db: TestDb) {
        let f = two_users(db).await;
        for args in [&["rank", GROUP, "-o", "csv"][..], &["rank", GROUP], &["rank", GROUP, "-o", "json"], &["completions", "bash"], &["weights", "get", GROUP]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let output = over(&f.db.url).args(args).stdout(writer).output().unwrap();
            assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_buckets_come_in_pages() {
    use crate::support::fixture::{Fixture, kernel};
    let f = Fixture::new(crate::support::database::sqlite().await, "2026-01-13T10:00:00Z").await;
    let kernels: Vec<_> =
        (0..1_205).map(|n| kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-01-13T10:00:00Z")).collect();
    assert!(f.ingest(&kernels).await.is_empty());
    f.clock.advance_seconds(60);
    f.tick().await;
    let export = |format: &str| run(&f.db, ["export", "buckets", GROUP, "-o", format]);
    let json = export("json").json();
    let mut users: Vec<_> = items(&json).iter().map(|b| b["user_uuid"].as_str().unwrap()).collect();
    users.sort_unstable();
    users.dedup();
    assert_eq!((users.len(), &json["total"]), (1_205, &json!(1_205)));
    // A ranking in pages says as much as its first page.
    let ranking = run(&f.db, ["rank", GROUP, "--limit", "1100", "-o", "json"]).json();
    assert_eq!((items(&ranking).len(), &ranking["total"]), (1_100, &json!(1_205)));
    assert_eq!(ranking["calculated_at"], "2026-01-13T10:01:00Z");
    assert_eq!(export("csv").ok().lines().count(), 1_206);
    assert_eq!(export("table").ok().lines().count(), 1_206);
    // More than a pipe holds, and a reader that leaves after the first line.
    for format in ["csv", "json", "table"] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut command = over(&f.db.url);
        command.args(["export", "buckets", GROUP, "-o", format]).stdout(writer).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        drop(command);
        std::io::Read::read_exact(&mut reader, &mut [0; 10]).unwrap();
        drop(reader);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{format}");
    }
}

/// Long names, owners that have none, and a weight with many digits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ranking_has_whole_names_where_there_is_no_terminal() {
    use crate::support::fixture::{kernel, with};
    let f = two_users(crate::support::database::sqlite().await).await;
    let named = json!({"user_name": "a".repeat(200), "project_name": "p".repeat(200), "domain_name": "d".repeat(64)});
    let long = with(kernel("k5", "long", "long", "2026-01-13T10:00:00Z"), &named);
    // Long names that differ at their ends stay apart.
    let numbered = |name: &str| {
        let names = json!({"user_name": format!("{}{name}", "a".repeat(60)), "project_name": "p".repeat(200), "domain_name": "d".repeat(64)});
        with(kernel(name, name, "long", "2026-01-13T10:00:00Z"), &names)
    };
    assert!(f.ingest(&[numbered("x-01"), numbered("x-02")]).await.is_empty());
    assert!(f.ingest(&[long, kernel("k6", "unnamed", "unnamed", "2026-01-13T10:00:00Z")]).await.is_empty());
    let weights = "domains: {teaching: 0.3333}\nprojects: {course: 0.3333}\nusers: [{user: bob, weight: 0.3333}]";
    run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], weights.as_bytes()).ok();
    f.clock.advance_seconds(60);
    f.tick().await;
    for args in [&["rank", GROUP][..], &["rank", GROUP, "--projects"], &["rank", GROUP, "--domains"]] {
        let table = run(&f.db, args).ok();
        assert!(table.contains(&"d".repeat(64)) && !table.contains('\u{2026}'), "{table}");
        for columns in [80, 100] {
            let printed = in_terminal(&f, columns, args);
            let table: String =
                printed.lines().filter(|line| line.starts_with(' ')).flat_map(|line| [line, "\n"]).collect();
            assert!(table.lines().all(|line| line.trim_end().chars().count() <= columns), "{table}");
            assert!(table.lines().count() > 2 && table.contains('\u{2026}'), "{table}");
        }
    }
    let users = in_terminal(&f, 80, &["rank", GROUP]);
    assert!(users.contains(" 0.037026 ") && users.contains("01 ") && users.contains("02 "), "{users}");
    assert!(run(&f.db, ["rank", GROUP, "-o", "json"]).ok().contains(&"a".repeat(200)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_terminal_breaks_a_figure_a_time_or_an_id() {
    let f = two_users(crate::support::database::sqlite().await).await;
    for columns in [60, 80, 120, 240] {
        for args in
            [&["kernels", "list", GROUP][..], &["rank", GROUP], &["jobs", "list"], &["export", "buckets", GROUP]]
        {
            let (whole, printed) = (run(&f.db, args).ok(), in_terminal(&f, columns, args));
            let shown: std::collections::HashSet<&str> = printed.split_whitespace().collect();
            let missing: Vec<&str> = whole.split_whitespace().filter(|word| !shown.contains(word)).collect();
            assert!(missing.is_empty(), "{columns} {args:?}: {missing:?}\n{printed}");
            let lines = || printed.lines().filter(|line| !line.is_empty());
            assert!(lines().all(|line| line.trim_end().chars().count() <= columns), "{columns} {args:?}\n{printed}");
        }
    }
    let records = in_terminal(&f, 60, &["rank", GROUP]);
    let heads = records.lines().filter(|line| line.trim_start().starts_with("RANK ")).count();
    assert_eq!((heads, records.lines().filter(|line| line.trim().is_empty()).count()), (2, 1), "{records}");
    assert_eq!(in_terminal(&f, 240, &["rank", GROUP]).lines().filter(|line| line.contains("RANK")).count(), 1);
}

/// The output of a command in a terminal with this many columns, which `script` provides.
fn in_terminal(f: &Fixture, columns: usize, args: &[&str]) -> String {
    end(terminal(f, columns, args).env("NO_COLOR", "1")).ok()
}

/// The program in a terminal with this many columns, which `script` provides.
fn terminal(f: &Fixture, columns: usize, args: &[&str]) -> std::process::Command {
    let line = format!("stty cols {columns}; {} {}", env!("CARGO_BIN_EXE_fairshared"), args.join(" "));
    let mut command = std::process::Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).stdin(std::process::Stdio::null());
    // A variable for the tests alone, which the program would refuse.
    command.env_remove("FAIRSHARED_TEST_DATA").env("FAIRSHARED_DATABASE_URL", &f.db.url);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn headings_are_bold_for_those_who_like_it() {
    let f = two_users(crate::support::database::sqlite().await).await;
    let shown = |no_color: &str| end(terminal(&f, 120, &["rank", GROUP]).env("NO_COLOR", no_color)).ok();
    assert!(shown("").contains("\u{1b}[1m"));
    let plain = shown("1");
    assert!(plain.contains("RANK") && !plain.contains('\u{1b}'), "{plain:?}");
}

#[test]
fn the_documents_of_the_interfaces() {
    let export = |what: &str| end(super::program::program().args(["export", what])).ok();
    assert_eq!(export("schema").trim_end(), include_str!("../../../schema.graphql").trim_end());
    let document: Value = serde_json::from_str(include_str!("../../../openapi/fairshared.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&export("openapi")).unwrap(), document);
}

#[test]
fn completions_for_each_shell() {
    for (shell, part) in [("bash", "_fairshared()"), ("zsh", "#compdef fairshared"), ("fish", "complete -c fairshared")]
    {
        let script = end(super::program::program().args(["completions", shell])).ok();
        assert!(script.contains(part), "{shell}");
        for command in fairshared::cli::COMMANDS.iter().map(fairshared::cli::CommandEntry::name) {
            assert!(script.contains(&command), "{shell} {command}");
        }
    }
    assert_eq!(end(super::program::program().args(["completions", "tcsh"])).code, Some(2));
}
