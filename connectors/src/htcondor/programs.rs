//! The programs of HTCondor, their arguments, and the programs as processes. `CONDOR_CONFIG` works as in a shell.

use crate::fault::RoundFault;
use crate::programs::{PROGRAM_TIME_LIMIT, ProgramFamily, ProgramOutput};

pub const QUEUE: &str = "condor_q";
pub const HISTORY: &str = "condor_history";
pub const STATUS: &str = "condor_status";
pub const PRIORITIES: &str = "condor_userprio";
pub const SETTINGS: &str = "condor_config_val";
pub const PING: &str = "condor_ping";

const HTCONDOR: ProgramFamily = ProgramFamily {
    missing_code: "htcondor",
    away_code: "htcondor_away",
    removed_variables: &[],
    set_variables: &[("LC_ALL", "C")],
    time_limit: PROGRAM_TIME_LIMIT,
};

/// Runs a program to its end, whatever its exit code.
pub async fn run(program: &str, args: &[&str]) -> Result<ProgramOutput, RoundFault> {
    HTCONDOR.run(program, args).await
}

/// The text that a program prints. A program that fails, or whose text broke off, gives none.
pub async fn read(program: &str, args: &[&str]) -> Result<String, RoundFault> {
    HTCONDOR.read(program, args).await
}

/// The arguments that name a daemon of an access point; none for that of this machine.
pub fn schedd_args(schedd: Option<&str>) -> Vec<&str> {
    schedd.map_or_else(Vec::new, |name| vec!["-name", name])
}
