//! Ten thousand jobs that wait: the writes of a round are bounded, and the head gets its order all the same.

use super::connected_rig::ConnectedRig;
use super::slurm_rig::{USERS, wait_until};
use super::watched_connector::WatchedConnector;

const JOBS: usize = 10_000;
const HEAD: usize = 2_000;
const MAX_WRITES: usize = 500;
/// The processes that submit jobs at the same time.
const SUBMITTERS: usize = 4;
/// A scheduler that looks at the queue seldom, so that it has time for all submissions.
const LINES: &str = "MaxJobCount=20000\nSchedulerParameters=defer,sched_interval=10,bf_interval=60\n";

#[ignore = "long"]
#[test]
fn long_ten_thousand_jobs_get_their_order_by_bounded_writes() {
    let Some(c) = ConnectedRig::start(LINES) else { return };
    let rig = &c.rig;
    for user in ["games", "news"] {
        let running = rig.submit(user, 3_600, &["--ntasks=4"]);
        wait_until("the job runs", || rig.state(running) == "RUNNING");
    }
    std::thread::scope(|scope| {
        for submitter in 0..SUBMITTERS {
            scope.spawn(move || {
                for at in (submitter..JOBS).step_by(SUBMITTERS) {
                    rig.submit(USERS[at / SUBMITTERS % USERS.len()].0, 1, &["--ntasks=8"]);
                }
            });
        }
    });
    wait_until("all jobs are listed", || rig.order().len() == JOBS);
    let shadow = c.round(&format!("head = {HEAD}"), &[]);
    println!("a single round in the mode shadow, with all readings: {} s", shadow["seconds"]);
    assert_eq!(shadow["eligible"], JOBS);

    let keys = format!(
        "mode = \"order\"\nhead = {HEAD}\nmax_writes = {MAX_WRITES}\nwrites_per_second = 10000\npoll = \"5s\"\n\
         metrics_listen = \"127.0.0.1:0\""
    );
    let connector = WatchedConnector::start(&mut c.connector(&keys, &[]), &rig.folder().join("connector.log"));
    let (mut left, mut rounds) = (f64::MAX, 0_u32);
    while left > 0.0 {
        rounds += 1;
        let ended = f64::from(rounds);
        wait_until("a round has ended", || connector.rounds() >= ended);
        let [wanted, seconds] = ["wanted_writes", "last_round_seconds"].map(|name| connector.value(name));
        left = connector.value("left_writes");
        println!("round {rounds}: {seconds:.2} s; {} of {wanted} values written", wanted - left);
        assert!((connector.rounds() - ended).abs() < 0.5, "a round was missed");
        assert!(wanted - left <= MAX_WRITES as f64 && connector.is_ready(), "{}", connector.log());
    }
    println!("most memory of the connector: {} MiB", connector.peak_memory() / 1_024);
    assert!(rounds as usize <= HEAD.div_ceil(MAX_WRITES) + 1, "{rounds} rounds");
    assert_eq!(c.order()[..HEAD], c.sequence()[..HEAD]);

    // A new job of one user moves few others.
    let written = connector.value("writes_total");
    let newest = rig.submit("mail", 1, &["--ntasks=8"]);
    // Among the jobs of its owner it becomes the first one.
    rig.slurm("scontrol", &["update", &format!("job={newest}"), "nice=-100"]);
    wait_until("the new job is listed", || c.order().contains(&newest));
    connector.wait_for_whole_round();
    let written = connector.value("writes_total") - written;
    println!("after a new job at the front of its owner's: {written} values written");
    assert!((1.0..=MAX_WRITES as f64).contains(&written));
    assert_eq!(connector.stop(), Some(0));
    assert_eq!(c.order()[..HEAD], c.sequence()[..HEAD]);
}
