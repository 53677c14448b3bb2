//! The jobs that people submit in the demo's past.

use super::people::{CPU_FARM, DemoUser, GPU_CLUSTER, INFERENCE, JobSubmission, KernelNeed, PEOPLE, PROJECTS};
use super::random::SeededRandom;
use crate::domain::time::{Day, SECONDS_PER_DAY};

/// The time after which a person cancels a job that has not started, in seconds.
const PATIENCE_SECONDS: i64 = 36 * 3_600;
/// The project whose jobs need whole nodes and wait, because the scheduler reserves no whole node for them.
pub const STARVED_PROJECT: &str = "forecasting";
/// The time since this project has submitted jobs of whole nodes instead of small ones, in seconds.
pub const STARVED_SECONDS: i64 = 10 * 3_600;
/// The capacity of a node of the GPU cluster.
const WHOLE_NODE: KernelNeed = KernelNeed::new(48, 384, 8);

#[derive(Clone, Copy, Debug)]
pub struct DemoJob {
    pub number: usize,
    /// The index in [`PEOPLE`].
    pub person: usize,
    pub submitted_at: i64,
    /// The job is cancelled if it has not started until then.
    pub gives_up_at: i64,
    pub seconds: i64,
    /// The need of each member.
    pub need: KernelNeed,
    pub members: u32,
    pub attempt: u32,
}

/// All jobs from `first` to `now`, in the order of submission.
pub fn submitted_jobs(now: i64, first: Day, today: Day, random: &mut SeededRandom) -> Vec<DemoJob> {
    let mut jobs = Vec::new();
    let starved_from = now - STARVED_SECONDS;
    let mut submit = |person: usize, submitted_at: i64, wish: JobSubmission| {
        let JobSubmission { seconds, need, members, .. } = wish;
        let gives_up_at = submitted_at + PATIENCE_SECONDS;
        let small_before = is_starved(&PEOPLE[person]) && need != WHOLE_NODE;
        let gives_up_at = if small_before { gives_up_at.min(starved_from) } else { gives_up_at };
        if submitted_at < now && submitted_at <= gives_up_at {
            jobs.push(DemoJob { number: 0, person, submitted_at, gives_up_at, seconds, need, members, attempt: 0 });
        }
    };
    for day in (0..=today.days_since(first)).map(|n| first.plus(n)) {
        for (at, person) in PEOPLE.iter().enumerate() {
            for wish in person.job_submissions(day, today, random) {
                submit(at, i64::from(day.0) * SECONDS_PER_DAY + wish.at, wish);
            }
        }
    }
    for (at, person) in PEOPLE.iter().enumerate().filter(|(_, person)| person.group != INFERENCE) {
        if is_starved(person) {
            let seconds = random.range(4 * 3_600, 8 * 3_600);
            submit(
                at,
                starved_from + random.range(60, 3_600),
                JobSubmission { at: 0, seconds, need: WHOLE_NODE, members: 1 },
            );
        } else if person.group == CPU_FARM {
            // Many jobs in the last quarter of an hour, so that jobs wait on the CPU farm at any time of day.
            let (seconds, need) = (random.range(7_200, 36_000), KernelNeed::new(56, 128, 0));
            submit(at, now - random.range(30, 900), JobSubmission { at: 0, seconds, need, members: 1 });
        }
    }
    jobs.sort_by_key(|job| (job.submitted_at, job.person));
    jobs.iter_mut().enumerate().for_each(|(number, job)| job.number = number);
    jobs
}

fn is_starved(person: &DemoUser) -> bool {
    person.group == GPU_CLUSTER && PROJECTS[person.project].0 == STARVED_PROJECT
}
