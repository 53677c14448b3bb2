//! The generated cluster is the same for the same seed, and plausible.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairshared::cli::demo::cluster::{DemoCluster, generate};
use fairshared::cli::demo::groups::{DemoKernel, GROUPS};
use fairshared::cli::demo::jobs::{STARVED_PROJECT, submitted_jobs};
use fairshared::cli::demo::people::{GPU_CLUSTER, KernelNeed, PEOPLE, PROJECTS, WorkHabit};
use fairshared::cli::demo::random::SeededRandom;

/// 2026-02-18T10:30:00Z, a Wednesday.
const NOW: i64 = 1_771_410_600;

fn demo() -> DemoCluster {
    generate(NOW, 1, 60)
}

#[test]
fn a_seed_decides_everything() {
    assert_eq!(demo(), demo());
    let other = generate(NOW, 2, 60);
    assert_ne!(demo().kernels, other.kernels);
    assert_ne!(demo().outages, other.outages);
}

#[test]
fn no_node_ever_holds_more_than_it_has() {
    for seed in 1..=5 {
        let cluster = generate(NOW, seed, 60);
        for group in &GROUPS {
            let mut changes: BTreeMap<usize, Vec<(i64, i64, KernelNeed)>> = BTreeMap::new();
            for kernel in cluster.kernels.iter().filter(|k| k.group == group.name) {
                let Some((node, start)) = kernel.placed else { continue };
                let end = kernel.ended_at.unwrap_or(NOW);
                assert!(start <= end && end <= NOW, "{kernel:?}");
                let of_node = changes.entry(node).or_default();
                of_node.extend([(start, 1, kernel.need), (end, -1, kernel.need)]);
                for outage in cluster.outages.iter().filter(|o| (o.group, o.node) == (group.name, node)) {
                    assert!(end <= outage.from || start >= outage.until, "{kernel:?} outlives {outage:?}");
                }
            }
            for (node, mut of_node) in changes {
                assert!(node < group.nodes);
                of_node.sort_by_key(|(at, sign, _)| (*at, *sign));
                let mut used = KernelNeed::default();
                for (_, sign, need) in of_node {
                    used.cpu += sign * need.cpu;
                    used.mem_gib += sign * need.mem_gib;
                    used.gpu += sign * need.gpu;
                    let whole = group.node;
                    assert!(used.cpu <= whole.cpu && used.mem_gib <= whole.mem_gib && used.gpu <= whole.gpu);
                }
            }
        }
    }
}

#[test]
fn it_looks_like_a_cluster() {
    let cluster = demo();
    let kernels = &cluster.kernels;
    assert!((8_000..18_000).contains(&kernels.len()), "{} kernels", kernels.len());
    let names: BTreeSet<&str> = PEOPLE.iter().map(|p| p.name).collect();
    assert!(names.len() >= 40);
    assert!(PEOPLE.iter().filter(|p| p.name == "mara").map(|p| p.project).collect::<BTreeSet<_>>().len() == 2);
    assert!(PROJECTS.iter().map(|(_, domain)| domain).collect::<BTreeSet<_>>().len() >= 3);
    for group in &GROUPS {
        let of_group = || kernels.iter().filter(|k| k.group == group.name);
        assert!(of_group().any(|k| k.placed.is_some() && k.ended_at.is_none()), "{}: something runs", group.name);
    }
    let waiting = kernels.iter().filter(|k| k.placed.is_none()).count();
    assert!((30..600).contains(&waiting), "{waiting} wait");
    // No user is in two runs of one job at a time, and what a node failure ended runs again.
    let again = kernels.iter().filter(|k| k.attempt > 0).count();
    assert!(again > 5, "{again} second runs");
    let ids: BTreeSet<_> = kernels.iter().map(|k| (k.job, k.attempt, k.member)).collect();
    assert_eq!(ids.len(), kernels.len());
    // Members of a gang start and end together.
    let gangs: HashMap<_, BTreeSet<_>> =
        kernels.iter().filter(|k| k.members > 1).fold(HashMap::new(), |mut gangs, k| {
            gangs.entry((k.job, k.attempt)).or_insert_with(BTreeSet::new).insert((k.placed.map(|p| p.1), k.ended_at));
            gangs
        });
    assert!(gangs.len() > 10 && gangs.values().all(|times| times.len() == 1), "{gangs:?}");
    assert!(cluster.outages.iter().any(|o| o.until > NOW), "a node is down right now");
    let first = kernels.iter().filter_map(|k| k.placed).map(|(_, start)| start).min().unwrap();
    assert_eq!(i32::try_from(first.div_euclid(86_400)).unwrap(), cluster.first_day.0);
}

#[test]
fn people_keep_their_habits() {
    let cluster = demo();
    let mut hours: HashMap<WorkHabit, [u64; 24]> = HashMap::new();
    let first = cluster.first_day;
    let mut weekend = 0;
    for job in submitted_jobs(NOW, first, first.plus(60), &mut SeededRandom::seeded(1))
        .iter()
        .filter(|job| NOW - job.submitted_at > 86_400)
    {
        let habit = PEOPLE[job.person].habit;
        let hour = job.submitted_at.rem_euclid(86_400) / 3_600;
        hours.entry(habit).or_default()[usize::try_from(hour).unwrap()] += 1;
        let weekday = (job.submitted_at.div_euclid(86_400) + 3).rem_euclid(7);
        if habit == WorkHabit::WeekendCruncher {
            weekend += 1;
            assert!(weekday >= 5, "{}", PEOPLE[job.person].name);
        }
    }
    assert!(weekend > 100);
    let share = |habit, range: std::ops::Range<usize>| {
        let all = hours[&habit];
        all[range].iter().sum::<u64>() * 100 / all.iter().sum::<u64>()
    };
    assert_eq!((share(WorkHabit::NightOwl, 19..24), share(WorkHabit::Office, 7..17)), (100, 100));
    assert!(hours[&WorkHabit::Sweep].iter().all(|count| *count > 0));
}

#[test]
fn no_whole_node_becomes_free_for_the_starved_project() {
    for (seed, hour) in (1..=10).zip([0, 2, 5, 7, 10, 12, 15, 17, 20, 23]) {
        let now = NOW.div_euclid(86_400) * 86_400 + hour * 3_600;
        let cluster = generate(now, seed, 10);
        let project = |kernel: &&DemoKernel| {
            kernel.group == GPU_CLUSTER && PROJECTS[PEOPLE[kernel.person].project].0 == STARVED_PROJECT
        };
        let of_project: Vec<&DemoKernel> = cluster.kernels.iter().filter(project).collect();
        let waiting = of_project.iter().filter(|kernel| kernel.placed.is_none()).count();
        let running = of_project.iter().filter(|kernel| kernel.placed.is_some() && kernel.ended_at.is_none()).count();
        assert_eq!((waiting, running), (3, 0), "seed {seed} at {hour}:00");
    }
}
