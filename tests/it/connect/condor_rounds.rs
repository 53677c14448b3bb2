//! Rounds of the connector for HTCondor, with stand-ins for its programs, a real server and a real database.

use std::collections::BTreeMap;

use fairshared::connectors::htcondor::users::read_users;
use fairshared::connectors::instance_lock::InstanceLock;
use fairshared::connectors::state_file::ConnectorState;
use fairshared::domain::time::MICROS_PER_HOUR;
use serde_json::{Value, json};

use super::condor_stand_ins::{StandInPool, check_outcome, failed_outcome};
use super::slurm_rig::wait_until;
use crate::cli::program::end;

const FACTOR: &str = "mode = \"factor\"";
const ALICE: &str = "group_physics.climate.alice@rig.example";
const BOB: &str = "group_physics.ocean.bob@rig.example";
const CAROL: &str = "group_bio.carol@rig.example";
const ODD: &str = "we ird/\"x.al é@rig.example";
/// The names of three users with usage, on the server and in HTCondor.
const USERS: [(&str, &str); 3] = [("alice", ALICE), ("bob", BOB), ("carol", CAROL)];
/// A server that does not answer.
const NOWHERE: &str = "http://127.0.0.1:9";

fn factors(pool: &StandInPool) -> BTreeMap<String, i64> {
    let users = read_users(&pool.read("users.txt")).unwrap();
    #[expect(clippy::cast_possible_truncation, reason = "factors are small numbers")]
    let rounded = |factor: f64| factor.round() as i64;
    users.into_iter().map(|(name, user)| (name, rounded(user.factor))).collect()
}

/// The names and values of all writes, by name.
fn writes(pool: &StandInPool) -> BTreeMap<String, String> {
    let text = pool.read("writes.txt");
    let write = |line: &str| line.rsplit_once(' ').map(|(name, value)| (name.to_owned(), value.to_owned())).unwrap();
    text.lines().map(write).collect()
}

fn counts<const N: usize>(outcome: &Value, keys: [&str; N]) -> [u64; N] {
    keys.map(|key| outcome[key].as_u64().unwrap_or_else(|| panic!("{key} of {outcome}")))
}

/// A pool whose runs the server knows, with the ranks that follow from them.
fn ranked_pool() -> StandInPool {
    let pool = StandInPool::start();
    // The recorded factor of carol is one that an admin has set.
    pool.replace("users.txt", "2500.499999, 1250.2499995", "1000.0, 500.0");
    pool.round("");
    pool.ask(&["jobs", "run", "aggregate", "--group", "vm.rig.example"]);
    wait_until("usage counts", || ranks(&pool).len() == 3);
    pool
}

/// The ranks of the users with usage.
fn ranks(pool: &StandInPool) -> BTreeMap<String, i64> {
    let listed = pool.ask(&["rank", "vm.rig.example", "-o", "json"]).json();
    let rank = |row: &Value| (row["user_name"].as_str().unwrap().to_owned(), row["rank"].as_i64().unwrap());
    listed["items"].as_array().unwrap().iter().map(rank).collect()
}

/// The users of HTCondor by their ranks.
fn by_rank(pool: &StandInPool) -> [&'static str; 3] {
    let (ranks, mut users) = (ranks(pool), USERS);
    users.sort_by_key(|(user, _)| ranks[*user]);
    users.map(|(_, principal)| principal)
}

#[test]
fn shadow_compares_and_writes_nothing() {
    let pool = StandInPool::start();
    let before = pool.read("users.txt");
    let outcome = pool.round("");
    assert_eq!(outcome["mode"], "shadow");
    let keys = ["jobs", "pending", "eligible", "held", "fixed", "reported", "rejected", "compared", "wanted_writes"];
    assert_eq!(counts(&outcome, keys), [12, 11, 7, 2, 2, 5, 0, 7, 0], "{outcome}");

    let kernels = pool.ask(&["kernels", "list", "vm.rig.example", "-o", "json"]).json();
    let kernels = kernels["items"].as_array().unwrap();
    let running: Vec<&Value> = kernels.iter().filter(|kernel| kernel["terminated_at"].is_null()).collect();
    assert_eq!((kernels.len(), running.len()), (5, 1), "{kernels:#?}");
    assert_eq!(running[0]["occupied_slots"], json!({"cpu": "2", "mem": "134217728"}));
    assert_eq!([&running[0]["agent_id"], &running[0]["domain_name"]], ["vm.rig.example", "group_physics"]);
    let agents = pool.ask(&["agents", "list", "vm.rig.example", "-o", "json"]).json();
    assert_eq!(agents["items"][0]["available_slots"]["cuda.device"], "2", "{agents}");
    let status = pool.ask(&["connectors", "list", "-o", "json"]).json();
    assert_eq!([&status["items"][0]["kind"], &status["items"][0]["cluster"]], ["htcondor", "vm.rig.example"]);

    // The same runs are reported again, and are known.
    pool.round("");
    let again = pool.ask(&["kernels", "list", "vm.rig.example", "-o", "json"]).json();
    assert_eq!(again["items"].as_array().unwrap().len(), 5);
    pool.ask(&["jobs", "run", "aggregate", "--group", "vm.rig.example"]);
    wait_until("usage counts", || ranks(&pool).len() == 3);
    let shadow = end(&mut pool.connector(FACTOR, &["--once", "--shadow", "-o", "json"])).json();
    assert_eq!((&shadow["mode"], &shadow["wanted_writes"]), (&json!("shadow"), &json!(0)));
    assert_eq!((pool.read("users.txt"), pool.read("writes.txt")), (before, String::new()));
}

#[test]
fn factors_follow_the_ranks_and_are_taken_back() {
    let pool = ranked_pool();
    let before = factors(&pool);
    let outcome = pool.round(FACTOR);
    assert_eq!(counts(&outcome, ["written", "left", "read_back_differs", "fixed"]), [2, 0, 0, 1], "{outcome}");
    let (now, users) = (factors(&pool), by_rank(&pool));
    // The lowest factor starts first: the first rank has the default, and the last one 1,000 times that.
    assert_eq!(users.map(|name| now[name]), [1_000, 31_623, 1_000_000], "{now:?}");
    // A user without usage is as good as the first. One of `nice_user` has a factor of its own, and is left alone.
    assert_eq!((now["dave@rig.example"], now["nice-user.dave@rig.example"]), (1_000, 10_000_000_000));
    assert!(!now.contains_key(ODD));

    // Only values that differ are written, and a user with a written factor stays one that the connector orders.
    let again = pool.round(FACTOR);
    assert_eq!(counts(&again, ["wanted_writes", "eligible", "fixed"]), [0, 8, 1], "{again}");
    pool.write("writes.txt", "");
    let reset = end(&mut pool.connector_to(NOWHERE, "max_writes = 1", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["written", "left", "read_back_differs"]), [2, 0, 0], "{reset}");
    let default = |name: &str| (name.to_owned(), "1000".to_owned());
    assert_eq!(writes(&pool), [default(users[1]), default(users[2])].into());
    assert_eq!(factors(&pool), before);
    assert_eq!(ConnectorState::load(&pool.state_dir()).unwrap().written, BTreeMap::new());
    let reset = end(&mut pool.connector("", &["--reset", "-o", "json"])).json();
    assert_eq!(counts(&reset, ["wanted_writes", "written"]), [0, 0]);
}

#[test]
fn a_factor_of_an_admin_is_left_alone() {
    let pool = StandInPool::start();
    pool.round("");
    pool.ask(&["jobs", "run", "aggregate", "--group", "vm.rig.example"]);
    wait_until("usage counts", || ranks(&pool).len() == 3);
    let outcome = pool.round(FACTOR);
    assert_eq!(counts(&outcome, ["fixed", "eligible"]), [2, 7], "{outcome}");
    assert!(!writes(&pool).contains_key(CAROL));
    end(&mut pool.connector("", &["--reset"])).ok();
    assert_eq!(factors(&pool)[CAROL], 2_500);
}

#[test]
fn a_name_with_odd_characters_gets_its_factor() {
    let pool = ranked_pool();
    // The user of the odd name has the usage of bob, so that the last rank is theirs.
    let odd = "we ird/\\\"x.al é";
    let with_group = format!("{odd}\", \"AcctGroup\": \"group_physics.ocean\", \"AcctGroupUser\": \"bob");
    pool.replace("queue.json", odd, &with_group);
    assert_eq!(by_rank(&pool)[2], BOB);
    let outcome = pool.round(FACTOR);
    assert_eq!(counts(&outcome, ["read_back_differs", "rejected"]), [0, 0]);
    assert_eq!((factors(&pool)[ODD], &*writes(&pool)[ODD]), (1_000_000, "1000000"));
    end(&mut pool.connector("", &["--reset"])).ok();
    assert_eq!(factors(&pool)[ODD], 1_000);
}

#[test]
fn writes_are_bounded_and_the_front_comes_first() {
    let pool = ranked_pool();
    let users = by_rank(&pool);
    let keys = format!("{FACTOR}\nmax_writes = 1");
    let outcome = pool.round(&keys);
    assert_eq!(counts(&outcome, ["wanted_writes", "written", "left"]), [2, 1, 1], "{outcome}");
    assert_eq!(writes(&pool).keys().collect::<Vec<_>>(), [users[1]]);
    let outcome = pool.round(&keys);
    assert_eq!(counts(&outcome, ["wanted_writes", "written", "left"]), [1, 1, 0], "{outcome}");
}

#[test]
fn a_lost_right_and_a_value_that_is_not_kept_are_faults() {
    let pool = ranked_pool();
    // This is what HTCondor 23.9.6 says.
    let message = "set priority factor failed: Not an administrator and authorization maps \
                   (NEGOTIATOR_CLASSAD_USER_MAP_NAMES) is not set.\n";
    pool.write("denied", message);
    let (outcome, codes) = pool.failed_round(FACTOR);
    assert_eq!(
        (codes, counts(&outcome, ["wanted_writes", "written"])),
        (vec!["administrator_right".to_owned()], [2, 0])
    );
    std::fs::remove_file(pool.path("denied")).unwrap();
    pool.write("ignores_writes", "");
    let (outcome, codes) = pool.failed_round(FACTOR);
    assert_eq!(
        (codes, counts(&outcome, ["written", "read_back_differs"])),
        (vec!["read_back_differs".to_owned()], [2, 2])
    );
    // The state keeps what may have been written.
    assert_eq!(ConnectorState::load(&pool.state_dir()).unwrap().written.len(), 2);
    std::fs::remove_file(pool.path("ignores_writes")).unwrap();
    assert_eq!(counts(&pool.round(FACTOR), ["written"]), [2]);
    // The negotiator is away.
    pool.write_program(
        "condor_userprio",
        "echo \"condor_userprio: Can't locate negotiator in local pool\" >&2; exit 1",
    );
    let (outcome, codes) = pool.failed_round(FACTOR);
    assert_eq!((codes, &outcome["written"]), (vec!["htcondor_away".to_owned()], &json!(0)));
}

#[test]
fn a_half_answer_writes_nothing() {
    let pool = ranked_pool();
    let queue = pool.read("queue.json");
    for (half, code) in [(&queue[..queue.len() - 2], "half_answer"), (&queue[..queue.len() / 2], "half_answer")] {
        pool.write("queue.json", half);
        let (outcome, codes) = pool.failed_round(FACTOR);
        assert_eq!((&codes[..], &outcome["written"]), (&[code.to_owned(), code.to_owned()][..], &json!(0)));
    }
    pool.write("queue.json", &queue);
    let users = pool.read("users.txt");
    pool.write("users.txt", users.trim_end());
    assert_eq!(pool.failed_round(FACTOR).1, ["half_answer"]);
    pool.write("users.txt", &users);
    std::fs::remove_file(pool.path("condor_history")).unwrap();
    let (outcome, codes) = pool.failed_round("");
    assert_eq!((codes, &outcome["compared"]), (vec!["htcondor".to_owned()], &json!(8)), "{outcome}");
    assert_eq!(pool.read("writes.txt"), "");
}

#[test]
fn a_pool_whose_own_record_of_usage_counts_is_not_written() {
    let pool = ranked_pool();
    pool.replace("negotiator.txt", "1.0e15", "86400.0");
    let (outcome, codes) = pool.failed_round(FACTOR);
    assert_eq!((codes, &outcome["wanted_writes"]), (vec!["half_life".to_owned()], &json!(0)));
    pool.replace("negotiator.txt", "86400.0", "1.0e15");
    let key = format!("\"{ALICE}\", false, 1000.0, 500.0");
    pool.replace("users.txt", &key, &format!("\"{ALICE}\", false, 1000.0, 7000.0"));
    let (outcome, codes) = pool.failed_round(FACTOR);
    assert_eq!(codes, ["real_priority"]);
    let detail = outcome["errors"][0]["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("condor_userprio -setprio {ALICE} 0.5")), "{detail}");
    assert_eq!(pool.read("writes.txt"), "");
}

#[test]
fn reports_wait_while_the_server_is_away() {
    let pool = StandInPool::start();
    let away = || pool.connector_to(NOWHERE, FACTOR, &["--once", "-o", "json"]);
    let (outcome, codes) = failed_outcome(away());
    assert_eq!((codes, counts(&outcome, ["spooled", "reported"])), (vec!["server_away".to_owned()], [5, 0]));
    assert!(pool.read("state/reports.ndjson").lines().count() == 6);
    let outcome = pool.round("");
    assert_eq!(counts(&outcome, ["spooled", "reported"]), [0, 5]);
    assert!(!pool.path("state/reports.ndjson").exists());
}

#[test]
fn factors_fade_if_the_server_stays_away() {
    let pool = ranked_pool();
    pool.round(FACTOR);
    let ordered = factors(&pool);
    let keys = format!("{FACTOR}\nstale_after = \"30m\"");
    let away = || pool.connector_to(NOWHERE, &keys, &["--once", "-o", "json"]);
    failed_outcome(away());
    assert_eq!(factors(&pool), ordered);
    let mut state = ConnectorState::load(&pool.state_dir()).unwrap();
    state.server_answered_at = state.server_answered_at.map(|time| time.plus_micros(-MICROS_PER_HOUR));
    state.save(&pool.state_dir()).unwrap();
    let (outcome, codes) = failed_outcome(away());
    assert_eq!((codes, counts(&outcome, ["written"])), (vec!["server_away".to_owned()], [2]));
    assert!(USERS.iter().all(|(_, name)| factors(&pool)[*name] == 1_000));
}

#[test]
fn a_second_connector_is_kept_away() {
    let pool = StandInPool::start();
    let lock = InstanceLock::take(&pool.state_dir()).unwrap().unwrap();
    for args in [["--once"], ["--reset"]] {
        let refused = end(&mut pool.connector("", &args)).refused(3);
        assert!(refused.starts_with("another connector holds the lock in "), "{refused}");
    }
    drop(lock);
    end(&mut pool.connector("", &["--once"])).ok();
}

/// The report of `--check`, and the names of the checks that failed, with their levels.
fn check(pool: &StandInPool, keys: &str) -> (Value, Vec<String>) {
    check_outcome(pool.connector(keys, &["--check", "-o", "json"]))
}

#[test]
fn checks() {
    let pool = StandInPool::start();
    let (report, failed) = check(&pool, "");
    assert_eq!(failed, ["warning jobs", "warning factors"], "{report:#}");
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| check["name"].as_str().unwrap()).collect();
    let expected = [
        "htcondor",
        "htcondor_version",
        "schedds",
        "jobs",
        "accounting",
        "run_history",
        "half_life",
        "real_priority",
        "factors",
        "administrator_right",
        "preemption",
        "groups",
        "server",
        "key_role",
        "resource_group",
        "clock",
        "lock",
    ];
    assert_eq!(names, expected);
    assert_eq!([&report["cluster"], &report["htcondor_version"]], ["vm.rig.example", "23.9.6"]);
    let group = json!({"project": "group_bio", "domain": "group_bio", "users": 1});
    assert_eq!(report["mapping"]["groups"][0], group);
    assert_eq!(report["mapping"]["resources"], json!({"Cpus": "cpu", "Memory": "mem", "GPUs": "cuda.device"}));
    let table = end(&mut pool.connector("", &["--check"])).ok();
    assert!(table.contains("PROJECT") && table.contains("group_physics.climate"), "{table}");

    pool.write("denied", "");
    pool.write("negotiator.txt", "86400.0\n1000\nRemoteUserPrio > 1\ngroup_bio\n");
    pool.write("negotiators.json", "[\n{\n  \"CondorVersion\": \"$CondorVersion: 8.8.1 2019 $\"\n}\n]\n");
    pool.write("schedd.txt", "Not defined\n");
    pool.write("schedds.json", "[\n{\n  \"Name\": \"a\"\n}\n,\n{\n  \"Name\": \"b\"\n}\n]\n");
    pool.replace("users.txt", "1000.0, 500.0", "1000.0, 20000.0");
    let expected = [
        "warning htcondor_version",
        "warning schedds",
        "warning jobs",
        "warning run_history",
        "error half_life",
        "error real_priority",
        "warning factors",
        "error administrator_right",
        "warning preemption",
        "warning groups",
    ];
    let (report, failed) = check(&pool, "");
    assert_eq!(failed, expected, "{report:#}");
    let fix = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["fix"].as_str().unwrap().to_owned()
    };
    assert_eq!(fix("schedds"), "schedds = [\"a\", \"b\"]");
    assert!(fix("administrator_right").starts_with("NEGOTIATOR.ALLOW_ADMINISTRATOR = $(ALLOW_ADMINISTRATOR), "));
    let (_, failed) = check(&pool, "schedds = [\"a\", \"c\"]\nresource_group = \"nowhere\"");
    assert!(failed.contains(&"error schedds".to_owned()) && failed.contains(&"error resource_group".to_owned()));
}

/// Without an answer of HTCondor the resource group is not known, so that the groups of the key are not held against it.
#[test]
fn a_pool_that_is_away_is_no_fault_of_the_key() {
    let pool = StandInPool::start();
    let group = "vm.rig.example";
    let key = pool.ask(&["keys", "create", "--role", "connector", "--label", "limited", "--group", group]).ok();
    pool.write_program("condor_config_val", "exit 1");
    let mut command = pool.connector("", &["--check", "-o", "json"]);
    command.env("FAIRSHARED_KEY", key.trim_end());
    let (report, failed) = check_outcome(command);
    assert_eq!(failed, ["error htcondor"], "{report:#}");
}
