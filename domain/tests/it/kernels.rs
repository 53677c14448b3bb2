//! Reports of kernels, in any order and any number of times.

use domain::changes::SuspensionChanges;
use domain::ids::{KernelId, KernelKey, SessionId};
use domain::kernel::{
    Kernel, KernelAdvance, KernelPhase, KernelReport, KernelTraits, OpenKernel, ReportConflict, SharedKernelValues,
};
use domain::kernel_agents::KernelAgents;
use domain::names::check_name;
use domain::slots::{SlotAmounts, SlotName, SlotUsages};
use domain::time::Timestamp;
use proptest::prelude::*;
use uuid::Uuid;

use crate::support::{amounts, cases, clock, member, slot, usages};

pub(crate) fn report(
    phase: KernelPhase,
    started_at: Option<Timestamp>,
    terminated_at: Option<Timestamp>,
) -> KernelReport {
    KernelReport {
        id: KernelId(Uuid::from_u128(1)),
        session: SessionId(Uuid::from_u128(2)),
        owner: member(1, 1),
        domain: "research".to_owned(),
        slots: amounts(&[("cpu", "2")]),
        phase,
        started_at,
        terminated_at,
        changes: SuspensionChanges::default(),
        expected_seconds: None,
        charge_class: None,
        submitted_at: None,
        rules: None,
        traits: KernelTraits::default(),
    }
}

fn fold<'a>(reports: impl IntoIterator<Item = &'a KernelReport>) -> Result<Option<Kernel>, ReportConflict> {
    reports.into_iter().try_fold(None, |known, report| Kernel::merge(known, report.clone()).map(Some))
}

#[test]
fn a_late_earlier_report_only_fills_what_is_missing() {
    let ended = report(KernelPhase::Terminated, None, Some(clock("10:23")));
    let mut running = report(KernelPhase::Running, Some(clock("10:00")), None);
    running.slots = amounts(&[("cpu", "9")]);
    let kernel = Kernel::merge(None, ended.clone()).expect("a kernel");
    assert!(kernel.settled, "as far as is known it never ran");
    let kernel = Kernel::merge(Some(kernel), running).expect("a kernel");
    assert!(!kernel.settled, "now there is something to record");
    assert_eq!(*kernel.report, KernelReport { started_at: Some(clock("10:00")), ..ended });
}

#[test]
fn a_charge_class_stays_until_a_report_changes_it_or_takes_it_back() {
    let of = |class: Option<&str>| KernelReport {
        charge_class: class.map(str::to_owned),
        ..report(KernelPhase::Running, Some(clock("10:00")), None)
    };
    let classes = |given: &[Option<&str>]| {
        let reports: Vec<KernelReport> = given.iter().map(|class| of(*class)).collect();
        fold(&reports).expect("no conflict").expect("a kernel").report.charge_class
    };
    assert_eq!(classes(&[None]), None);
    assert_eq!(classes(&[Some("")]), None);
    assert_eq!(classes(&[Some("high"), None]).as_deref(), Some("high"));
    assert_eq!(classes(&[Some("high"), Some("low")]).as_deref(), Some("low"));
    assert_eq!(classes(&[Some("high"), Some(""), None]), None);
    // A report of an earlier phase that arrives late only fills in what is missing.
    let pending = KernelReport { phase: KernelPhase::Pending, started_at: None, ..of(Some("low")) };
    let merged = |first: Option<&str>| fold(&[of(first), pending.clone()]).expect("no conflict").expect("a kernel");
    assert_eq!(merged(Some("high")).report.charge_class.as_deref(), Some("high"));
    assert_eq!(merged(None).report.charge_class.as_deref(), Some("low"));
}

#[test]
fn reports_that_contradict_recorded_facts_are_refused() {
    let known = Kernel {
        key: None,
        report: report(KernelPhase::Running, Some(clock("10:00")), None).into(),
        cursor: Some(clock("10:05")),
        settled: false,
        end_inferred: false,
        applied: None,
        seen_at: None,
        reported_at: None,
    };
    let merge = |report| Kernel::merge(Some(known.clone()), report).map_err(|c| (c, c.key()));
    let foreign = KernelReport { owner: member(2, 1), ..KernelReport::clone(&known.report) };
    assert_eq!(merge(foreign), Err((ReportConflict::Owner, "user_uuid")));
    let elsewhere = KernelReport { owner: member(1, 2), ..KernelReport::clone(&known.report) };
    assert_eq!(merge(elsewhere), Err((ReportConflict::Owner, "user_uuid")));
    let rescheduled = report(KernelPhase::Running, Some(clock("10:01")), None);
    assert_eq!(merge(rescheduled), Err((ReportConflict::Start, "started_at")));
    let backwards = report(KernelPhase::Terminated, None, Some(clock("09:59")));
    assert_eq!(merge(backwards.clone()), Err((ReportConflict::End, "terminated_at")));
    let first = Kernel::merge(None, KernelReport { started_at: Some(clock("10:00")), ..backwards });
    assert_eq!(first, Err(ReportConflict::End));
    // Before anything is recorded a start may still be corrected.
    let fresh = Kernel { cursor: None, ..known };
    let corrected =
        Kernel::merge(Some(fresh), report(KernelPhase::Running, Some(clock("10:01")), None)).expect("a kernel");
    assert_eq!(corrected.report.started_at, Some(clock("10:01")));
    // A kernel that ended at its start used nothing, so it may start again.
    let empty = report(KernelPhase::Terminated, Some(clock("10:00")), Some(clock("10:00")));
    let empty = Kernel {
        key: None,
        report: empty.into(),
        cursor: Some(clock("10:00")),
        settled: true,
        end_inferred: false,
        applied: None,
        seen_at: None,
        reported_at: None,
    };
    let moved = report(KernelPhase::Terminated, Some(clock("11:00")), Some(clock("11:30")));
    let anew = Kernel::merge(Some(empty), moved.clone()).expect("a kernel");
    assert_eq!(
        anew,
        Kernel {
            key: None,
            report: moved.into(),
            cursor: None,
            settled: false,
            end_inferred: false,
            applied: None,
            seen_at: None,
            reported_at: None
        }
    );
}

#[test]
fn a_recorded_kernel_stays_settled_until_its_end_moves() {
    let ended = report(KernelPhase::Terminated, Some(clock("10:00")), Some(clock("10:23")));
    let known = Kernel {
        key: Some(KernelKey(1)),
        report: ended.clone().into(),
        cursor: Some(clock("10:23")),
        settled: true,
        end_inferred: false,
        applied: None,
        seen_at: None,
        reported_at: None,
    };
    assert_eq!(Kernel::merge(Some(known.clone()), ended.clone()), Ok(known.clone()));
    let late = report(KernelPhase::Running, Some(clock("10:00")), None);
    assert_eq!(Kernel::merge(Some(known.clone()), late), Ok(known.clone()));
    for (end, over_recorded) in [("10:30", false), ("10:10", true)] {
        let moved = KernelReport { terminated_at: Some(clock(end)), ..ended.clone() };
        let kernel = Kernel::merge(Some(known.clone()), moved).expect("a kernel");
        let unsettled = OpenKernel::of(&kernel, &mut SharedKernelValues::default()).expect("nothing is settled yet");
        assert_eq!((kernel.settled, unsettled.over_recorded()), (false, over_recorded), "{end}");
    }
    assert_eq!(OpenKernel::of(&known, &mut SharedKernelValues::default()), None);
}

#[test]
fn a_run_moves_the_cursor_to_now_or_lets_the_kernel_go() {
    let running = Kernel::merge(None, report(KernelPhase::Running, Some(clock("10:00")), None)).expect("a kernel");
    let ended = Kernel {
        key: None,
        report: report(KernelPhase::Terminated, Some(clock("10:00")), Some(clock("10:23"))).into(),
        cursor: Some(clock("10:10")),
        settled: false,
        end_inferred: false,
        applied: None,
        seen_at: None,
        reported_at: None,
    };
    let after = |kernel: &Kernel, now: &str| {
        let stored = Kernel { key: Some(KernelKey(1)), ..kernel.clone() };
        let mut unsettled = OpenKernel::of(&stored, &mut SharedKernelValues::default()).expect("a started kernel");
        (unsettled.advance(clock(now)), unsettled.cursor)
    };
    assert_eq!(after(&running, "10:05"), (KernelAdvance::Moved, Some(clock("10:05"))));
    // A clock that jumped back moves no cursor back.
    assert_eq!(after(&running, "09:55"), (KernelAdvance::Stayed, None));
    assert_eq!(after(&ended, "10:05"), (KernelAdvance::Stayed, Some(clock("10:10"))));
    assert_eq!(after(&ended, "10:20"), (KernelAdvance::Moved, Some(clock("10:20"))));
    assert_eq!(after(&ended, "10:23").0, KernelAdvance::Settled);
}

#[test]
fn an_unknown_phase_starts_and_ends_nothing() {
    // The times beside an unknown phase do not count.
    let unknown = report(KernelPhase::Unknown, Some(clock("10:05")), Some(clock("10:20")));
    let new = Kernel::merge(None, unknown.clone()).expect("a kernel");
    assert_eq!((new.report.phase, new.report.started_at, new.settled), (KernelPhase::Pending, None, false));
    for known in [
        report(KernelPhase::Pending, None, None),
        report(KernelPhase::Running, Some(clock("10:00")), None),
        report(KernelPhase::Terminated, Some(clock("10:00")), Some(clock("10:23"))),
    ] {
        let known = Kernel::merge(None, known).expect("a kernel");
        assert_eq!(Kernel::merge(Some(known.clone()), unknown.clone()), Ok(known));
    }
}

#[test]
fn statuses_fold_into_three_phases() {
    for (status, phase) in [
        ("PENDING", Some(KernelPhase::Pending)),
        ("Preparing", Some(KernelPhase::Pending)),
        ("running", Some(KernelPhase::Running)),
        ("TERMINATING", Some(KernelPhase::Running)),
        ("Terminated", Some(KernelPhase::Terminated)),
        ("CANCELLED", Some(KernelPhase::Terminated)),
        ("", None),
        ("unheard-of", None),
    ] {
        assert_eq!(KernelPhase::parse(status), phase, "{status}");
    }
    for phase in [KernelPhase::Pending, KernelPhase::Running, KernelPhase::Terminated] {
        assert_eq!(KernelPhase::parse(phase.as_str()), Some(phase));
    }
}

#[test]
fn names_that_paths_and_tables_can_hold() {
    for name in ["default", "gpu-cluster", "Räume 3", "a", &"x".repeat(64)] {
        assert!(check_name(name).is_ok(), "{name}");
    }
    for name in ["", ".", "..", " a", "a ", "a/b", "a\nb", "a\0b", "\u{7f}", &"x".repeat(65)] {
        assert!(check_name(name).is_err(), "{name:?}");
    }
}

#[test]
fn slot_maps_are_data_with_limits() {
    let map: SlotAmounts = serde_json::from_str(r#"{"mem": "64", "cpu": 2, "cuda.shares": 0.5}"#).expect("a map");
    assert_eq!(map.to_json(), r#"{"cpu":"2","cuda.shares":"0.5","mem":"64"}"#);
    assert_eq!(SlotAmounts::from_json(&map.to_json()).ok(), Some(map));
    let many =
        |count: usize| format!("{{{}}}", (0..count).map(|i| format!("\"s{i}\":1")).collect::<Vec<_>>().join(","));
    // Requests have a limit; what is stored may be a sum of many.
    assert!(
        serde_json::from_str::<SlotAmounts>(&many(64)).is_ok()
            && serde_json::from_str::<SlotAmounts>(&many(65)).is_err()
    );
    assert_eq!(SlotAmounts::from_json(&many(65)).ok().map(|map| map.len()), Some(65));
    let long = format!("{{\"{}\":1}}", "x".repeat(65));
    for json in [
        long.as_str(),
        r#"{"cpu": 1, "cpu": 2}"#,
        r#"{"cpu": -1}"#,
        r#"{"cpu": null}"#,
        r#"{"": 1}"#,
        r#"{"a b": 1}"#,
        r#"{"\u0000": 1}"#,
        r#"["cpu"]"#,
        "3",
        "null",
    ] {
        assert!(SlotAmounts::from_json(json).is_err(), "{json}");
    }
    assert_eq!(slot("cpu"), slot("cpu"));
    assert!(SlotName::new("cpu\u{e9}").is_none());
    // Slots that were not used leave no trace in sums.
    let mut sum = SlotUsages::default();
    sum.add(&usages(&[("cpu", "1"), ("mem", "0")]));
    assert_eq!(sum, usages(&[("cpu", "1")]));
    sum.subtract(&usages(&[("cpu", "1"), ("tpu", "5")]));
    assert!(sum.is_empty() && sum.is_zero());
}

prop_compose! {
    /// Truthful reports of one scheduler about one kernel. Later reports may leave out values of earlier ones.
    fn history()(
        start in 0i64..4, length in 0i64..4, ran in any::<bool>(), ended in any::<bool>(), end_names_start in any::<bool>()
    ) -> Vec<KernelReport> {
        let started_at = Some(Timestamp::from_seconds(start));
        let mut pending = report(KernelPhase::Pending, None, None);
        pending.slots = amounts(&[("cpu", "1")]);
        pending.traits.priority = 7;
        let mut reports = vec![pending];
        if ran {
            let mut running = report(KernelPhase::Running, started_at, None);
            running.traits.agents = KernelAgents::One("node-1".to_owned());
            reports.push(running);
        }
        if ended {
            let known = started_at.filter(|_| ran && end_names_start);
            reports.push(report(KernelPhase::Terminated, known, Some(Timestamp::from_seconds(start + length))));
        }
        reports
    }
}

prop_compose! {
    /// A history, and the same reports repeated and shuffled, each at least once.
    fn told_twice()(reports in history())(
        shuffled in proptest::sample::subsequence(reports.iter().cycle().take(3 * reports.len()).cloned().collect::<Vec<_>>(), 0..=3 * reports.len())
            .prop_map({
                let all = reports.clone();
                move |mut some| { some.extend(all.clone()); some }
            })
            .prop_shuffle(),
        reports in Just(reports),
    ) -> (Vec<KernelReport>, Vec<KernelReport>) {
        (reports, shuffled)
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_order_and_multiplicity_of_reports_gives_the_same_kernel((reports, shuffled) in told_twice()) {
        let in_order = fold(&reports);
        prop_assert!(in_order.is_ok());
        prop_assert_eq!(fold(&shuffled), in_order);
    }

    #[test]
    fn telling_again_changes_nothing((reports, shuffled) in told_twice(), recorded in 0i64..4) {
        let mut known = fold(&reports).expect("consistent").expect("a kernel");
        if let Some(start) = known.report.started_at {
            let end = known.report.terminated_at.unwrap_or(Timestamp::MAX);
            let cursor = start.plus_micros(recorded * 1_000_000).min(end);
            known.cursor = Some(cursor);
            known.settled = cursor == end;
        }
        let again = shuffled.into_iter().try_fold(known.clone(), |kernel, report| Kernel::merge(Some(kernel), report));
        prop_assert_eq!(again, Ok(known));
    }
}
