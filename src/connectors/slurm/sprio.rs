//! The text of `sprio`: the priority of each pending job that Slurm considers, with its terms, one line for each partition.

use super::table_text::{TextRow, read_rows};
use crate::connectors::fault::RoundFault;

pub const PROGRAM: &str = "sprio";
pub const ARGS: [&str; 3] = ["--noheader", "-o", "%i|%r|%Y|%S|%A|%B|%F|%J|%P|%Q|%N|%T"];
const FIELDS: usize = 12;
/// The field of `SITE`, and those of the other terms that are numbers.
const SITE: usize = 3;
const TERMS: std::ops::RangeInclusive<usize> = 4..=10;
const TRES_TERMS: usize = 11;

/// The priority of a job in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPriority {
    pub job: u64,
    pub partition: String,
    pub priority: i64,
    /// The value of `SITE`.
    pub site: i64,
    /// An admin has set the priority: it is above 1, and all terms are 0.
    pub is_fixed: bool,
}

/// Reads the priorities.
pub fn read_priorities(text: &str) -> Result<Vec<JobPriority>, RoundFault> {
    read_rows(PROGRAM, text, FIELDS, read_priority)
}

fn read_priority(row: &TextRow) -> Result<JobPriority, RoundFault> {
    let priority: i64 = row.number(2)?;
    let site: i64 = row.number(SITE)?;
    let terms: Result<Vec<i64>, RoundFault> = TERMS.map(|at| row.number(at)).collect();
    let has_terms = site != 0 || terms?.iter().any(|term| *term != 0) || has_amounts(row.text(TRES_TERMS));
    Ok(JobPriority {
        job: row.number(0)?,
        partition: row.filled(1)?.to_owned(),
        priority,
        site,
        is_fixed: priority > 1 && !has_terms,
    })
}

/// True if a list such as `cpu=0,mem=12` has an amount.
fn has_amounts(list: &str) -> bool {
    list.split(',').filter_map(|entry| entry.split_once('=')).any(|(_, amount)| !matches!(amount, "0" | "0.00"))
}
