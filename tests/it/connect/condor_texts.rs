//! The readers of what HTCondor's programs print, the runs of jobs, and the factors.

use std::collections::BTreeMap;

use fairshared::connectors::agent_memory::AgentMemory;
use fairshared::connectors::htcondor::class_ads::{ClassAd, read_ads};
use fairshared::connectors::htcondor::factor_values::rank_factor;
use fairshared::connectors::htcondor::jobs::{CondorJob, CondorStage};
use fairshared::connectors::htcondor::machines::{MAX_MISSING_MICROS, read_machines};
use fairshared::connectors::htcondor::pool::read_negotiator_settings;
use fairshared::connectors::htcondor::queue::join_readings;
use fairshared::connectors::htcondor::resources::ResourceMapping;
use fairshared::connectors::htcondor::runs::RunCollection;
use fairshared::connectors::htcondor::users::read_users;
use fairshared::connectors::scheduler::QueueReading;
use fairshared::connectors::scheduler_run::SchedulerRun;
use fairshared::domain::time::{MICROS_PER_MINUTE, Timestamp};

use super::recorded::htcondor as recorded;

fn mapping() -> ResourceMapping {
    ResourceMapping::new(BTreeMap::from([("GPUs".to_owned(), "cuda.device".to_owned())]))
}

fn ads(text: &str) -> Vec<ClassAd> {
    read_ads("condor_q", text).unwrap()
}

fn read_jobs(text: &str) -> Vec<CondorJob> {
    ads(text).iter().map(|ad| CondorJob::read(ad, &mapping()).unwrap()).collect()
}

fn find<'j>(jobs: &'j [CondorJob], cluster: &str) -> &'j CondorJob {
    jobs.iter().find(|job| job.id.starts_with(&format!("vm.rig.example#{cluster}#"))).unwrap()
}

#[test]
fn jobs() {
    let jobs = read_jobs(recorded::QUEUE);
    assert_eq!(jobs.len(), 12);
    let (running, waiting) = (find(&jobs, "5.0"), find(&jobs, "14.0"));
    assert_eq!((running.stage, &*running.principal), (CondorStage::Active, "group_physics.ocean.bob@rig.example"));
    let owner = &running.owner;
    assert_eq!((&*owner.user, &*owner.project, &*owner.domain), ("bob", "group_physics.ocean", "group_physics"));
    assert_eq!(
        (waiting.stage, waiting.submitted_at.to_string()),
        (CondorStage::Idle, "2026-11-30T06:15:26Z".to_owned())
    );
    let asked = [("cpu", "8"), ("cuda.device", "1"), ("mem", "104857600")];
    assert_eq!(waiting.requested_slots, asked.map(|(slot, amount)| (slot.to_owned(), amount.to_owned())).into());
    assert_eq!((find(&jobs, "17.0").stage, find(&jobs, "12.0").priority), (CondorStage::Held, 5));
    // A job without a group has an unknown project, also one with `nice_user`, which HTCondor puts into a group.
    for (cluster, principal) in [("15.0", "dave@rig.example"), ("16.0", "nice-user.dave@rig.example")] {
        let job = find(&jobs, cluster);
        assert_eq!(&*job.principal, principal);
        assert_eq!((&*job.owner.user, &*job.owner.project, &*job.owner.domain), ("dave", "unknown", "unknown"));
    }
    // Jobs of the universes scheduler and local use no slots.
    let beside = read_jobs(recorded::BESIDE_SCHEDD);
    assert_eq!(beside.iter().map(|job| job.uses_slots).collect::<Vec<_>>(), [false, false]);
}

#[test]
fn odd_names_are_kept_for_htcondor() {
    let jobs = read_jobs(recorded::QUEUE);
    let odd = find(&jobs, "18.0");
    assert_eq!(odd.principal, "we ird/\"x.al é@rig.example");
    // The domain may have no slash.
    assert_eq!((&*odd.owner.user, &*odd.owner.project, &*odd.owner.domain), ("al é", "we ird/\"x", "unknown"));
    assert!(!odd.has_usable_names && find(&jobs, "5.0").has_usable_names);
    let users = read_users("\"we ird/\\\"x.al é@rig.example\", false, 1700.0, 850.0\n").unwrap();
    assert!(users[&odd.principal].has_factor(1_700));
    // A name that the server does not take counts as unknown.
    let renamed = recorded::QUEUE.replace("al é", " al");
    let jobs = read_jobs(&renamed);
    assert_eq!(
        (&*find(&jobs, "18.0").owner.user, &*find(&jobs, "18.0").principal),
        ("unknown", "we ird/\"x. al@rig.example")
    );
}

#[test]
fn half_and_unknown_texts_are_refused() {
    let code = |text: &str| read_ads("condor_q", text).unwrap_err().code;
    assert_eq!(code(&recorded::QUEUE[..recorded::QUEUE.len() - 2]), "half_answer");
    assert_eq!(code(&recorded::QUEUE[..700]), "half_answer");
    assert_eq!(code("Error: something\n"), "unknown_format");
    assert_eq!(code("{}\n"), "unknown_format");
    // HTCondor prints nothing where nothing is found, and the history a list without an ad.
    assert_eq!((ads(""), ads("[\n]\n")), (Vec::new(), Vec::new()));
    for (from, to, said) in [
        ("\"JobStatus\": 5", "\"JobStatus\": 8", "the JobStatus 8 of vm.rig.example#6.0#1796019291"),
        ("\"QDate\": 1796019326", "\"QDate\": \"today\"", "of vm.rig.example#11.0#1796019326 without a usable QDate"),
        ("\"Owner\": \"bob\"", "\"Owner\": 7", "of vm.rig.example#5.0#1796019291 without a usable Owner"),
    ] {
        let changed = ads(&recorded::QUEUE.replacen(from, to, 1));
        let read: Result<Vec<CondorJob>, _> = changed.iter().map(|ad| CondorJob::read(ad, &mapping())).collect();
        let fault = read.unwrap_err();
        assert_eq!(fault.code, "unknown_format");
        assert!(fault.detail.contains(said), "{fault}");
    }
    for text in
        ["alice, false, 1, 2\n", "\"alice\", false, 1\n", "\"alice\", no, 1, 2\n", "\"alice\", false, undefined, 2\n"]
    {
        assert_eq!(read_users(text).unwrap_err().code, "unknown_format");
    }
    assert_eq!(read_negotiator_settings("1.0e15\n1000\nFalse\n").unwrap_err().code, "unknown_format");
    assert_eq!(read_negotiator_settings("Not defined\n1000\nFalse\nNot defined\n").unwrap_err().code, "unknown_format");
}

#[test]
fn users_and_settings() {
    let users = read_users(recorded::USERS).unwrap();
    assert_eq!(users.len(), 5, "the group <none> is no user");
    let carol = users["group_bio.carol@rig.example"];
    assert_eq!((carol.has_factor(2500), carol.has_factor(2502), carol.real_priority()), (true, false, 0.5));
    // HTCondor keeps seven digits.
    let kept = read_users("\"a@b\", false, 1234566.999598, 617283.499799\n").unwrap();
    assert!(kept["a@b"].has_factor(1_234_567));
    let settings = read_negotiator_settings(recorded::NEGOTIATOR).unwrap();
    assert_eq!((settings.half_life, settings.default_factor), (1e15, 1_000));
    assert_eq!((&*settings.preemption_requirements, settings.group_names), ("False", None));
    let with_groups = read_negotiator_settings("86400.0\n1000.0\nTrue\ngroup_bio, group_physics\n").unwrap();
    assert_eq!(with_groups.group_names.as_deref(), Some("group_bio, group_physics"));
}

#[test]
fn the_order_of_htcondor() {
    let (jobs, users) = (read_jobs(recorded::QUEUE), read_users(recorded::USERS).unwrap());
    let read = |written: &[(&str, i64)]| {
        let written = written.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        join_readings(&jobs, users.clone(), 1_000, &written)
    };
    let queue = read(&[]);
    let counts = queue.counts();
    // The factors of carol and of nice-user are no default and were not written by the connector.
    assert_eq!([counts.jobs, counts.pending, counts.eligible, counts.held, counts.fixed], [12, 11, 7, 2, 2]);
    let ids = |queue: &dyn Fn() -> Vec<String>| queue().join(" ");
    let order = || -> Vec<String> {
        let number = |id: &str| id.split('#').nth(1).unwrap().to_owned();
        queue.eligible().iter().map(|workload| number(&workload.workload_id)).collect()
    };
    // By priority and name of the user, and then as the schedd offers the jobs: 12.0 has the priority 5.
    assert_eq!(ids(&order), "15.0 12.0 11.0 11.1 11.2 13.0 18.0");
    let times: Vec<i64> =
        queue.eligible()[2..5].iter().map(|workload| workload.submitted_at.micros() % 1_000_000).collect();
    assert_eq!(times, [1, 2, 3], "jobs of one second keep their order");
    let written = read(&[("group_bio.carol@rig.example", 2_500)]);
    assert_eq!((written.counts().eligible, written.counts().fixed), (8, 1));
    assert_eq!(written.eligible().last().unwrap().user, "carol");
}

#[test]
fn factors_grow_with_the_rank() {
    let factor = |rank, worst| rank_factor(rank, worst, 1_000, 1_000);
    assert_eq!([factor(Some(1), 3), factor(Some(2), 3), factor(Some(3), 3)], [1_000, 31_623, 1_000_000]);
    assert_eq!((factor(None, 3), factor(Some(1), 1), factor(None, 0)), (1_000, 1_000, 1_000));
    let all: Vec<i64> = (1..=30).map(|rank| factor(Some(rank), 30)).collect();
    assert!(all.is_sorted_by(|one, other| one < other), "{all:?}");
    // A place among thousands writes nothing.
    assert_eq!(factor(Some(5_000), 10_000), factor(Some(5_001), 10_000));
    assert_eq!(rank_factor(Some(2), 2, 100, 7), 700);
}

fn runs(queue: &str, history: &str, epochs: &str) -> Vec<SchedulerRun> {
    let mut collection = RunCollection::default();
    for ad in ads(queue).iter().chain(&ads(history)) {
        collection.add_job(ad, &mapping()).unwrap();
    }
    for ad in &ads(epochs) {
        collection.add_epoch(ad, &mapping()).unwrap();
    }
    collection.since(Timestamp::EPOCH).collect()
}

/// The job, the seconds from its start in the recording, and how long it ran.
fn brief(runs: &[SchedulerRun]) -> Vec<(String, i64, Option<i64>)> {
    let brief = |run: &SchedulerRun| {
        let seconds = |time: Timestamp| time.micros() / 1_000_000;
        let start = seconds(run.started_at);
        (
            run.job.split('#').nth(1).unwrap().to_owned(),
            start - 1_796_019_291,
            run.ended_at.map(|end| seconds(end) - start),
        )
    };
    runs.iter().map(brief).collect()
}

#[test]
fn each_run_is_known_once() {
    let all = runs(recorded::QUEUE, recorded::HISTORY, recorded::EPOCHS);
    let expected: Vec<(String, i64, Option<i64>)> = [
        ("10.0", 33, Some(67)),
        ("4.0", 3, Some(15)),
        // It was evicted after 75 seconds, and runs again.
        ("5.0", 13, Some(75)),
        ("5.0", 93, None),
        // It was held while it ran.
        ("6.0", 8, Some(5)),
    ]
    .map(|(job, start, length)| (job.to_owned(), start, length))
    .into();
    assert_eq!(brief(&all), expected);
    // Without the records of runs, the ads of the jobs have the same runs.
    assert_eq!(brief(&runs(recorded::QUEUE, recorded::HISTORY, "")), expected);
    // The records alone have all runs that have ended.
    let ended: Vec<_> = expected.iter().filter(|(_, _, length)| length.is_some()).cloned().collect();
    assert_eq!(brief(&runs("", "", recorded::EPOCHS)), ended);
    let gpu = all.iter().find(|run| run.job.contains("#6.0#")).unwrap();
    let held: Vec<(&str, String)> = gpu.slots.iter().map(|(slot, amount)| (&**slot, amount.to_string())).collect();
    assert_eq!(held, [("cpu", "1".to_owned()), ("cuda.device", "1".to_owned()), ("mem", "134217728".to_owned())]);
    assert_eq!((gpu.machine.as_deref(), &*gpu.owner.project), (Some("vm.rig.example"), "group_bio"));
    // A job that is being removed holds its slot until its shadow has gone.
    let removed = recorded::QUEUE.replacen("\"JobStatus\": 2", "\"JobStatus\": 3", 1);
    assert_eq!(brief(&runs(&removed, "", ""))[1], ("5.0".to_owned(), 93, None));
}

#[test]
fn a_job_without_an_end_is_named() {
    let text = recorded::HISTORY.replacen("\"LastRemoteWallClockTime\"", "\"Other\"", 1);
    assert_eq!(
        brief(&runs("", &text, ""))[0],
        ("10.0".to_owned(), 33, Some(67)),
        "the time of its last change is known"
    );
    let text = text.replacen("\"EnteredCurrentStatus\"", "\"Another\"", 1);
    let fault = RunCollection::default().add_job(&ads(&text)[0], &mapping()).unwrap_err();
    assert_eq!(fault.code, "unreadable_row");
    // Each host of a parallel job holds the same.
    let parallel = recorded::EPOCHS.replacen("\"MaxHosts\": 1", "\"MaxHosts\": 3", 1);
    let run = &runs("", "", &parallel)[0];
    let cpus = run.slots["cpu"].to_string();
    assert_eq!((&*cpus, run.machine.as_deref()), ("12", None));
}

#[test]
fn machines() {
    let read = |text: &str| read_machines(&ads(text), &mapping()).unwrap();
    let agents = read(recorded::MACHINES);
    let [machine] = &agents[..] else { panic!("{agents:?}") };
    assert_eq!((&*machine.agent_id, machine.alive, machine.schedulable), ("vm.rig.example", true, true));
    let slots = [("cpu", "8"), ("cuda.device", "2"), ("mem", "8388608000")];
    assert_eq!(machine.available_slots, slots.map(|(slot, amount)| (slot.to_owned(), amount.to_owned())).into());
    let drained = read(&recorded::MACHINES.replace("Unclaimed", "Drained"));
    assert_eq!((drained[0].alive, drained[0].schedulable), (true, false));

    let (mut memory, now) = (AgentMemory::default(), Timestamp::from_seconds(1_796_019_982));
    let note = |memory: &mut AgentMemory, agents, now| memory.note(agents, MAX_MISSING_MICROS, now);
    let later = |minutes: i64| now.plus_micros(minutes * MICROS_PER_MINUTE);
    assert_eq!(note(&mut memory, agents.clone(), now), agents);
    // A collector that was started again knows no machine for some minutes.
    assert_eq!(note(&mut memory, Vec::new(), later(10)), []);
    let gone = note(&mut memory, Vec::new(), later(16));
    assert_eq!((gone.len(), gone[0].alive, &gone[0].available_slots), (1, false, &machine.available_slots));
    let folder = tempfile::tempdir().unwrap();
    memory.save(folder.path()).unwrap();
    let mut memory = AgentMemory::load(folder.path()).unwrap();
    assert_eq!(note(&mut memory, agents.clone(), later(20)), agents);
    assert_eq!(note(&mut memory, Vec::new(), later(20 + 3 * 24 * 60)).len(), 1);
    assert_eq!(note(&mut memory, Vec::new(), later(20 + 3 * 24 * 60)), [], "it is forgotten after it was reported");
}
