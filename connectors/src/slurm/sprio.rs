//! The text of `sprio`: the priority of each pending job that Slurm considers, with its terms, one line for each partition.

use super::table_text::{TextRow, read_rows};
use crate::fault::RoundFault;

pub const PROGRAM: &str = "sprio";
pub const ARGS: [&str; 3] = ["--noheader", "-o", "%i|%r|%Y|%S|%A|%B|%F|%J|%P|%Q|%N|%T"];
const FIELDS: usize = 12;
/// The field of `SITE`, those of the other terms that are numbers, that of nice, which is subtracted, and the list of the terms of resources.
const SITE: usize = 3;
const TERMS: std::ops::RangeInclusive<usize> = 4..=9;
const NICE: usize = 10;
const TRES_TERMS: usize = 11;
/// The lowest priority that Slurm shows for a job that is not held. The sum of its terms may be lower.
pub const LOWEST_PRIORITY: i64 = 1;
/// The largest difference between a term and the whole number that `sprio` shows.
const LARGEST_ROUNDING: f64 = 0.5;

/// The priority of a job in one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPriority {
    pub job: u64,
    pub partition: String,
    pub priority: i64,
    /// The value of `SITE`.
    pub site: i64,
    /// The priority without `SITE`. It may be below 0. Where Slurm shows the lowest priority, it is computed from the terms and may be
    /// a little too low, never too high.
    pub own: i64,
    /// True if a term is not 0.
    pub has_terms: bool,
    /// An admin has set the priority: no term has a value, and it is above the one that Slurm shows then.
    pub is_fixed: bool,
}

/// Reads the priorities.
pub fn read_priorities(text: &str) -> Result<Vec<JobPriority>, RoundFault> {
    read_rows(PROGRAM, text, FIELDS, read_priority)
}

fn read_priority(row: &TextRow) -> Result<JobPriority, RoundFault> {
    let priority: i64 = row.number(2)?;
    let site: i64 = row.number(SITE)?;
    let terms = TERMS.map(|at| row.number::<i64>(at)).collect::<Result<Vec<i64>, RoundFault>>()?;
    let nice: i64 = row.number(NICE)?;
    let tres = row.text(TRES_TERMS);
    let has_terms = site != 0 || nice != 0 || terms.iter().any(|term| *term != 0) || has_amounts(tres);
    // The terms are rounded, so that the priority is more exact where it is not the lowest one.
    let own = if priority > LOWEST_PRIORITY { priority - site } else { least_sum(&terms, tres).saturating_sub(nice) };
    Ok(JobPriority {
        job: row.number(0)?,
        partition: row.filled(1)?.to_owned(),
        priority,
        site,
        own,
        has_terms,
        is_fixed: priority > LOWEST_PRIORITY && !has_terms,
    })
}

/// The least whole sum that terms may have which `sprio` shows as these.
///
/// `sprio` rounds each term, and Slurm cuts their sum. If a term of 0.6 counted as the 1 that is shown, the job would come before others
/// of its owner only until it is written to, because its priority then shows that its own part is 0. The values of two such jobs would
/// change places in each round.
fn least_sum(terms: &[i64], tres: &str) -> i64 {
    let amounts = tres.split(',').filter_map(|entry| entry.split_once('=')?.1.trim().parse::<f64>().ok());
    let shown = terms.iter().map(|term| *term as f64).chain(amounts);
    #[expect(clippy::cast_possible_truncation, reason = "priorities have 32 bits")]
    let sum = shown.map(|term| (term - LARGEST_ROUNDING).max(0.0)).sum::<f64>() as i64;
    sum
}

/// True if a list such as `cpu=0,mem=12` has an amount.
fn has_amounts(list: &str) -> bool {
    list.split(',').filter_map(|entry| entry.split_once('=')).any(|(_, amount)| !matches!(amount, "0" | "0.00"))
}
