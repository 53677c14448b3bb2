//! The status words of schedulers. `docs/INTEGRATION.md` shows the same table, which a test checks.

use super::kernel::KernelPhase;

/// The words for one phase, by scheduler.
pub struct PhaseWords {
    pub phase: KernelPhase,
    pub backend_ai: &'static [&'static str],
    pub kubernetes: &'static [&'static str],
    pub slurm: &'static [&'static str],
}

/// All words, in capitals. A status may be in upper or lower case.
pub const PHASE_WORDS: [PhaseWords; 5] = [
    PhaseWords {
        phase: KernelPhase::Pending,
        backend_ai: &["PENDING", "SCHEDULED", "PREPARING", "PULLING", "PREPARED", "CREATING"],
        kubernetes: &["PENDING"],
        slurm: &[
            "PENDING",
            "PD",
            "CONFIGURING",
            "CF",
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
    },
    PhaseWords {
        phase: KernelPhase::Running,
        backend_ai: &["RUNNING", "RESTARTING", "TERMINATING"],
        kubernetes: &["RUNNING"],
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
    },
    PhaseWords {
        phase: KernelPhase::Suspended,
        backend_ai: &["SUSPENDED"],
        kubernetes: &[],
        slurm: &["SUSPENDED", "S"],
    },
    PhaseWords {
        phase: KernelPhase::Terminated,
        backend_ai: &["TERMINATED", "CANCELLED", "COMPLETED", "FAILED", "ERROR"],
        kubernetes: &["SUCCEEDED", "FAILED"],
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
            "DEADLINE",
            "DL",
            "OUT_OF_MEMORY",
            "OOM",
            "REVOKED",
            "RV",
        ],
    },
    PhaseWords { phase: KernelPhase::Unknown, backend_ai: &[], kubernetes: &["UNKNOWN"], slurm: &[] },
];

/// The phase that a scheduler's word stands for.
pub fn phase_of(word: &str) -> Option<KernelPhase> {
    let means = |words: &PhaseWords| {
        [words.backend_ai, words.kubernetes, words.slurm].into_iter().flatten().any(|w| w.eq_ignore_ascii_case(word))
    };
    PHASE_WORDS.iter().find(|words| means(words)).map(|words| words.phase)
}

impl KernelPhase {
    /// Parses a scheduler's status, in upper or lower case.
    pub fn parse(status: &str) -> Option<Self> {
        phase_of(status)
    }
}
