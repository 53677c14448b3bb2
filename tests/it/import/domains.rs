//! Sources without domains: they move no project, and their usage moves with its project once its domain is known.

use fairshared::cli::import::command::{ImportArgs, import_history};
use fairshared::domain::identity;
use fairshared::domain::tier::Tier;
use fairshared::service::Role;
use fairshared::service::people::{KeyUpdate, ProjectChange};
use serde_json::{Value, json};

use super::loading::Desk;
use crate::cli::program::{file, run, run_with_input};
use crate::rest::support::{Server, create_key};
use crate::support::database::sqlite;
use crate::support::fixture::{GROUP, admin, id, with};
use crate::support::on_both;

/// A live report that gives its project by name.
fn live(kernel: &str, project: &str, domain: Option<&str>, started_at: &str) -> Value {
    let mut row = json!({
        "kernel_id": id(kernel), "session_id": id(kernel), "user": "ann", "project": project,
        "occupied_slots": {"cpu": "1"}, "status": "RUNNING", "started_at": started_at,
    });
    if let Some(domain) = domain {
        row["domain_name"] = json!(domain);
    }
    row
}

/// The same kernel, which has ended.
fn ended(row: Value, at: &str) -> Value {
    with(row, &json!({"status": "TERMINATED", "terminated_at": at}))
}

fn domain_of(desk: &Desk, project: &str) -> String {
    let people = desk.fixture.service.people();
    people.project(identity::project(project)).unwrap().domain_name.to_string()
}

/// The domains that have buckets, with core-seconds.
async fn domains(desk: &Desk, group: &str) -> Vec<(String, String)> {
    let seconds = |usage: Value| usage["cpu"].as_str().unwrap_or("0").to_owned();
    let rows = desk.buckets(group, Tier::Domain).await;
    rows.into_iter()
        .map(|row| (row.domain_name.clone(), seconds(serde_json::to_value(&row.resource_usage).unwrap())))
        .collect()
}

/// The answers of all interfaces about a group.
async fn all_of(desk: Desk, group: &str) -> Vec<(String, Value)> {
    let Desk { fixture, .. } = desk;
    let difference = fixture.service.audit_conservation(&admin(), group).await.unwrap();
    assert_eq!(difference.difference, None);
    let key = create_key(&fixture, Role::Admin, None).await;
    let server = Server::over(fixture, key);
    let mut all = Vec::new();
    for path in [
        "usage-buckets/domains",
        "usage-buckets/projects",
        "usage-buckets/users",
        "fair-share-status",
        "fair-share-status/domains",
        "fair-share-status/projects",
        "usage-report?from=2016-12-01&to=2016-12-31&by=domain,project,user,day",
        "usage-report?from=2026-01-20&to=2026-02-10&by=domain,project,user,day",
        "usage-records?from=2026-01-20&to=2026-02-11",
        "kernels",
    ] {
        let items = server.get(&format!("/resource-groups/{group}/{path}")).await["items"].clone();
        assert!(!items.as_array().unwrap().is_empty(), "{path}");
        all.push((path.to_owned(), items));
    }
    all
}

/// Three projects of two users over some days: days within and before the look-back, and a running job.
fn rows() -> String {
    let row = |(job, user, project, start, end, cpu): &(u32, &str, &str, &str, &str, u32)| {
        format!("{job},{user},{project},,east,{start},{end},{cpu},,\n")
    };
    let jobs: [(u32, &str, &str, &str, &str, u32); 9] = [
        (1, "ann", "ocean", "2016-12-30T00:00:00Z", "2016-12-31T01:00:00Z", 4),
        (2, "bob", "sand", "2016-12-30T00:00:00Z", "2016-12-30T01:00:00Z", 2),
        (3, "ann", "ocean", "2026-02-01T22:00:00Z", "2026-02-03T02:00:00Z", 4),
        (4, "bob", "ocean", "2026-02-03T00:00:00Z", "2026-02-03T05:00:00Z", 1),
        (5, "bob", "sand", "2026-02-03T00:00:00Z", "2026-02-05T05:00:00Z", 8),
        (6, "ann", "ice", "2026-01-25T00:00:00Z", "2026-01-25T05:00:00Z", 3),
        (7, "ann", "ice", "2026-02-09T00:00:00Z", "2026-02-09T05:00:00Z", 3),
        (8, "ann", "ocean", "2026-02-10T03:00:00Z", "", 2),
        (9, "bob", "ocean", "2026-02-08T03:00:00Z", "2026-02-08T04:00:00Z", 5),
    ];
    jobs.iter().map(row).collect()
}

const NODES: &str = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\neast,n1,64,,,2016-01-01T00:00:00Z,\n";

on_both! {
    async fn an_import_without_domains_moves_no_project(db: TestDb) {
        let desk = Desk::new(db).await;
        let first = live("k1", "ocean", Some("earth"), "2026-02-10T02:50:00Z");
        assert!(desk.fixture.ingest(std::slice::from_ref(&first)).await.is_empty());
        let job = format!("1,bob,ocean,,{GROUP},2026-02-10T02:55:00Z,2026-02-10T03:00:00Z,1,,\n");
        let report = desk.import(&desk.args(&job)).await;
        assert!(!report.to_string().contains("no domain is known"), "{report}");
        assert_eq!(domain_of(&desk, "ocean"), "earth");
        let refused = desk.fixture.ingest(&[ended(first, "2026-02-10T03:00:00Z")]).await;
        assert!(refused.is_empty(), "{refused:?}");
        desk.fixture.tick().await;
        assert_eq!(domains(&desk, GROUP).await, [("earth".to_owned(), "900".to_owned())]);
        desk.fixture.assert_conserved().await;
        // With an empty batch before it, and after the project was moved: what has ended stays where it was.
        assert!(desk.import(&desk.args(&job)).await.changed_nothing());
    }

    async fn a_live_report_takes_a_project_out_of_the_placeholder(db: TestDb) {
        let desk = Desk::new(db).await;
        let job = format!("1,bob,ocean,,{GROUP},2026-02-10T02:55:00Z,2026-02-10T03:00:00Z,1,,\n");
        let report = desk.import(&desk.args(&job)).await;
        assert_eq!((report.without_domain.clone(), domain_of(&desk, "ocean")), (vec!["ocean".to_owned()], "unknown".to_owned()));
        // It started earlier, and still it is the first that names a domain.
        let row = ended(live("k1", "ocean", Some("earth"), "2026-02-10T02:50:00Z"), "2026-02-10T03:00:00Z");
        assert!(desk.fixture.ingest(&[row]).await.is_empty());
        assert_eq!(domain_of(&desk, "ocean"), "earth");
        desk.fixture.tick().await;
        assert_eq!(domains(&desk, GROUP).await, [("earth".to_owned(), "900".to_owned())]);
        let group = desk.fixture.service.group(&admin(), GROUP).unwrap();
        let shown: Vec<String> = group.whole().unwrap().rows.domains.iter().map(|row| row.domain_name.to_string()).collect();
        assert_eq!(shown, ["earth"]);
        desk.fixture.assert_conserved().await;
    }

    async fn reports_in_any_order_end_in_one_domain(db: TestDb) {
        let desk = Desk::new(db).await;
        for (at, order) in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]].iter().enumerate() {
            let project = format!("p{at}");
            let moving = |name: &str, domain: &str, start: &str| {
                let mut row = live(&format!("{name}{at}"), &project, Some(domain), start);
                row.as_object_mut().unwrap().remove("project");
                row["project_id"] = json!(identity::project(&project));
                row
            };
            let reports = [
                live(&format!("none{at}"), &project, None, "2026-02-10T02:55:00Z"),
                moving("newer", "earth", "2026-02-10T02:50:00Z"),
                moving("older", "mars", "2026-02-10T02:45:00Z"),
            ];
            for report in order {
                assert!(desk.fixture.ingest(&[reports[*report].clone()]).await.is_empty());
            }
            assert_eq!(domain_of(&desk, &project), "earth", "{order:?}");
        }
        // In one batch, too.
        let batch = [live("x", "one", None, "2026-02-10T02:55:00Z"), live("y", "one", Some("earth"), "2026-02-10T02:50:00Z")];
        assert!(desk.fixture.ingest(&batch).await.is_empty());
        desk.fixture.tick().await;
        assert_eq!(domain_of(&desk, "one"), "earth");
        assert!(domains(&desk, GROUP).await.iter().all(|(domain, _)| domain != "unknown"));
        desk.fixture.assert_conserved().await;
    }

    async fn a_project_that_an_admin_has_put_somewhere_stays(db: TestDb) {
        let server = Server::new(db).await;
        let path = "/projects/ocean";
        server.call("PUT", path, Some(&json!({"domain_name": "earth"}))).await.json(201);
        let post = format!("/resource-groups/{GROUP}/kernels");
        let answer = server.call("POST", &post, Some(&live("k1", "ocean", None, "2026-01-13T02:50:00Z"))).await.json(200);
        assert_eq!((&answer["accepted"], answer.get("warnings")), (&json!(1), None));
        let answer = server.call("POST", &post, Some(&live("k2", "ocean", Some("mars"), "2026-01-13T02:50:00Z"))).await.json(200);
        assert_eq!((&answer["accepted"], &answer["warnings"][0]["code"]), (&json!(1), &json!("domain_pinned")));
        assert_eq!(server.get(path).await["domain_name"], "earth");
        let kernel = server.get(&format!("{post}/{}", id("k1"))).await;
        assert_eq!(kernel["domain_name"], "earth");
    }

    async fn importing_again_with_a_map_is_as_if_the_first_import_had_it(db: TestDb) {
        let whole = "ocean,earth\nsand,earth\nice,poles\n";
        for (days, map) in [(1, whole), (1, "ocean,earth\nsand,earth\n"), (3, whole)] {
            let (again, fresh) = (Desk::new(db.copy().await).await, Desk::new(db.copy().await).await);
            for desk in [&again, &fresh] {
                desk.fixture.group("east", &json!({"decay_unit_days": days})).await;
            }
            let args = |desk: &Desk, with_map: bool| ImportArgs {
                capacities: Some(desk.file("nodes.csv", NODES)),
                domain_map: with_map.then(|| desk.file("map.csv", map)),
                ..desk.args(&rows())
            };
            let first = again.import(&args(&again, false)).await;
            assert_eq!(first.without_domain, ["ice", "ocean", "sand"]);
            again.fixture.service.aggregate("east").await.unwrap();
            let second = again.import(&args(&again, true)).await;
            assert_eq!((second.changed > 0, second.refused_rows()), (true, 0), "{second}");
            assert_eq!(second.placed_projects, if map == whole { 3 } else { 2 }, "{second}");
            assert_eq!(second.without_domain.is_empty(), map == whole, "{second}");
            assert!(again.import(&args(&again, true)).await.changed_nothing());
            fresh.import(&args(&fresh, true)).await;
            for (is, should) in all_of(again, "east").await.iter().zip(all_of(fresh, "east").await) {
                assert_eq!(*is, should, "buckets of {days} days, {map:?}");
            }
        }
    }

    async fn what_a_map_does_not_move_is_said(db: TestDb) {
        let desk = Desk::new(db).await;
        let job = "1,bob,ocean,,east,2026-02-09T02:00:00Z,2026-02-09T03:00:00Z,1,,\n";
        let import = async |map: &str| {
            desk.import(&ImportArgs { domain_map: Some(desk.file("map.csv", map)), ..desk.args(job) }).await.warnings()
        };
        assert!(!import("ocean,sea\n").await.iter().any(|warning| warning.starts_with("project")));
        let told = import("ocean,earth\n").await;
        let recorded = "project ocean: the kernels had ended, and what they used stays in the domain for which it was \
                        recorded (1 row)";
        assert!(told.iter().any(|warning| warning == recorded), "{told:?}");
        let change = ProjectChange { domain_name: KeyUpdate::To("sea".to_owned()), ..ProjectChange::default() };
        desk.fixture.service.put_project(admin(), identity::project("ocean"), change).await.unwrap();
        let told = import("ocean,mars\n").await;
        let pinned = "project ocean: an admin has put the project into the domain \"sea\": reports for \"mars\" count \
                      there (1 row)";
        assert!(told.iter().any(|warning| warning == pinned), "{told:?}");
    }

    async fn a_corrected_map_makes_no_empty_domain_and_says_what_moves_the_project(db: TestDb) {
        let desk = Desk::new(db).await;
        let job = "1,bob,lake,,east,2026-02-09T02:00:00Z,2026-02-09T03:00:00Z,1,,\n\
                   2,bob,lake,,east,2016-12-30T02:00:00Z,2016-12-30T03:00:00Z,1,,\n";
        let args = |map: &str| ImportArgs { domain_map: Some(desk.file("map.csv", map)), ..desk.args(job) };
        desk.import(&args("lake,water\n")).await;
        // The names come before and after the first one in the alphabet.
        for domain in ["river", "zone"] {
            let report = desk.import(&args(&format!("lake,{domain}\nocean,{domain}\n"))).await;
            let warnings = report.warnings();
            let moves = format!(
                "the map says {domain}, the project lake is in water: `fairshared projects set lake --domain {domain}` moves it"
            );
            assert!(warnings.contains(&moves), "{warnings:?}");
            assert!(warnings.contains(&"the map has 1 project that no row of the file has: ocean".to_owned()), "{warnings:?}");
            assert_eq!(report.to_json()["map_mismatches"]["misplaced"][0]["domain_name"], "water");
            assert_eq!(domain_of(&desk, "lake"), "water");
            assert!(desk.fixture.service.people().domain(domain).is_none(), "{domain}");
            let group = desk.fixture.service.group(&admin(), "east").unwrap();
            let shown: Vec<String> = group.whole().unwrap().rows.domains.iter().map(|row| row.domain_name.to_string()).collect();
            assert_eq!(shown, ["water"]);
        }
        // A history says the same.
        let history = ImportArgs { history: true, source: Some("old".to_owned()), ..args("lake,river\n") };
        let report = import_history(&history, &desk.fixture.client(), &*desk.fixture.clock).await.unwrap();
        assert!(report.warnings()[0].starts_with("the map says river, the project lake is in water: "), "{report}");
        assert!(desk.fixture.service.people().domain("river").is_none());
        // Once it is moved, nothing is left to say.
        let change = ProjectChange { domain_name: KeyUpdate::To("river".to_owned()), ..ProjectChange::default() };
        desk.fixture.service.put_project(admin(), identity::project("lake"), change).await.unwrap();
        let warnings = desk.import(&args("lake,river\n")).await.warnings();
        assert!(!warnings.iter().any(|warning| warning.starts_with("the map")), "{warnings:?}");
    }

    async fn a_map_moves_what_was_purged(db: TestDb) {
        let desk = Desk::new(db).await;
        let job = "1,bob,ocean,,east,2025-11-10T02:00:00Z,2025-11-10T03:00:00Z,1,,\n";
        desk.import(&desk.args(job)).await;
        desk.fixture.service.purge("east", 1_100).await.unwrap();
        assert_eq!(desk.fixture.service.purge_kernels("east", 0).await.unwrap(), 1);
        let map = ImportArgs { domain_map: Some(desk.file("map.csv", "ocean,earth\n")), ..desk.args(job) };
        let report = desk.import(&map).await;
        assert!(!report.changed_nothing(), "{report}");
        assert_eq!((report.refused_rows(), report.without_domain.len()), (0, 0), "{report}");
        assert_eq!(domains(&desk, "east").await, [("earth".to_owned(), "3600".to_owned())]);
        let audit = desk.fixture.service.audit_conservation(&admin(), "east").await.unwrap();
        assert_eq!(audit.difference, None);
        // The project is not pinned: a report may move it.
        assert!(!desk.fixture.service.people().project(identity::project("ocean")).unwrap().domain_pinned);
    }
}

#[tokio::test]
async fn the_program_says_how_to_make_a_map_and_takes_rows_without_a_domain() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let head = "job_id,user,project,resource_group,start_time,end_time,cpu\n";
    let jobs = file(
        folder.path(),
        "jobs.csv",
        head.to_owned() + "1,ann,ml,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4\n",
    );
    let told = run(&db, ["import", "csv", &jobs]).stderr;
    let warning = "warning: no domain is known of 1 project (ml); what they used counts in \"unknown\". Write a line \
                   PROJECT,DOMAIN for each into domains.csv and import again with --domain-map domains.csv, which moves it; \
                   `fairshared projects list --domain unknown -o csv` lists them\n";
    assert!(told.contains(warning), "{told}");
    let list = run(&db, ["projects", "list", "--domain", "unknown", "-o", "csv"]).ok();
    assert!(list.lines().nth(1).is_some_and(|line| line.starts_with("ml,")), "{list}");
    let map = file(folder.path(), "domains.csv", "ml,research\n");
    let told = run(&db, ["import", "csv", &jobs, "--domain-map", &map]).ok();
    assert!(told.contains("1 kernel new or changed") && !told.contains("no domain is known"), "{told}");
    let buckets = run(&db, ["export", "buckets", "east", "--tier", "domains"]);
    assert!(!buckets.stdout.contains("unknown"), "{buckets:?}");
    let row = live("k1", "ml", None, "2026-02-10T02:50:00Z").to_string() + "\n";
    let posted = run_with_input(&db, &["kernels", "post", "east", "-"], row.as_bytes());
    assert_eq!((posted.code, posted.stderr.as_str()), (Some(0), "1 kernel accepted, 1 new or changed; 0 rejected\n"));
    let kernels = run(&db, ["kernels", "list", "east", "--status", "RUNNING", "-o", "json"]).json();
    assert_eq!(kernels["items"][0]["domain_name"], "research");
}
