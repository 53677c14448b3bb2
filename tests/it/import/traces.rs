//! The real traces: the imported sums equal sums taken directly from the file by other means, and the neutral CSV of each
//! file. Skipped if the traces are not available.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::Path;

use fairshared::cli::import::capacities::read_capacities;
use fairshared::cli::import::format::ImportFormat;
use fairshared::cli::import::job::ImportedJob;
use fairshared::cli::import::source::LineSource;
use fairshared::cli::import::{MemoryUnit, TraceOptions, TraceReader};
use fairshared::domain::decimal::{Amount, Usage};
use fairshared::domain::time::TimeSpan;

use super::{Outcome, collect, slot};
use crate::support::plain::{
    MILLIS_PER_DAY, Plain, SLOTS, data, finished_rows, lcg_rows, millis, neutral_rows, or_unknown, plain_decimal,
    sacct_rows, unpack, wagap_rows,
};

fn import(format: &str, path: &Path, options: &TraceOptions) -> Outcome {
    let source = LineSource::open(path).unwrap();
    let outcome = collect(TraceReader::new(ImportFormat::named(format).unwrap(), source, options).unwrap()).unwrap();
    let again = collect(
        TraceReader::new(ImportFormat::named(format).unwrap(), LineSource::open(path).unwrap(), options).unwrap(),
    );
    assert!(again.unwrap().jobs == outcome.jobs, "a second reading differs");
    let kernels: HashSet<_> = outcome.jobs.iter().map(ImportedJob::kernel_id).collect();
    assert_eq!(kernels.len(), outcome.jobs.len(), "a kernel id stands for two jobs");
    outcome
}

/// Sums by (`user u1` or `project p` or `group g` or `day 2026-02-01`, slot).
type Sums = BTreeMap<(String, &'static str), String>;

fn keys(user: &str, project: &str, group: &str) -> [String; 3] {
    [format!("user {user}"), format!("project {project}"), format!("group {group}")]
}

fn direct_sums(rows: &[Plain]) -> Sums {
    let mut sums: BTreeMap<(String, &'static str), u128> = BTreeMap::new();
    for row in rows {
        for (slot, amount) in SLOTS.into_iter().zip(row.amounts) {
            let mut add =
                |key: String, millis: u64| *sums.entry((key, slot)).or_default() += amount * u128::from(millis);
            for key in keys(&row.user, &row.project, &row.group) {
                add(key, row.end - row.start);
            }
            for day in row.start / MILLIS_PER_DAY..=row.end / MILLIS_PER_DAY {
                let (from, to) = (day * MILLIS_PER_DAY, (day + 1) * MILLIS_PER_DAY);
                add(format!("day {day}"), row.end.min(to) - row.start.max(from));
            }
        }
    }
    sums.retain(|_, sum| *sum > 0);
    sums.into_iter().map(|(key, sum)| (key, plain_decimal(sum))).collect()
}

fn imported_sums(jobs: &[ImportedJob]) -> Sums {
    let mut sums: BTreeMap<(String, &'static str), Usage> = BTreeMap::new();
    for job in jobs {
        let (Some(start), Some(end)) = (job.started_at, job.terminated_at) else { continue };
        let Some(span) = TimeSpan::new(start, end) else { continue };
        for name in SLOTS {
            let Some(amount) = job.slots.get(slot(name)) else { continue };
            for key in keys(&job.user, &job.project, &job.resource_group) {
                *sums.entry((key, name)).or_default() += amount.for_micros(span.micros());
            }
            for part in span.by_day() {
                *sums.entry((format!("day {}", part.start.day().0), name)).or_default() +=
                    amount.for_micros(part.micros());
            }
        }
    }
    sums.into_iter().map(|(key, sum)| (key, sum.to_string())).collect()
}

/// Bytes as the neutral files write them: GiB with four places, half to even.
fn gib(bytes: u128) -> String {
    let (scaled, unit) = (bytes * 10_000, 1_u128 << 30);
    let (floor, rest) = (scaled / unit, scaled % unit);
    let up = rest * 2 > unit || (rest * 2 == unit && floor % 2 == 1);
    plain_decimal((floor + u128::from(up)) * 1_000)
}

fn amount(job: &ImportedJob, name: &str) -> String {
    job.slots.get(slot(name)).unwrap_or(Amount::ZERO).to_string()
}

fn distinct(jobs: &[ImportedJob], name: impl Fn(&ImportedJob) -> &String) -> usize {
    jobs.iter().map(name).collect::<BTreeSet<_>>().len()
}

/// Fails unless a job and a neutral row (`user` to `end_time`, without the domain) are equal.
fn assert_same(job: &ImportedJob, row: &[&str]) {
    assert_eq!((&job.user, &job.project), (&or_unknown(row[2]), &or_unknown(row[3])), "{row:?}");
    for (time, text) in [(job.submitted_at, row[6]), (job.started_at, row[7]), (job.terminated_at, row[8])] {
        assert_eq!(time.map(|t| t.micros().unsigned_abs() / 1_000), Some(millis(text)), "{row:?}");
    }
}

#[test]
fn sacct_dumps() {
    let Some(data) = data() else { return };
    for (cluster, count, users, projects) in [("phillips", 3_797, 3, 3), ("pozidriv", 10_216, 17, 6)] {
        let path = data.join(format!("xdmod-sacct/{cluster}.sacct.txt.gz"));
        let outcome = import("sacct", &path, &TraceOptions::default());
        assert_eq!((outcome.summary.rows, outcome.summary.taken), (count, count));
        assert_eq!((distinct(&outcome.jobs, |j| &j.user), distinct(&outcome.jobs, |j| &j.project)), (users, projects));
        let text = unpack(&path);
        let rows = sacct_rows(&text);
        assert_eq!(imported_sums(&outcome.jobs), direct_sums(&rows));

        let neutral = unpack(&data.join(format!("xdmod-sacct/{cluster}.jobs.csv.gz")));
        let mut by_id: HashMap<&str, &ImportedJob> =
            outcome.jobs.iter().map(|job| (job.session_key.as_str(), job)).collect();
        for row in neutral_rows(&neutral) {
            let job = by_id.remove(row[0]).expect("the neutral file has the same jobs");
            assert_same(job, &row);
            assert_eq!((job.resource_group.as_str(), amount(job, "cpu").as_str()), (row[5], row[9]));
            assert_eq!(gib(amount(job, "mem").parse().unwrap()), row[10]);
            assert_eq!(amount(job, "cuda.device"), row[11]);
        }
        assert!(by_id.is_empty());
    }
}

#[test]
fn lcg2005() {
    let Some(data) = data() else { return };
    let path = data.join("lcg2005/lcg2005.swf.gz");
    let outcome = import("swf", &path, &TraceOptions::default());
    let jobs = &outcome.jobs;
    assert_eq!((outcome.summary.rows, outcome.summary.taken), (97_630, 97_630));
    assert_eq!((distinct(jobs, |j| &j.user), distinct(jobs, |j| &j.project)), (178, 26));
    assert_eq!(distinct(jobs, |j| &j.resource_group), 168);

    let text = unpack(&path);
    let rows = lcg_rows(&text);
    assert_eq!(imported_sums(jobs), direct_sums(&rows));

    let neutral = unpack(&data.join("lcg2005/jobs.csv.gz"));
    let mut by_id: HashMap<&str, &ImportedJob> = jobs.iter().map(|job| (job.job_key.as_str(), job)).collect();
    for row in neutral_rows(&neutral) {
        let job = by_id.remove(row[0]).expect("the neutral file has the same jobs");
        assert_same(job, &row);
        assert_eq!((job.resource_group.as_str(), amount(job, "cpu").as_str()), (row[5], row[9]));
    }
    assert!(by_id.is_empty());
}

#[test]
fn wagap2013() {
    let Some(data) = data() else { return };
    let path = data.join("wagap2013/wagap2013.swf.gz");
    let options = TraceOptions { swf_memory: MemoryUnit::BytesPerNode, ..TraceOptions::default() };
    let outcome = import("swf", &path, &options);
    assert_eq!((outcome.summary.rows, outcome.summary.taken), (8_165, 8_165));
    assert_eq!(distinct(&outcome.jobs, |j| &j.user), 55);

    let text = unpack(&path);
    let rows = wagap_rows(&text);
    assert_eq!(imported_sums(&outcome.jobs), direct_sums(&rows));

    // The neutral file has a row for each node of a job.
    let (neutral, placed) =
        (unpack(&data.join("wagap2013/jobs.csv.gz")), unpack(&data.join("wagap2013/placements.csv.gz")));
    let agents: HashMap<&str, &str> = placed.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
    let mut parts: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
    for row in neutral_rows(&neutral) {
        parts.entry(row[1]).or_default().push(row);
    }
    assert_eq!(parts.len(), outcome.jobs.len());
    for job in &outcome.jobs {
        let parts = &parts[job.session_key.as_str()];
        let cpus: u64 = parts.iter().map(|row| row[9].parse::<u64>().unwrap()).sum();
        assert_eq!(amount(job, "cpu"), cpus.to_string());
        let memory: u128 = amount(job, "mem").parse().unwrap();
        for row in parts {
            assert_same(&ImportedJob { project: "unknown".to_owned(), ..job.clone() }, row);
            assert_eq!(gib(memory / parts.len() as u128), row[10]);
        }
        let agent = Some(agents[parts[0][0]]).filter(|_| parts.len() == 1);
        assert_eq!(job.agents.only().map(String::as_str), agent);
    }
}

#[test]
fn neutral_files() {
    let Some(data) = data() else { return };
    for (file, count, users, projects, groups, open) in [
        ("eagle-sample/jobs.csv.gz", 1_000, 15, 8, 5, 0),
        ("google2011/jobs.csv.gz", 471_523, 843, 1, 4, 3_064),
        ("helios-earth-vc/jobs.csv.gz", 13_134, 1, 16, 16, 0),
        ("lcg2005/jobs.csv.gz", 97_630, 178, 26, 168, 0),
        ("philly2017/jobs.csv.gz", 64_306, 1, 13, 1, 0),
        ("wagap2013/jobs.csv.gz", 9_182, 55, 1, 2, 0),
        ("xdmod-openstack/jobs.csv.gz", 51, 3, 1, 1, 5),
        ("xdmod-sacct/phillips.jobs.csv.gz", 3_797, 3, 3, 1, 0),
        ("xdmod-sacct/pozidriv.jobs.csv.gz", 10_216, 17, 6, 1, 0),
    ] {
        let path = data.join(file);
        let outcome = import("csv", &path, &TraceOptions::default());
        let jobs = &outcome.jobs;
        assert_eq!((outcome.summary.rows, outcome.summary.taken), (count, count), "{file}");
        assert_eq!((distinct(jobs, |j| &j.user), distinct(jobs, |j| &j.project)), (users, projects), "{file}");
        assert_eq!(distinct(jobs, |j| &j.resource_group), groups, "{file}");
        assert_eq!(jobs.iter().filter(|job| job.terminated_at.is_none()).count(), open, "{file}");
        let text = unpack(&path);
        let rows = finished_rows(&text);
        assert_eq!(imported_sums(jobs), direct_sums(&rows), "{file}");
    }
}

#[test]
fn capacities() {
    let Some(data) = data() else { return };
    for (file, count, column, name) in [
        ("wagap2013/capacities.csv", 44, 2, "cpu"),
        ("xdmod-openstack/capacities.csv", 7, 2, "cpu"),
        ("xdmod-sacct/capacities.csv", 2, 2, "cpu"),
        ("helios-earth-vc/capacities.csv", 57, 4, "cuda.device"),
    ] {
        let text = std::fs::read_to_string(data.join(file)).unwrap();
        let rows = neutral_rows(&text);
        let read = read_capacities(&mut LineSource::open(&data.join(file)).unwrap()).unwrap();
        assert_eq!((read.len(), rows.len()), (count, count), "{file}");
        let sum = read.iter().filter_map(|row| row.slots.get(slot(name))).fold(Amount::ZERO, Amount::saturating_add);
        let direct: u64 = rows.iter().map(|row| row[column].parse::<u64>().unwrap()).sum();
        assert_eq!(sum, Amount::whole(direct), "{file}");
        let open = rows.iter().filter(|row| row[6].is_empty()).count();
        assert_eq!(read.iter().filter(|row| row.to.is_none()).count(), open, "{file}");
    }
}
