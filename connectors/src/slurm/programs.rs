//! The programs of Slurm as processes. `SLURM_CONF` works as in a shell, and times are printed as seconds since 1970.

use super::squeue::UNIQUE_TASKS;
use crate::fault::RoundFault;
use crate::programs::{PROGRAM_TIME_LIMIT, ProgramFamily, ProgramOutput};

const SLURM: ProgramFamily = ProgramFamily {
    missing_code: "slurm",
    away_code: "slurm_away",
    removed_variables: &["SQUEUE_", "SPRIO_", "SACCT_", "SACCTMGR_", "SCONTROL_", "SLURM_CLUSTERS"],
    set_variables: &[("SLURM_TIME_FORMAT", "%s"), ("LC_ALL", "C"), UNIQUE_TASKS],
    time_limit: PROGRAM_TIME_LIMIT,
};

/// The text that a program prints. A program that fails, or whose text broke off, gives none.
pub async fn read(program: &str, args: &[&str]) -> Result<String, RoundFault> {
    SLURM.read(program, args).await
}

/// Runs a program that reads lines, and sends it at most `per_second` lines in one second.
pub async fn feed(
    program: &str,
    args: &[&str],
    lines: &[String],
    per_second: usize,
) -> Result<ProgramOutput, RoundFault> {
    SLURM.feed(program, args, lines, per_second).await
}
