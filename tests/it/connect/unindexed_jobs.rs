//! Jobs that Slurm does not change because slurmdbd has not given them an index, with stand-ins for Slurm's programs.

use std::time::Duration;

use fairshared::connectors::programs::ProgramFamily;
use fairshared::connectors::slurm::scontrol::unindexed_jobs;

use super::recorded;
use super::reset_starts::StandInSlurm;
use super::watched_connector::WatchedConnector;

const REFUSAL: &str = "Job update not available right now, the DB index is being set, try again in a bit for job 7";
/// Takes the values, and refuses that of 7. The other values are those that `sprio` shows afterwards.
const SCONTROL: &str = "case \"$*\" in *partition*) cat partitions.txt ;; *node*) cat nodes.txt ;; *config*) cat config.txt ;;\n\
                        *) cat >> written.txt; cp after.txt sprio.txt";

/// A connector in the mode `order` beside two waiting jobs. `then` is what `scontrol` does after it has taken a value.
fn order_two_jobs(then: &str) -> (StandInSlurm, WatchedConnector) {
    let slurm = StandInSlurm::start();
    slurm.stand_in("scontrol", &format!("{SCONTROL}{then} ;; esac"));
    let job = |id: u64| format!("{id}|N/A|{id}|PENDING|Priority|games|climate|main|1795993825|1|cpu=1|\n");
    slurm.write("squeue.txt", &[7, 8].map(job).concat());
    slurm.write("sprio.txt", "7|main|1|0|0|0|0|0|0|0|0|\n8|main|1|0|0|0|0|0|0|0|0|\n");
    slurm.write("after.txt", "7|main|1|0|0|0|0|0|0|0|0|\n8|main|1001|1001|0|0|0|0|0|0|0|\n");
    slurm.write("runs.txt", recorded::SACCT.split_inclusive('\n').next().unwrap());
    let keys = "mode = \"order\"\npoll = \"1s\"\nmetrics_listen = \"127.0.0.1:0\"";
    let connector = WatchedConnector::start(&mut slurm.connector(keys), &slurm.path("connector.log"));
    (slurm, connector)
}

#[test]
fn a_job_without_an_index_is_left_out_for_some_time() {
    let (slurm, connector) = order_two_jobs(&format!("; echo '{REFUSAL}' >&2; exit 1"));
    connector.wait_for_whole_round();
    connector.wait_for_whole_round();
    let faults = connector.value("round_errors_total{code=\"job_index\"}");
    assert_eq!(
        (faults, connector.value("writes_total"), connector.is_ready()),
        (1.0, 1.0, true),
        "{}",
        connector.log()
    );
    assert!(connector.log().contains("these are tried again later: 7"), "{}", connector.log());
    assert_eq!(connector.stop(), Some(0));
    let written = std::fs::read_to_string(slurm.path("written.txt")).unwrap();
    assert_eq!(written, "update job=7 sitefactor=2001\nupdate job=8 sitefactor=1001\n");
}

#[test]
fn a_job_that_an_admin_has_fixed_at_the_lowest_priority_is_found_by_its_write() {
    let (slurm, connector) = order_two_jobs("");
    for _ in 0..3 {
        connector.wait_for_whole_round();
    }
    assert_eq!(
        ["read_back_differs_total", "writes_total", "jobs{state=\"fixed\"}"]
            .map(|name| connector.value(name).to_string()),
        ["0", "1", "1"],
        "{}",
        connector.log()
    );
    assert!(connector.is_ready());
    assert_eq!(connector.log().matches("an admin has fixed the priority").count(), 1, "{}", connector.log());
    assert_eq!(connector.stop(), Some(0));
    let written = std::fs::read_to_string(slurm.path("written.txt")).unwrap();
    assert_eq!(written, "update job=7 sitefactor=2001\nupdate job=8 sitefactor=1001\n");
}

#[test]
fn refused_jobs_are_found_among_other_messages() {
    let messages = format!("{REFUSAL}\nInvalid job id specified for job 9\n{}\n", REFUSAL.replace("job 7", "job 12"));
    assert_eq!(unindexed_jobs(&messages), ["12", "7"].map(str::to_owned).into());
    assert!(unindexed_jobs("Invalid job id specified for job 9\n").is_empty());
}

#[tokio::test]
async fn the_messages_of_a_program_that_takes_too_long_are_not_lost() {
    let time_limit = Duration::from_millis(200);
    let family = ProgramFamily {
        missing_code: "missing",
        away_code: "away",
        removed_variables: &[],
        set_variables: &[],
        time_limit,
    };
    // The program ends only once it is killed, because the second that is added for each line is no end for it.
    let script = "echo refused >&2; exec sleep 600";
    let output = family.feed("sh", &["-c", script], &["line\n".to_owned()], 1).await.unwrap();
    assert!(output.is_broken_off() && !output.is_success() && output.signal().is_none());
    assert_eq!((&*output.stderr, &*output.message()), ("refused\n", "refused"));
    let fault = family.run("sh", &["-c", script]).await.unwrap_err();
    assert_eq!(fault.to_string(), "away: sh did not end within 0 seconds");
}
