//! Real traces through the whole service: imported, accounted, ranked, and imported again. Skipped if the traces are not
//! available.

mod expected;
mod rounds;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use fairshared::api::sequence::PendingWorkload;
use fairshared::cli::import::MemoryUnit;
use fairshared::cli::import::charge_class::ChargeClassField;
use fairshared::cli::import::command::{ImportArgs, import};
use fairshared::domain::filter::Filter;
use fairshared::domain::ids::Member;
use fairshared::domain::kernel::Kernel;
use fairshared::domain::slots::SlotName;
use fairshared::domain::tier::Tier;
use fairshared::engine::group::snapshots::snapshot_data::GroupSnapshotData;
use fairshared::service::buckets::{BucketField, BucketList, BucketRow};
use fairshared::service::input::page::{MAX_PAGE, PageWindow};
use fairshared::service::kernels::KernelFilter;
use fairshared::service::sequence::SequenceInput;
use fairshared::service::{Service, VisibleGroup};

use crate::support::database::{TestDb, postgres, sqlite};
use crate::support::fixture::{Fixture, admin, id};
use crate::support::plain::{
    Plain, SLOTS, data, finished_rows, lcg_rows, millis, or_unknown, sacct_rows, unpack, wagap_rows,
};
use expected::Standing;

const GIB: f64 = 1_073_741_824.0;

/// One file, its options on the command line, and its contents.
struct Trace {
    args: ImportArgs,
    rows: Vec<Plain>,
    domains: HashMap<String, String>,
    /// The capacity of every group, in the order of [`SLOTS`].
    capacity: [f64; 3],
    now: &'static str,
}

fn args(format: &str, file: PathBuf) -> ImportArgs {
    ImportArgs {
        format: format.to_owned(),
        file,
        resource_group: None,
        swf_memory: MemoryUnit::ALL[0].0.to_owned(),
        capacities: None,
        domain_map: None,
        timezone: None,
        delimiter: None,
        noheader: false,
        fields: None,
        slot: Vec::new(),
        charge_class: ChargeClassField::None,
        rebase_to_now: false,
        replace: false,
        no_aggregate: false,
        history: false,
        source: None,
    }
}

/// The same capacity for every group, if a trace has none.
fn capacities_file(folder: &Path, rows: &[Plain], columns: &str) -> PathBuf {
    let groups: BTreeSet<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    let header = "resource_group,agent_id,cpu,mem_gib,gpu,from,to".to_owned();
    let text =
        groups.iter().fold(header, |text, group| text + "\n" + group + ",all," + columns + ",2000-01-01T00:00:00Z,");
    let path = folder.join("capacities.csv");
    std::fs::write(&path, text).unwrap();
    path
}

fn sacct(data: &Path, cluster: &str) -> Trace {
    let folder = data.join("xdmod-sacct");
    let file = folder.join(format!("{cluster}.sacct.txt.gz"));
    let rows = sacct_rows(&unpack(&file));
    let map = std::fs::read_to_string(folder.join("group-to-hierarchy.csv")).unwrap();
    let domains = map.lines().filter_map(|line| line.trim_matches('"').split_once("\",\""));
    let capacities = Some(folder.join("capacities.csv"));
    Trace {
        args: ImportArgs {
            capacities,
            domain_map: Some(folder.join("group-to-hierarchy.csv")),
            ..args("sacct", file.clone())
        },
        rows,
        domains: domains.map(|(p, d)| (p.to_owned(), d.to_owned())).collect(),
        capacity: [4_000.0, 0.0, 0.0],
        now: "2017-01-01T06:00:00Z",
    }
}

fn wagap(data: &Path) -> Trace {
    let file = data.join("wagap2013/wagap2013.swf.gz");
    let mut rows = wagap_rows(&unpack(&file));
    for row in &mut rows {
        "wagap".clone_into(&mut row.group);
    }
    Trace {
        args: ImportArgs {
            resource_group: Some("wagap".to_owned()),
            swf_memory: "bytes-per-node".to_owned(),
            capacities: Some(data.join("wagap2013/capacities.csv")),
            ..args("swf", file)
        },
        rows,
        domains: HashMap::new(),
        capacity: [18.0 * 80.0 + 26.0 * 12.0, (18.0 * 504.9004 + 26.0 * 89.6797) * GIB, 0.0],
        now: "2013-03-31T12:00:00Z",
    }
}

/// The first `jobs` jobs of the trace.
fn lcg(data: &Path, folder: &Path, jobs: usize) -> Trace {
    let text = unpack(&data.join("lcg2005/lcg2005.swf.gz"));
    let (head, body): (Vec<&str>, Vec<&str>) = text.split_inclusive('\n').partition(|line| line.starts_with(';'));
    let text: String = head.into_iter().chain(body.into_iter().take(jobs)).collect();
    let file = folder.join("lcg2005.swf");
    std::fs::write(&file, &text).unwrap();
    let rows = lcg_rows(&text);
    let capacities = Some(capacities_file(folder, &rows, "150,,"));
    Trace {
        args: ImportArgs { capacities, ..args("swf", file) },
        rows,
        domains: HashMap::new(),
        capacity: [150.0, 0.0, 0.0],
        now: "2005-12-06T00:00:00Z",
    }
}

fn philly(data: &Path, folder: &Path) -> Trace {
    let file = data.join("philly2017/jobs.csv.gz");
    let rows = finished_rows(&unpack(&file));
    let capacities = Some(capacities_file(folder, &rows, ",,2490"));
    Trace {
        args: ImportArgs { capacities, ..args("csv", file) },
        rows,
        domains: HashMap::new(),
        capacity: [0.0, 0.0, 2_490.0],
        now: "2017-11-24T10:00:00Z",
    }
}

async fn buckets(service: &Service, group: &str, tier: Tier) -> Vec<BucketRow> {
    let mut rows = Vec::new();
    let mut window = PageWindow::forward(MAX_PAGE, None);
    loop {
        let list = BucketList {
            tier,
            filter: Filter::All(vec![]),
            field: BucketField::PeriodStart,
            descending: false,
            window: window.clone(),
        };
        let page = service.usage_buckets(&admin(), group, list).await.unwrap();
        window.after = page.rows.last().map(|(cursor, _)| cursor.clone());
        rows.extend(page.rows.into_iter().map(|(_, row)| row));
        if !page.has_next {
            return rows;
        }
    }
}

async fn kernels(service: &Service, group: &str) -> Vec<Kernel> {
    let mut rows = Vec::new();
    let mut window = PageWindow::forward(MAX_PAGE, None);
    loop {
        let page = service.kernels(&admin(), group, KernelFilter::default(), &window).await.unwrap();
        window.after = page.rows.last().map(|(cursor, _)| cursor.clone());
        rows.extend(page.rows.into_iter().map(|(_, row)| row));
        if !page.has_next {
            return rows;
        }
    }
}

/// The name as in the file, from the one that the service shows.
fn user_name(group: &GroupSnapshotData, member: Member) -> String {
    let user = group.rows.user(member).and_then(|row| row.user_name.clone()).expect("users have names");
    let project =
        group.rows.project(member.project).and_then(|row| row.project_name.clone()).expect("projects have names");
    format!("user {user} in {project}")
}

fn entity(group: &GroupSnapshotData, row: &BucketRow) -> String {
    match (row.member(), row.project) {
        (Some(member), _) => user_name(group, member),
        (None, Some(id)) => format!("project {}", group.rows.project(id).unwrap().project_name.as_ref().unwrap()),
        (None, None) => format!("domain {}", row.domain_name),
    }
}

fn assert_sums(group: &GroupSnapshotData, stored: &[BucketRow], trace: &Trace, rows: &[&Plain]) {
    let mut sums = expected::Sums::new();
    for row in stored {
        assert_eq!(row.period_start, row.period_end, "buckets of one day");
        let day = u64::from(row.period_start.0.unsigned_abs());
        for slot in SLOTS {
            if let Some(usage) = row.resource_usage.get(SlotName::new(slot).unwrap()).filter(|u| !u.is_zero()) {
                assert!(sums.insert((entity(group, row), day, slot), usage.to_string()).is_none());
            }
        }
    }
    let domain = |row: &Plain| trace.domains.get(&row.project).cloned().unwrap_or_else(|| or_unknown(""));
    let direct = expected::sums(rows, domain);
    let differs = direct.iter().find(|(key, sum)| sums.get(*key) != Some(sum));
    assert_eq!(differs, None, "{}", group.name);
    assert_eq!(sums.len(), direct.len(), "{}: usage that the file does not have", group.name);
}

fn assert_ranking(service: &Service, group: &GroupSnapshotData, trace: &Trace, rows: &[&Plain]) {
    let today = millis(trace.now) / 86_400_000;
    let standings = expected::ranking(rows, today, trace.capacity);
    let by_name: BTreeMap<&str, &Standing> = standings.iter().map(|s| (s.user.as_str(), s)).collect();
    assert_eq!(group.rows.users.len(), standings.len());
    let mut members = HashMap::new();
    for user in group.rows.users.placed() {
        let name = user_name(group, user.member);
        let standing = by_name[name.as_str()];
        assert_eq!(user.rank, standing.rank, "{}: {name} {standing:?}", group.name);
        assert!((user.share.fair_share_factor - standing.factor).abs() < 1e-12, "{}: {name}", group.name);
        members.insert(name, user.member);
    }
    // A sequence over all users, submitted in an order of its own, and one user who is not known.
    let mut submitted: Vec<&Standing> = standings.iter().collect();
    submitted.sort_by_key(|s| id(&s.user));
    let workload = |name: &str, member: Member| PendingWorkload::of_owner(name.to_owned().into(), member);
    let stranger = Member { user: id("nobody").to_string().parse().unwrap(), ..members[&standings[0].user] };
    let mut pending: Vec<_> = submitted.iter().map(|s| workload(&s.user, members[&s.user])).collect();
    pending.push(workload("stranger", stranger));
    let sequenced = service
        .sequence(&admin(), &group.name, SequenceInput { workloads: pending, ..SequenceInput::default() })
        .unwrap();
    let order: Vec<&str> = sequenced.order.iter().map(|at| &*sequenced.workloads[*at as usize].id).collect();
    let mut expected: Vec<(f64, &str)> = submitted.iter().map(|s| (s.exponent, s.user.as_str())).collect();
    expected.push((0.0, "stranger"));
    expected.sort_by(|a, b| a.0.total_cmp(&b.0));
    assert_eq!(order, expected.into_iter().map(|(_, name)| name).collect::<Vec<_>>());
}

/// All stored data that an import may change.
async fn stored(service: &Service, groups: &[VisibleGroup]) -> (Vec<Vec<BucketRow>>, Vec<Vec<Kernel>>) {
    let (mut all_buckets, mut all_kernels) = (Vec::new(), Vec::new());
    for group in groups {
        let mut of_group = Vec::new();
        for tier in [Tier::User, Tier::Project, Tier::Domain] {
            of_group.extend(buckets(service, &group.name, tier).await);
        }
        all_buckets.push(of_group);
        all_kernels.push(kernels(service, &group.name).await);
    }
    (all_buckets, all_kernels)
}

async fn check(db: TestDb, trace: Trace) {
    let fixture = Fixture::new(db, trace.now).await;
    let service = &fixture.service;
    let report = import(&trace.args, &fixture.client(), &*fixture.clock).await.unwrap();
    let count = trace.rows.len() as u64;
    assert_eq!((report.summary.rows, report.summary.taken, report.changed), (count, count, count), "{report}");
    assert!(report.refused.is_empty() && report.succeeded() && report.agents_changed > 0, "{report}");

    let mut by_group: BTreeMap<&str, Vec<&Plain>> = BTreeMap::new();
    for row in &trace.rows {
        by_group.entry(&row.group).or_default().push(row);
    }
    let groups: Vec<_> = by_group.keys().map(|name| service.group(&admin(), name).unwrap()).collect();
    let first = stored(service, &groups).await;
    assert_eq!(first.1.iter().map(Vec::len).sum::<usize>(), trace.rows.len());
    for (group, bucket_rows) in groups.iter().zip(&first.0) {
        let rows = &by_group[&*group.name];
        assert_sums(group.whole().unwrap(), bucket_rows, &trace, rows);
        assert_ranking(service, group.whole().unwrap(), &trace, rows);
        let audit = service.audit_conservation(&admin(), &group.name).await.unwrap();
        assert_eq!(audit.difference, None, "{}", group.name);
    }

    let again = import(&trace.args, &fixture.client(), &*fixture.clock).await.unwrap();
    assert!(again.changed_nothing(), "{again}");
    assert_eq!((again.known(), again.changed), (count, 0), "{again}");
    assert!(first == stored(service, &groups).await, "the second import changed what is stored");
}

macro_rules! trace_tests {
    ($($(#[$mark:meta])* $name:ident: $db:ident, $trace:expr;)*) => {$(
        $(#[$mark])*
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            let Some(data) = data() else { return };
            let folder = tempfile::tempdir().unwrap();
            let make: fn(&Path, &Path) -> Trace = $trace;
            check($db().await, make(&data, folder.path())).await;
        }
    )*};
}

trace_tests! {
    phillips_sqlite: sqlite, |data, _| sacct(data, "phillips");
    pozidriv_sqlite: sqlite, |data, _| sacct(data, "pozidriv");
    wagap2013_sqlite: sqlite, |data, _| wagap(data);
    lcg2005_sqlite: sqlite, |data, folder| lcg(data, folder, 10_000);
    #[ignore = "long"]
    long_lcg2005_sqlite: sqlite, |data, folder| lcg(data, folder, usize::MAX);
    philly2017_sqlite: sqlite, philly;
    phillips_postgres: postgres, |data, _| sacct(data, "phillips");
    pozidriv_postgres: postgres, |data, _| sacct(data, "pozidriv");
    wagap2013_postgres: postgres, |data, _| wagap(data);
    lcg2005_postgres: postgres, |data, folder| lcg(data, folder, 10_000);
    #[ignore = "long"]
    long_lcg2005_postgres: postgres, |data, folder| lcg(data, folder, usize::MAX);
    philly2017_postgres: postgres, philly;
}
