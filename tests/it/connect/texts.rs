//! The readers of the texts of Slurm's programs.

use std::collections::BTreeMap;

use fairshared::cli::connect::run_conversion::convert_runs;
use fairshared::connectors::slurm::account_tree::AccountTree;
use fairshared::connectors::slurm::sacct::{ConversionChoices, check_columns, read_backlog};
use fairshared::connectors::slurm::sacctmgr::{is_operator, read_tree};
use fairshared::connectors::slurm::scontrol::{is_only_gone, read_config, read_nodes, read_partitions};
use fairshared::connectors::slurm::sprio::read_priorities;
use fairshared::connectors::slurm::squeue::{JobStage, read_jobs, read_single_jobs};
use fairshared::connectors::slurm::tres::{SlotMapping, read_amounts};
use fairshared::domain::identity;
use serde_json::{Value, json};

use super::recorded;

#[test]
fn jobs() {
    let jobs = read_jobs(recorded::SQUEUE).unwrap();
    assert_eq!(jobs.len(), 16);
    let find = |id: u64| jobs.iter().find(|job| job.id == id).unwrap();
    let several = find(40);
    assert_eq!(several.partitions, ["high", "main"]);
    assert_eq!((several.stage, several.priority), (JobStage::Pending, 2_500));
    assert_eq!((&*several.user, &*several.account), ("news", "genes"));
    assert_eq!(several.submitted_at.to_string(), "2026-11-29T23:27:22Z");
    assert_eq!(several.tres, "cpu=4,mem=1G,node=1,billing=4");
    assert_eq!((find(42).het_leader, find(43).het_leader, several.het_leader), (Some(42), Some(42), None));
    assert_eq!((find(36).priority, &*find(36).reason), (0, "JobHeldUser"));
    assert_eq!(find(39).reason, "Dependency");
    // The task of an array that was requeued has a record of its own.
    assert_eq!((&*find(31).reason, find(31).array, find(29).array), ("JobArrayTaskLimit", 29, 29));
    assert_eq!(find(28).stage, JobStage::Active);
}

#[test]
fn reasons_with_commas_and_states_that_end() {
    let line = "8|N/A|8|PENDING|ReqNodeNotAvail, UnavailableNodes:n2|mail|ocean|main|1795993825|1|cpu=8|\n\
                9|N/A|9|COMPLETING|None|mail|ocean|main|1795993825|1||\n";
    let jobs = read_jobs(line).unwrap();
    assert_eq!(jobs[0].reason, "ReqNodeNotAvail, UnavailableNodes:n2");
    assert_eq!(jobs[1].stage, JobStage::Ending);
    assert_eq!(read_jobs("").unwrap(), []);
}

#[test]
fn texts_of_another_form_are_refused() {
    let code = |text: &str| read_jobs(text).unwrap_err().code;
    // A newer program with another field, times in words, or a state in place of a number.
    assert_eq!(code("8|N/A|8|PENDING|None|mail|ocean|main|1795993825|1|cpu=8|new|\n"), "unknown_format");
    assert_eq!(code("8|N/A|8|PENDING|None|mail|ocean|main|2026-11-29T23:10:25|1|cpu=8|\n"), "unknown_format");
    assert_eq!(code("8_1|N/A|8|PENDING|None|mail|ocean|main|1795993825|1|cpu=8|\n"), "unknown_format");
    assert_eq!(code("8|N/A|8|PENDING|None||ocean|main|1795993825|1|cpu=8|\n"), "unknown_format");
    assert_eq!(code("error: something\n"), "unknown_format");
    assert_eq!(code(recorded::SQUEUE.trim_end()), "half_answer");
    assert_eq!(code(&recorded::SQUEUE[..recorded::SQUEUE.len() - 20]), "half_answer");
    let error = read_priorities("33|main|1.5|0|0|0|0|0|0|0|0|\n").unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown_format: sprio printed \"33|main|1.5|0|0|0|0|0|0|0|0|\", and field 3 (\"1.5\") is of another kind than expected"
    );
    assert_eq!(read_priorities("33|main|1|0|0|0|0|0|0|0\n").unwrap_err().code, "unknown_format");
}

#[test]
fn single_jobs() {
    let text = "7|N/A|N/A|\n8|0-3|N/A|\n9|2|N/A|\n10|N/A|10|\n11|N/A|0|\n";
    assert_eq!(read_single_jobs(text).unwrap(), [7, 11].into());
}

#[test]
fn messages_about_jobs_that_are_gone() {
    let gone = "7: Job/step already completing or completed\nslurm_update error: Invalid job id specified\n";
    assert!(is_only_gone(gone) && is_only_gone("44_1: No error\n44_2: Job is no longer pending execution\n"));
    // A task of an array has ended, and the others were written.
    assert!(is_only_gone("9_0: Job has already finished\n9_1-2: No error\n"));
    assert!(!is_only_gone(&format!("{gone}slurm_update error: Requested operation is presently disabled\n")));
    assert!(!is_only_gone(""));
}

#[test]
fn priorities() {
    let lines = read_priorities(recorded::SPRIO).unwrap();
    let shown: Vec<_> = lines.iter().map(|line| (line.job, &*line.partition, line.priority, line.site)).collect();
    assert_eq!(
        shown,
        [
            (33, "main", 1, 0),
            (35, "main", 1, 0),
            (37, "main", 777, 0),
            (40, "high", 2_500, 2_500),
            (40, "main", 2_500, 2_500),
            (41, "main", 900, 0),
            (42, "main", 4_000, 4_000),
            (43, "main", 4_000, 4_000),
        ]
    );
    let fixed: Vec<u64> = lines.iter().filter(|line| line.is_fixed).map(|line| line.job).collect();
    assert_eq!(fixed, [37]);
    let with_tres = "5|main|12|-7|0|0|0|0|0|0|0|cpu=0,gres/gpu=12\n6|main|12|0|0|0|0|0|0|0|0|cpu=0,gres/gpu=0\n";
    let lines = read_priorities(with_tres).unwrap();
    assert_eq!((lines[0].site, lines[0].is_fixed, lines[1].is_fixed), (-7, false, true));
}

#[test]
fn a_term_that_sprio_rounds_up_counts_the_same_with_and_without_site() {
    let own = |text: &str| read_priorities(text).unwrap()[0].own;
    // An age of 0.6 is shown as 1. Slurm cuts the sum of the terms to 0, and shows at least 1.
    let (without, with) = ("33|main|1|0|1|0|0|0|0|0|0|\n", "33|main|2000|2000|1|0|0|0|0|0|0|\n");
    assert_eq!([own(without), own(with)], [0, 0]);
    assert_eq!(own("33|main|1|0|2|0|0|0|0|0|0|\n"), 1);
    // Terms of resources and nice count as well.
    assert_eq!(own("33|main|1|0|2|0|0|0|0|0|5|cpu=0,mem=1\n"), -3);
}

#[test]
fn configuration_and_partitions() {
    let config = read_config(recorded::CONFIG).unwrap();
    assert_eq!((&*config.cluster, &*config.version), ("rig", "22.05.8"));
    assert_eq!((&*config.priority_type, config.fairshare_weight), ("priority/multifactor", 0));
    assert_eq!(config.accounting_type, "accounting_storage/slurmdbd");
    let basic =
        "ClusterName = c\nSLURM_VERSION = 24.11.5\nPriorityType = priority/basic\nAccountingStorageType = (null)\n";
    assert_eq!(read_config(basic).unwrap().priority_type, "priority/basic");
    assert_eq!(read_config("ClusterName = c\n").unwrap_err().code, "unknown_format");
    let tiers = read_partitions(recorded::PARTITIONS).unwrap();
    assert_eq!(tiers, BTreeMap::from([("high".to_owned(), 10), ("main".to_owned(), 1)]));
    assert_eq!(read_partitions("PartitionName=a State=UP\n").unwrap_err().code, "unknown_format");
}

#[test]
fn nodes_are_agents() {
    let agents = read_nodes(recorded::NODES, &SlotMapping::default()).unwrap();
    assert_eq!(
        json!(agents[0]),
        json!({
            "agent_id": "n1", "available_slots": {"billing": "4", "cpu": "4", "mem": "4194304000"}, "alive": true,
            "schedulable": true
        })
    );
    let state = |state: &str| {
        let line = format!("NodeName=n State={state} CfgTRES=cpu=1,gres/gpu=2,gres/gpu:a100=2 Reason=State=DOWN\n");
        let agents = read_nodes(&line, &SlotMapping::default()).unwrap();
        assert_eq!(json!(agents[0].available_slots), json!({"cpu": "1", "cuda.device": "2"}));
        (agents[0].alive, agents[0].schedulable)
    };
    assert_eq!(state("MIXED"), (true, true));
    assert_eq!(state("IDLE+PLANNED"), (true, true));
    assert_eq!(state("IDLE+DRAIN"), (true, false));
    assert_eq!(state("DOWN*+NOT_RESPONDING"), (false, true));
    assert_eq!(state("UNKNOWN+NOT_RESPONDING"), (false, true));
    assert_eq!(read_nodes("NodeName=n State=IDLE\n", &SlotMapping::default()).unwrap_err().code, "unknown_format");
}

#[test]
fn amounts() {
    let read = |list: &str| read_amounts(list, &SlotMapping::default()).map(|slots| json!(slots));
    assert_eq!(read("cpu=8,mem=62.50G,node=2").unwrap(), json!({"cpu": "8", "mem": "67108864000"}));
    assert_eq!(read("cpu=1K,gres/nic=3").unwrap(), json!({"cpu": "1024", "gres/nic": "3"}));
    // Memory without a suffix is in MiB.
    assert_eq!(read("mem=100").unwrap(), json!({"mem": "104857600"}));
    assert_eq!(read("").unwrap(), json!({}));
    assert_eq!(read("cpu").unwrap_err(), "\"cpu\" is no amount");
    assert_eq!(read("cpu=four").unwrap_err(), "\"cpu=four\" is no amount");
}

#[test]
fn the_tree_of_accounts() {
    let tree = read_tree(recorded::ASSOCIATIONS).unwrap();
    let mapped: Vec<_> = tree
        .mapped_accounts()
        .into_iter()
        .map(|mapped| (mapped.account, mapped.domain, format!("{:.4}", mapped.part)))
        .collect();
    let expected = [
        ("climate", "physics", "0.6667"),
        ("genes", "bio", "1.0000"),
        ("ocean", "physics", "0.3333"),
        ("root", "root", "1.0000"),
    ];
    assert_eq!(mapped, expected.map(|(account, domain, weight)| (account.into(), domain.into(), weight.to_owned())));
    assert_eq!(tree.domain_of("nothing"), None);
    let deep = "root|||1\nd|root||1\na|d||3\nb|d||1\nx|a||parent\nx||u|1\ny|a||2\ny||v|1\nz|a||2\nz||w|1\n";
    let tree = read_tree(deep).unwrap();
    let weights: BTreeMap<_, _> =
        tree.mapped_accounts().into_iter().map(|mapped| (mapped.account, format!("{:.3}", mapped.part))).collect();
    assert_eq!(json!(weights), json!({"b": "0.250", "x": "0.150", "y": "0.300", "z": "0.300"}));
    assert_eq!(read_tree("root||1\n").unwrap_err().code, "unknown_format");
}

#[test]
fn operators() {
    let text = "alice|None\nconnector|Operator\nroot|Administrator\n";
    let is = |user| is_operator(text, user).unwrap();
    assert_eq!((is("connector"), is("root"), is("alice"), is("zoe")), (true, true, false, false));
}

#[test]
fn the_backlog_of_the_accounting() {
    assert_eq!(read_backlog(recorded::SDIAG).unwrap(), 0);
    assert_eq!(read_backlog("DBD Agent queue size: 12\n").unwrap(), 12);
    assert_eq!(read_backlog("Agent queue size:     0\n").unwrap_err().code, "unknown_format");
}

#[test]
fn runs_are_the_kernels_of_an_import() {
    let tree = read_tree(recorded::ASSOCIATIONS).unwrap();
    let slots = BTreeMap::from([("gres/gpu".to_owned(), "cuda.device".to_owned())]);
    let choices = ConversionChoices { resource_group: "rig", slots: &slots, tree: &tree };
    let runs = convert_runs(recorded::SACCT, &choices).unwrap();
    assert_eq!((runs.unreadable_rows, &*runs.reasons), (0, &[][..]));
    let lines: Vec<Value> = runs.runs.iter().map(|run| serde_json::from_str(&run.line).unwrap()).collect();
    assert_eq!(lines.len(), 12);
    let find = |key: &str| {
        let id = identity::kernel("rig", key).to_string();
        lines.iter().find(|line| line["kernel_id"] == id.as_str()).unwrap_or_else(|| panic!("no kernel {key}"))
    };
    let requeued = find("7@1795993825");
    assert_eq!(
        (&requeued["status"], &requeued["started_at"], &requeued["terminated_at"]),
        (&json!("TERMINATED"), &json!("2026-11-29T23:10:25Z"), &json!("2026-11-29T23:11:33Z"))
    );
    let again = find("7@1795994035");
    assert_eq!((&again["session_id"], &again["domain_name"]), (&requeued["session_id"], &json!("bio")));
    let task = find("30@1795994838");
    assert_eq!(
        (&task["status"], &task["user"], &task["project"]),
        (&json!("RUNNING"), &json!("games"), &json!("climate"))
    );
    assert_eq!(task["occupied_slots"], json!({"billing": "1", "cpu": "1", "mem": "10485760"}));
    assert_eq!((&find("15@1795994335")["charge_class"], &task["agent_id"]), (&json!("fast"), &json!("n2")));
    let spread = convert_runs(&recorded::SACCT.replace("|n2|", "|n[2-3],m1|"), &choices).unwrap();
    let mut rows = spread.runs.iter().map(|run| serde_json::from_str::<Value>(&run.line).unwrap());
    let task = rows.find(|line| line["kernel_id"] == task["kernel_id"]).unwrap();
    assert_eq!(task["agent_id"], json!(["n2", "n3", "m1"]), "a job has all of its nodes");
    assert!(convert_runs(recorded::SACCT.trim_end(), &choices).unwrap_err().contains("broke off"));
    assert!(convert_runs("JobIDRaw|User\n1|a\n", &choices).is_err());
}

#[test]
fn an_answer_without_a_column_is_refused() {
    for answer in [recorded::SACCT, recorded::slurm_24_11::SACCT] {
        assert_eq!(check_columns(answer), Ok(()));
        let fault = check_columns(&answer.replacen("AllocTRES", "AllocatedTRES", 1)).unwrap_err();
        assert!(fault.detail.ends_with("the column AllocTRES that was asked for is missing"), "{fault}");
        assert_eq!(fault.code, "unknown_format");
    }
}

#[test]
fn a_run_without_an_end_and_with_any_state_of_a_job_that_has_not_ended_runs() {
    let tree = AccountTree::default();
    let choices = ConversionChoices { resource_group: "rig", slots: &BTreeMap::new(), tree: &tree };
    let header = recorded::SACCT.lines().next().unwrap();
    let status = |state: &str, end: &str| {
        let row = format!(
            "4|4|rig|news|genes|{state}|main|normal|1795993825|1795993825|{end}|60|00:00:00|cpu=1|1|n1|1|00:10:00"
        );
        let runs = convert_runs(&format!("{header}\n{row}\n"), &choices).unwrap().runs;
        runs.first().map(|run| serde_json::from_str::<Value>(&run.line).unwrap()["status"].as_str().unwrap().to_owned())
    };
    let running =
        ["R", "S", "CG", "RUNNI+", "RUNNING,COMPLETING", "POWER_UP_NODE", "EXPEDITING", "UPDATE_DB", "A_NEW_WORD"];
    for state in running {
        assert_eq!(status(state, "Unknown").as_deref(), Some("RUNNING"), "{state}");
    }
    for state in ["A_NEW_WORD", "REQUEUED", "COMPLETED", "CANCELLED by 1000", "OUT_OF_ME+"] {
        assert_eq!(status(state, "1795993885").as_deref(), Some("TERMINATED"), "{state}");
    }
    assert_eq!(status("COMPLETED", "Unknown").as_deref(), Some("TERMINATED"));
    for state in ["PENDING", "PD", "REQUEUE_HOLD", "PENDING,REQUEUED"] {
        assert_eq!(status(state, "Unknown"), None, "{state}");
    }
}

#[test]
fn an_account_whose_name_the_server_does_not_take_counts_as_the_domain_unknown() {
    let long = "d".repeat(65);
    for top in ["dept/x", &long] {
        let tree = read_tree(&format!("root|||1\n{top}|root||1\ngenes|{top}||1\n")).unwrap();
        let choices = ConversionChoices { resource_group: "rig", slots: &BTreeMap::new(), tree: &tree };
        let runs = convert_runs(recorded::SACCT, &choices).unwrap().runs;
        let lines = runs.iter().map(|run| serde_json::from_str::<Value>(&run.line).unwrap());
        let genes: Vec<Value> = lines.filter(|line| line["project"] == "genes").collect();
        assert!(!genes.is_empty() && genes.iter().all(|line| line["domain_name"] == "unknown"), "{genes:?}");
    }
}

#[test]
fn a_job_that_was_cancelled_before_it_started_is_no_kernel() {
    let tree = AccountTree::default();
    let choices = ConversionChoices { resource_group: "rig", slots: &BTreeMap::new(), tree: &tree };
    let header = recorded::SACCT.lines().next().unwrap();
    let cancelled = "4|4|rig|news|genes|CANCELLED by 0|main|normal|1795993825|None|1795993893|0|00:00:00||1|None assigned|1|00:10:00";
    let runs = convert_runs(&format!("{header}\n{cancelled}\n"), &choices).unwrap();
    assert_eq!((runs.runs.len(), runs.unreadable_rows), (0, 0));
}
