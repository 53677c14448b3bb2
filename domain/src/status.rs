//! The status words of schedulers. `docs/INTEGRATION.md` shows the same table, which a test checks.

use super::kernel::KernelPhase;

/// The words for one phase, by scheduler.
pub struct PhaseWords {
    pub phase: KernelPhase,
    pub backend_ai: &'static [&'static str],
    pub kubernetes: &'static [&'static str],
    pub slurm: &'static [&'static str],
    pub htcondor: &'static [&'static str],
}

/// All words, in capitals. A status may be in upper or lower case.
pub const PHASE_WORDS: [PhaseWords; 5] = [
    PhaseWords {
        phase: KernelPhase::Pending,
        backend_ai: &["PENDING", "SCHEDULED", "PREPARING", "PULLING", "PREPARED", "CREATING"],
        kubernetes: &[
            "PENDING",
            "CONTAINERCREATING",
            "PODINITIALIZING",
            "SCHEDULINGGATED",
            "IMAGEPULLBACKOFF",
            "ERRIMAGEPULL",
        ],
        slurm: &[
            "PENDING",
            "PD",
            "CONFIGURING",
            "CF",
            "POWER_UP_NODE",
            "EXPEDITING",
            "REQUEUED",
            "RQ",
            "REQUEUE_FED",
            "RF",
            "REQUEUE_HOLD",
            "RH",
            "RESV_DEL_HOLD",
            "RD",
            "SPECIAL_EXIT",
            "SE",
        ],
        htcondor: &["IDLE", "I", "HELD", "H"],
    },
    PhaseWords {
        phase: KernelPhase::Running,
        backend_ai: &["RUNNING", "RESTARTING", "TERMINATING"],
        kubernetes: &["RUNNING", "CRASHLOOPBACKOFF", "TERMINATING"],
        slurm: &[
            "RUNNING",
            "R",
            "COMPLETING",
            "CG",
            "RESIZING",
            "RS",
            "SIGNALING",
            "SI",
            "STAGE_OUT",
            "SO",
            "STOPPED",
            "ST",
        ],
        htcondor: &["RUNNING", "R", "TRANSFERRING_OUTPUT", "<", ">"],
    },
    PhaseWords {
        phase: KernelPhase::Suspended,
        backend_ai: &["SUSPENDED"],
        kubernetes: &[],
        slurm: &["SUSPENDED", "S"],
        htcondor: &["SUSPENDED", "S"],
    },
    PhaseWords {
        phase: KernelPhase::Terminated,
        backend_ai: &["TERMINATED", "CANCELLED", "COMPLETED", "FAILED", "ERROR"],
        kubernetes: &["SUCCEEDED", "FAILED", "COMPLETED", "ERROR", "EVICTED", "DEADLINEEXCEEDED"],
        slurm: &[
            "COMPLETED",
            "CD",
            "CANCELLED",
            "CA",
            "FAILED",
            "F",
            "TIMEOUT",
            "TO",
            "NODE_FAIL",
            "NF",
            "PREEMPTED",
            "PR",
            "BOOT_FAIL",
            "BF",
            "LAUNCH_FAILED",
            "DEADLINE",
            "DL",
            "OUT_OF_MEMORY",
            "OOM",
            "REVOKED",
            "RV",
        ],
        htcondor: &["COMPLETED", "C", "REMOVED", "X"],
    },
    PhaseWords {
        phase: KernelPhase::Unknown,
        backend_ai: &[],
        kubernetes: &["UNKNOWN"],
        slurm: &["RECONFIG_FAIL", "UPDATE_DB"],
        htcondor: &[],
    },
];

/// The flags that Slurm prints beside a state. The state alone gives the phase then, because a flag such as `REQUEUED` is
/// about the next run of the job.
const SLURM_FLAGS: [&str; 21] = [
    "CONFIGURING",
    "CF",
    "POWER_UP_NODE",
    "EXPEDITING",
    "REQUEUED",
    "RQ",
    "REQUEUE_FED",
    "RF",
    "REQUEUE_HOLD",
    "RH",
    "RESV_DEL_HOLD",
    "RD",
    "SPECIAL_EXIT",
    "SE",
    "RESIZING",
    "RS",
    "SIGNALING",
    "SI",
    "STOPPED",
    "ST",
    "LAUNCH_FAILED",
];

/// The flags that give the phase whatever state is beside them. A job in any state holds its nodes while it is completing,
/// and a revoked job runs in another cluster.
const SLURM_DECISIVE_FLAGS: [&str; 6] = ["COMPLETING", "CG", "STAGE_OUT", "SO", "REVOKED", "RV"];

/// The meaning of one word of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordMeaning {
    pub phase: KernelPhase,
    pub rank: WordRank,
}

/// How much a word counts beside others. The phase is that of the highest rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordRank {
    /// The word says nothing about the phase.
    Silent,
    Flag,
    State,
    DecisiveFlag,
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

impl WordMeaning {
    /// The meaning of a whole word, in upper or lower case.
    fn of_whole(word: &str) -> Option<Self> {
        let phase = KernelPhase::parse(word)?;
        let rank = if phase == KernelPhase::Unknown {
            WordRank::Silent
        } else if is_among(&SLURM_DECISIVE_FLAGS, word) {
            WordRank::DecisiveFlag
        } else if is_among(&SLURM_FLAGS, word) {
            WordRank::Flag
        } else {
            WordRank::State
        };
        Some(Self { phase, rank })
    }

    /// The meaning of the beginning of a word, if all words of Slurm that begin so have the same one.
    fn of_beginning(beginning: &str) -> Option<Self> {
        let begins_so = |word: &&&str| {
            !beginning.is_empty()
                && word.get(..beginning.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(beginning))
        };
        let mut meanings =
            PHASE_WORDS.iter().flat_map(|words| words.slurm).filter(begins_so).map(|word| Self::of_whole(word));
        let first = meanings.next()?;
        if meanings.all(|other| other == first) { first } else { None }
    }

    /// The meaning of a word as a scheduler prints it: `CANCELLED`, `CANCELLED by 1000`, or `OUT_OF_ME+`, which is cut off
    /// at the width of the column.
    pub fn of(printed: &str) -> Option<Self> {
        let mut parts = printed.split_ascii_whitespace();
        let word = match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(word), None, ..) => word,
            (Some(word), Some(by), Some(_), None) if by.eq_ignore_ascii_case("by") => word,
            _ => return None,
        };
        // The letters of other schedulers are no beginnings: `C` ends a job of HTCondor, and `C+` may be Slurm's `COMPLETING`.
        Self::of_whole(word).or_else(|| word.strip_suffix('+').and_then(Self::of_beginning))
    }
}

impl KernelPhase {
    /// The phase that one word stands for, in upper or lower case.
    pub fn parse(word: &str) -> Option<Self> {
        let means = |words: &&PhaseWords| {
            [words.backend_ai, words.kubernetes, words.slurm, words.htcondor]
                .into_iter()
                .any(|list| is_among(list, word))
        };
        PHASE_WORDS.iter().find(means).map(|words| words.phase)
    }
}
