//! The people of the demo's cluster: their projects, their habits, and the jobs that a habit submits on a day.

use super::random::SeededRandom;
use crate::cli::import::amounts::{CPU, GPU, MEM};
use crate::domain::decimal::Amount;
use crate::domain::slots::{SlotAmounts, SlotName};
use crate::domain::time::Day;

pub const GPU_CLUSTER: &str = "gpu-cluster";
pub const CPU_FARM: &str = "cpu-farm";
pub const INFERENCE: &str = "inference";

/// Projects with their domain.
pub const PROJECTS: [(&str, &str); 8] = [
    ("vision", "research"),
    ("language", "research"),
    ("robotics", "research"),
    ("genomics", "life-science"),
    ("imaging", "life-science"),
    ("ml-course", "education"),
    ("theses", "education"),
    ("forecasting", "industry"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkHabit {
    /// Weekdays, office hours, a few jobs of some hours.
    Office,
    /// From the evening into the night.
    NightOwl,
    /// Weeks without jobs, then a deadline.
    BurstyStudent,
    /// One service after another, each for many days.
    SteadyService,
    /// Saturdays and Sundays, on processors.
    WeekendCruncher,
    /// Half nodes and gangs, for days.
    BigTrainer,
    /// A sweep over parameters, so that some job waits at any time.
    Sweep,
    /// Started this week and has used hardly anything.
    Newcomer,
}

/// A user's work in one project. A user in two projects occurs twice.
#[derive(Clone, Copy, Debug)]
pub struct DemoUser {
    pub name: &'static str,
    pub project: usize,
    pub habit: WorkHabit,
    pub group: &'static str,
}

const fn person(name: &'static str, project: usize, habit: WorkHabit, group: &'static str) -> DemoUser {
    DemoUser { name, project, habit, group }
}

pub const PEOPLE: [DemoUser; 51] = {
    use WorkHabit::{BigTrainer, BurstyStudent, Newcomer, NightOwl, Office, SteadyService, Sweep, WeekendCruncher};
    [
        person("amelia", 0, BigTrainer, GPU_CLUSTER),
        person("bruno", 0, Sweep, GPU_CLUSTER),
        person("chiara", 0, Office, GPU_CLUSTER),
        person("dmitri", 0, Office, GPU_CLUSTER),
        person("elif", 0, SteadyService, INFERENCE),
        person("farid", 0, NightOwl, GPU_CLUSTER),
        person("grace", 1, BigTrainer, GPU_CLUSTER),
        person("hana", 1, BigTrainer, GPU_CLUSTER),
        person("igor", 1, NightOwl, GPU_CLUSTER),
        person("jonas", 1, Office, GPU_CLUSTER),
        person("keiko", 1, SteadyService, INFERENCE),
        person("lucia", 1, Sweep, GPU_CLUSTER),
        person("mara", 1, Office, GPU_CLUSTER),
        person("nils", 2, Office, GPU_CLUSTER),
        person("olga", 2, NightOwl, GPU_CLUSTER),
        person("pavel", 2, BigTrainer, GPU_CLUSTER),
        person("quinn", 2, Office, CPU_FARM),
        person("rosa", 2, WeekendCruncher, CPU_FARM),
        person("samir", 3, WeekendCruncher, CPU_FARM),
        person("tara", 3, WeekendCruncher, CPU_FARM),
        person("ulrich", 3, Office, CPU_FARM),
        person("vera", 3, Office, CPU_FARM),
        person("wen", 3, NightOwl, CPU_FARM),
        person("ximena", 3, Office, CPU_FARM),
        person("yusuf", 4, Sweep, GPU_CLUSTER),
        person("zoe", 4, BigTrainer, GPU_CLUSTER),
        person("anton", 4, Sweep, GPU_CLUSTER),
        person("bea", 4, WeekendCruncher, CPU_FARM),
        person("carlos", 4, SteadyService, INFERENCE),
        person("dora", 5, BurstyStudent, GPU_CLUSTER),
        person("emil", 5, BurstyStudent, GPU_CLUSTER),
        person("fiona", 5, BurstyStudent, GPU_CLUSTER),
        person("goran", 5, BurstyStudent, GPU_CLUSTER),
        person("heidi", 5, BurstyStudent, GPU_CLUSTER),
        person("ivan", 5, BurstyStudent, CPU_FARM),
        person("julia", 5, BurstyStudent, CPU_FARM),
        person("kofi", 5, Newcomer, GPU_CLUSTER),
        person("lena", 6, BurstyStudent, GPU_CLUSTER),
        person("mara", 6, NightOwl, GPU_CLUSTER),
        person("niko", 6, Sweep, GPU_CLUSTER),
        person("oscar", 6, BurstyStudent, GPU_CLUSTER),
        person("priya", 6, Office, GPU_CLUSTER),
        person("ravi", 6, Newcomer, GPU_CLUSTER),
        person("sofia", 7, SteadyService, INFERENCE),
        person("tomas", 7, SteadyService, INFERENCE),
        person("uma", 7, Office, CPU_FARM),
        person("viktor", 7, WeekendCruncher, CPU_FARM),
        person("willa", 7, Office, CPU_FARM),
        person("uma", 7, Sweep, GPU_CLUSTER),
        person("willa", 7, Sweep, GPU_CLUSTER),
        person("yara", 7, Newcomer, GPU_CLUSTER),
    ]
};

/// The amounts that a kernel holds while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelNeed {
    pub cpu: i64,
    pub mem_gib: i64,
    pub gpu: i64,
}

impl KernelNeed {
    pub const fn new(cpu: i64, mem_gib: i64, gpu: i64) -> Self {
        Self { cpu, mem_gib, gpu }
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::new(self.cpu + other.cpu, self.mem_gib + other.mem_gib, self.gpu + other.gpu)
    }

    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self::new(self.cpu - other.cpu, self.mem_gib - other.mem_gib, self.gpu - other.gpu)
    }

    #[must_use]
    pub fn times(self, count: i64) -> Self {
        Self::new(self.cpu * count, self.mem_gib * count, self.gpu * count)
    }

    /// True if a job with this need fits into the free amounts.
    pub fn holds(self, need: Self) -> bool {
        self.cpu >= need.cpu && self.mem_gib >= need.mem_gib && self.gpu >= need.gpu
    }
}

const BYTES_PER_GIB: u64 = 1 << 30;

/// The amounts by slot, without slots that are not needed.
pub fn slots(need: KernelNeed) -> SlotAmounts {
    let count = |n: i64| Amount::whole(n.unsigned_abs());
    let memory = count(need.mem_gib).checked_mul(BYTES_PER_GIB);
    let named = [(CPU, Some(count(need.cpu))), (MEM, memory), (GPU, Some(count(need.gpu)))];
    let slots: SlotAmounts =
        named.into_iter().filter_map(|(name, amount)| Some((SlotName::new(name)?, amount?))).collect();
    slots.filtered(|amount| !amount.is_zero())
}

/// A job as its user submits it. Times are in seconds since the start of the day.
#[derive(Clone, Copy, Debug)]
pub struct JobSubmission {
    pub at: i64,
    pub seconds: i64,
    /// The need of each member.
    pub need: KernelNeed,
    pub members: u32,
}

const HOUR_SECONDS: i64 = 3_600;
/// The interval of students' deadlines; every third week is before one.
const TERM_DAYS: i32 = 21;

impl DemoUser {
    fn small(&self, random: &mut SeededRandom) -> KernelNeed {
        if self.group == CPU_FARM {
            return random
                .pick(&[KernelNeed::new(4, 8, 0), KernelNeed::new(8, 32, 0), KernelNeed::new(16, 32, 0)])
                .unwrap_or_default();
        }
        random
            .pick(&[KernelNeed::new(4, 16, 1), KernelNeed::new(8, 48, 1), KernelNeed::new(16, 96, 2)])
            .unwrap_or_default()
    }

    /// The jobs that this person submits on `day`. `today` is the last day of the demo.
    pub fn job_submissions(&self, day: Day, today: Day, random: &mut SeededRandom) -> Vec<JobSubmission> {
        // 1970-01-01 was a Thursday; 0 is Monday.
        let weekday = (day.0 + 3).rem_euclid(7);
        let weekend = weekday >= 5;
        let to_go = today.days_since(day);
        let (count, from, until, shortest, longest) = match self.habit {
            WorkHabit::Office if !weekend => {
                (random.range(1, 7), 7 * HOUR_SECONDS, 17 * HOUR_SECONDS, HOUR_SECONDS / 3, 4 * HOUR_SECONDS)
            }
            WorkHabit::NightOwl if random.chance(75) => {
                (random.range(2, 6), 19 * HOUR_SECONDS, 24 * HOUR_SECONDS, HOUR_SECONDS, 7 * HOUR_SECONDS)
            }
            WorkHabit::BurstyStudent if (to_go + 4).rem_euclid(TERM_DAYS) < 6 => {
                (random.range(5, 22), 9 * HOUR_SECONDS, 23 * HOUR_SECONDS, HOUR_SECONDS / 12, 3 * HOUR_SECONDS / 2)
            }
            WorkHabit::BurstyStudent => {
                (i64::from(random.chance(8)), 9 * HOUR_SECONDS, 23 * HOUR_SECONDS, HOUR_SECONDS / 6, HOUR_SECONDS)
            }
            WorkHabit::WeekendCruncher if weekend => {
                (random.range(6, 14), 0, 24 * HOUR_SECONDS, 2 * HOUR_SECONDS, 9 * HOUR_SECONDS)
            }
            WorkHabit::BigTrainer => {
                (random.range(1, 2), 8 * HOUR_SECONDS, 20 * HOUR_SECONDS, 10 * HOUR_SECONDS, 30 * HOUR_SECONDS)
            }
            WorkHabit::Sweep => (random.range(16, 24), 0, 24 * HOUR_SECONDS, 4 * HOUR_SECONDS, 9 * HOUR_SECONDS),
            WorkHabit::SteadyService => (
                i64::from((day.0 + self.project_offset()).rem_euclid(6) == 0),
                HOUR_SECONDS,
                2 * HOUR_SECONDS,
                142 * HOUR_SECONDS,
                144 * HOUR_SECONDS,
            ),
            WorkHabit::Newcomer if (1..4).contains(&to_go) => {
                (random.range(0, 1), 9 * HOUR_SECONDS, 17 * HOUR_SECONDS, HOUR_SECONDS / 6, HOUR_SECONDS)
            }
            _ => return Vec::new(),
        };
        (0..count)
            .map(|_| {
                let (need, members) = match self.habit {
                    // Half a node, or two quarters of one.
                    WorkHabit::BigTrainer if random.chance(40) => (KernelNeed::new(16, 96, 2), 2),
                    WorkHabit::BigTrainer => (KernelNeed::new(32, 192, 4), 1),
                    WorkHabit::Sweep => (KernelNeed::new(16, 96, 2), 1),
                    WorkHabit::SteadyService => (KernelNeed::new(8, 24, 1), 1),
                    _ => (self.small(random), 1),
                };
                let (at, seconds) = (random.range(from, until - 1), random.range(shortest, longest));
                JobSubmission { at, seconds, need, members }
            })
            .collect()
    }

    /// An offset of days, so that services of different people do not all restart on the same day.
    fn project_offset(&self) -> i32 {
        self.name.bytes().map(i32::from).sum::<i32>() % 6
    }
}
