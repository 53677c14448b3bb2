//! A cluster of a given size, with the same ids and amounts in every run.

use std::fmt::Write;
use std::ops::Range;

use fairshared::api::kernels::KernelInput;
use fairshared::domain::ids::{Member, ProjectId, UserId};
use fairshared::domain::time::{MICROS_PER_SECOND, Timestamp};
use fairshared::engine::ingest::batch::BATCH_KERNELS;
use fairshared::engine::ingest::incoming::{IncomingReport, check_input};
use fairshared::engine::people::PeopleDirectory;
use serde_json::json;
use uuid::Uuid;

use crate::support::database::TestDb;
use crate::support::fixture::{Fixture, GROUP, admin};

pub const DOMAINS: usize = 10;
pub const PROJECTS: usize = 500;
/// The time at which every cluster starts.
pub const START: &str = "2026-01-13T00:00:00Z";

/// Ids that are spread over their whole range, like random ones.
fn spread(kind: u64, n: usize) -> Uuid {
    let mix = |seed: u64| {
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let high = mix(kind << 32 | n as u64);
    Uuid::from_u64_pair(high, mix(high))
}

pub fn kernel_id(n: usize) -> Uuid {
    spread(1, n)
}

pub fn domain_name(n: usize) -> String {
    format!("domain-{}", n % DOMAINS)
}

pub fn member(n: usize) -> Member {
    Member { user: UserId(spread(2, n)), project: ProjectId(spread(3, n % PROJECTS)) }
}

/// Begins the line of a kernel of the `user`th user, which has to be closed.
fn begin_line(out: &mut String, kernel: usize, user: usize, status: &str) {
    let Member { user: user_uuid, project } = member(user);
    let id = kernel_id(kernel);
    let domain = domain_name(user % PROJECTS);
    let (cpu, mem, gpu) = (1 + kernel % 32, (1 + kernel % 64) << 30, kernel % 5);
    let _ = write!(
        out,
        "{{\"kernel_id\":\"{id}\",\"session_id\":\"{id}\",\"user_uuid\":\"{user_uuid}\",\"project_id\":\"{project}\",\
         \"domain_name\":\"{domain}\",\"occupied_slots\":{{\"cpu\":\"{cpu}\",\"mem\":\"{mem}\",\"cuda.device\":\"{gpu}\"}},\
         \"status\":\"{status}\""
    );
}

/// Kernels of `users` users in turn that wait.
pub fn waiting(kernels: Range<usize>, users: usize) -> String {
    lines(kernels, |out, kernel| {
        begin_line(out, kernel, kernel % users, "PENDING");
        out.push_str("}\n");
    })
}

/// Appends one kernel of the `user`th user as one line of NDJSON, without an end while it runs.
pub fn kernel_line(out: &mut String, kernel: usize, user: usize, start: Timestamp, end: Option<Timestamp>) {
    let status = if end.is_some() { "TERMINATED" } else { "RUNNING" };
    begin_line(out, kernel, user, status);
    let _ = write!(out, ",\"started_at\":\"{start}\"");
    if let Some(end) = end {
        let _ = write!(out, ",\"terminated_at\":\"{end}\"");
    }
    out.push_str("}\n");
}

/// `count` seconds, in microseconds.
pub fn seconds(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(0) * MICROS_PER_SECOND
}

/// Running kernels of `users` users in turn, which began in the hour before the start.
pub fn running(kernels: Range<usize>, users: usize) -> String {
    running_since(kernels, users, crate::support::time(START))
}

/// Running kernels of the users with these numbers, in turn, which began in the hour before the start.
pub fn running_of(kernels: Range<usize>, users: Range<usize>) -> String {
    let start = crate::support::time(START);
    lines(kernels, |out, kernel| {
        let user = users.start + kernel % users.len();
        kernel_line(out, kernel, user, start.plus_micros(-seconds(kernel % 3_600)), None);
    })
}

/// Running kernels of `users` users in turn, which began in the hour before `start`.
pub fn running_since(kernels: Range<usize>, users: usize, start: Timestamp) -> String {
    lines(kernels, |out, kernel| {
        kernel_line(out, kernel, kernel % users, start.plus_micros(-seconds(kernel % 3_600)), None);
    })
}

/// Running kernels that began at the start, each of another user.
pub fn running_alone(kernels: Range<usize>) -> String {
    let start = crate::support::time(START);
    lines(kernels, |out, kernel| kernel_line(out, kernel, kernel, start, None))
}

/// Kernels of `users` users that ended within a day before the start.
pub fn finished(kernels: Range<usize>, users: usize) -> String {
    finished_before(kernels, users, crate::support::time(START))
}

/// [`finished`] before another time.
pub fn finished_before(kernels: Range<usize>, users: usize, end: Timestamp) -> String {
    let start = end.plus_micros(-seconds(86_400));
    lines(kernels, |out, kernel| {
        let begin = start.plus_micros(seconds(kernel * 7_919 % 72_000));
        let end = begin.plus_micros(seconds(60 + kernel * 104_729 % 14_000) + 123_456);
        kernel_line(out, kernel, kernel % users, begin, Some(end));
    })
}

/// Kernels that begin in the first three hours after `morning` and end, if they have, in the last three of that day.
pub fn of_one_day(kernels: Range<usize>, users: usize, morning: Timestamp, ended: bool) -> String {
    lines(kernels, |out, kernel| {
        let begin = morning.plus_micros(seconds(kernel * 7_919 % 10_800));
        let end = morning.plus_micros(seconds(75_600 + kernel * 104_729 % 10_800) + 123_456);
        kernel_line(out, kernel, kernel % users, begin, ended.then_some(end));
    })
}

/// Kernels that ran on all of the `days` days before `end`.
pub fn over_days(kernels: Range<usize>, users: usize, end: Timestamp, days: usize, ended: bool) -> String {
    let begin = end.plus_micros(-seconds(days * 86_400));
    lines(kernels, |out, kernel| kernel_line(out, kernel, kernel % users, begin, ended.then_some(end)))
}

/// One line for each kernel.
pub fn lines(kernels: Range<usize>, line: impl Fn(&mut String, usize)) -> String {
    let mut lines = String::with_capacity(kernels.len() * 400);
    kernels.for_each(|kernel| line(&mut lines, kernel));
    lines
}

/// A serving service with one group and its agents.
pub async fn cluster(db: TestDb) -> Fixture {
    cluster_at(db, START).await
}

/// [`cluster`] at another time.
pub async fn cluster_at(db: TestDb, now: &str) -> Fixture {
    let fixture = Fixture::new(db, now).await;
    for node in 0..10 {
        let slots = json!({"cpu": "100000", "mem": "1000000000000000", "cuda.device": "20000"});
        fixture.agent(&format!("node-{node}"), &slots).await;
    }
    fixture
}

/// The kernel of a line, with a new id in every call.
pub fn changed(line: &str) -> IncomingReport {
    let input: KernelInput = serde_json::from_str(line.trim()).unwrap();
    let input = KernelInput { kernel_id: fairshared::process::random::dated_id(), ..input };
    check_input(input, &PeopleDirectory::default(), crate::support::time(START)).unwrap()
}

/// Ingests NDJSON by the service, without HTTP.
pub async fn ingest(fixture: &Fixture, lines: &str) {
    let now = fixture.service.clock().now();
    let mut batch = Vec::with_capacity(BATCH_KERNELS);
    for line in lines.lines() {
        let input: KernelInput = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        batch.push(check_input(input, &fixture.service.people(), now).unwrap_or_else(|faults| panic!("{faults:?}")));
        if batch.len() == BATCH_KERNELS {
            take(fixture, std::mem::take(&mut batch)).await;
        }
    }
    take(fixture, batch).await;
}

async fn take(fixture: &Fixture, batch: Vec<IncomingReport>) {
    let done = fixture.service.ingest(&admin(), GROUP, batch).await.unwrap_or_else(|e| panic!("{e}"));
    assert!(done.is_empty(), "{done:?}");
}
