//! The people of the demo's cluster: their projects, their habits, and the jobs that a habit submits on a day.

use super::random::Random;
use crate::cli::import::amounts::{CPU, GPU, MEM};
use crate::domain::decimal::Amount;
use crate::domain::slots::{Amounts, SlotName};
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
pub enum Habit {
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
pub struct Person {
    pub name: &'static str,
    pub project: usize,
    pub habit: Habit,
    pub group: &'static str,
}

const fn person(name: &'static str, project: usize, habit: Habit, group: &'static str) -> Person {
    Person { name, project, habit, group }
}

pub const PEOPLE: [Person; 51] = {
    use Habit::{BigTrainer, BurstyStudent, Newcomer, NightOwl, Office, SteadyService, Sweep, WeekendCruncher};
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
pub struct Need {
    pub cpu: i64,
    pub mem_gib: i64,
    pub gpu: i64,
}

impl Need {
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
pub fn slots(need: Need) -> Amounts {
    let count = |n: i64| Amount::whole(n.unsigned_abs());
    let memory = count(need.mem_gib).checked_mul(BYTES_PER_GIB);
    let named = [(CPU, Some(count(need.cpu))), (MEM, memory), (GPU, Some(count(need.gpu)))];
    let slots: Amounts = named.into_iter().filter_map(|(name, amount)| Some((SlotName::new(name)?, amount?))).collect();
    slots.filtered(|amount| !amount.is_zero())
}

/// A job as its user submits it. Times are in seconds since the start of the day.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub at: i64,
    pub seconds: i64,
    /// The need of each member.
    pub need: Need,
    pub members: u32,
}

const HOUR: i64 = 3_600;
/// The interval of students' deadlines; every third week is before one.
const TERM_DAYS: i32 = 21;

impl Person {
    fn small(&self, random: &mut Random) -> Need {
        if self.group == CPU_FARM {
            return random.pick(&[Need::new(4, 8, 0), Need::new(8, 32, 0), Need::new(16, 32, 0)]).unwrap_or_default();
        }
        random.pick(&[Need::new(4, 16, 1), Need::new(8, 48, 1), Need::new(16, 96, 2)]).unwrap_or_default()
    }

    /// The jobs that this person submits on `day`. `today` is the last day of the demo.
    pub fn wishes(&self, day: Day, today: Day, random: &mut Random) -> Vec<Wish> {
        // 1970-01-01 was a Thursday; 0 is Monday.
        let weekday = (day.0 + 3).rem_euclid(7);
        let weekend = weekday >= 5;
        let to_go = today.days_since(day);
        let (count, from, until, shortest, longest) = match self.habit {
            Habit::Office if !weekend => (random.range(1, 7), 7 * HOUR, 17 * HOUR, HOUR / 3, 4 * HOUR),
            Habit::NightOwl if random.chance(75) => (random.range(2, 6), 19 * HOUR, 24 * HOUR, HOUR, 7 * HOUR),
            Habit::BurstyStudent if (to_go + 4).rem_euclid(TERM_DAYS) < 6 => {
                (random.range(5, 22), 9 * HOUR, 23 * HOUR, HOUR / 12, 3 * HOUR / 2)
            }
            Habit::BurstyStudent => (i64::from(random.chance(8)), 9 * HOUR, 23 * HOUR, HOUR / 6, HOUR),
            Habit::WeekendCruncher if weekend => (random.range(6, 14), 0, 24 * HOUR, 2 * HOUR, 9 * HOUR),
            Habit::BigTrainer => (random.range(1, 2), 8 * HOUR, 20 * HOUR, 10 * HOUR, 30 * HOUR),
            Habit::Sweep => (random.range(16, 24), 0, 24 * HOUR, 4 * HOUR, 9 * HOUR),
            Habit::SteadyService => {
                (i64::from((day.0 + self.project_offset()).rem_euclid(6) == 0), HOUR, 2 * HOUR, 142 * HOUR, 144 * HOUR)
            }
            Habit::Newcomer if (1..4).contains(&to_go) => (random.range(0, 1), 9 * HOUR, 17 * HOUR, HOUR / 6, HOUR),
            _ => return Vec::new(),
        };
        (0..count)
            .map(|_| {
                let (need, members) = match self.habit {
                    // Half a node, or two quarters of one.
                    Habit::BigTrainer if random.chance(40) => (Need::new(16, 96, 2), 2),
                    Habit::BigTrainer => (Need::new(32, 192, 4), 1),
                    Habit::Sweep => (Need::new(16, 96, 2), 1),
                    Habit::SteadyService => (Need::new(8, 24, 1), 1),
                    _ => (self.small(random), 1),
                };
                let (at, seconds) = (random.range(from, until - 1), random.range(shortest, longest));
                Wish { at, seconds, need, members }
            })
            .collect()
    }

    /// An offset of days, so that services of different people do not all restart on the same day.
    fn project_offset(&self) -> i32 {
        self.name.bytes().map(i32::from).sum::<i32>() % 6
    }
}
