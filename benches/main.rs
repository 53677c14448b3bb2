//! The benches, one file each.
//!
//! - `cargo bench` runs all of them, `cargo bench -- NAME...` some of them. Each has a process of its own.
//! - `cargo bench -- report` writes what was measured into `docs/PERFORMANCE.md`.
//! - `cargo test` compares that page with the figures and with the rows that are published.
//!
//! A bench is one file with the list of its figures, and one line in [`BENCHES`]. Benches only report: they fail if
//! something does not work, and not if a bar is missed.

#![recursion_limit = "256"]

mod aggregate;
mod closed_loop;
mod commands;
mod common;
mod crowd;
mod cycle;
mod day;
mod division;
mod explain;
mod factors;
mod fairness;
mod forecasts;
mod growth;
mod ingest;
mod lists;
mod memory;
mod month;
mod queues;
mod ranking;
mod reclaim;
mod replay;
mod runs;
mod sequence;
#[path = "../domain/tests/it/support/standings.rs"]
mod standings;
#[allow(dead_code, unused_imports, unused_macros, reason = "benches use a part of what tests have")]
#[path = "../tests/it/support/mod.rs"]
mod support;
mod synchronous;
mod usage_report;
mod weights;
mod what_if;

use std::process::{Command, ExitCode};

/// The rules under the name that the file that it has in common with the tests of the rules uses.
pub(crate) use fairshared::domain as rules;

use common::figure::Bench;
use common::{report, rows};

/// Every bench, in the order of the page.
const BENCHES: &[&Bench] = &[
    &factors::BENCH,
    &sequence::BENCH,
    &crowd::BENCH,
    &aggregate::BENCH,
    &runs::BENCH,
    &ingest::BENCH,
    &synchronous::BENCH,
    &day::BENCH,
    &weights::BENCH,
    &what_if::BENCH,
    &ranking::BENCH,
    &fairness::BENCH,
    &explain::BENCH,
    &lists::BENCH,
    &usage_report::BENCH,
    &commands::BENCH,
    &memory::BENCH,
    &queues::BENCH,
    &division::BENCH,
    &reclaim::BENCH,
    &cycle::BENCH,
    &forecasts::BENCH,
    &replay::BENCH,
    &closed_loop::BENCH,
    &growth::BENCH,
    &month::BENCH,
];

/// The argument by which a process runs one bench; the identifier of the run follows.
const ONE: &str = "one";

fn main() -> ExitCode {
    let (flags, names): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| a.starts_with("--"));
    match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [ONE, name, run] => one(name, run),
        ["report"] => report::write(BENCHES),
        // With `cargo test`, names select tests.
        _ if !flags.iter().any(|flag| flag == "--bench") => report::check(BENCHES),
        ref names => return all(names),
    }
    ExitCode::SUCCESS
}

/// Runs the named benches, or all, one after the other.
fn all(names: &[&str]) -> ExitCode {
    let run = fairshared::process::random::dated_id().to_string();
    let unknown = names.iter().find(|name| BENCHES.iter().all(|bench| bench.name != **name));
    if let Some(name) = unknown {
        println!("there is no bench {name}");
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for bench in BENCHES.iter().filter(|bench| names.is_empty() || names.contains(&bench.name)) {
        let ended = Command::new(std::env::current_exe().unwrap()).args([ONE, bench.name, &run]).status().unwrap();
        if !ended.success() {
            println!("the bench {} broke off: {ended}", bench.name);
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Runs one bench in this process.
fn one(name: &str, run: &str) {
    let bench = BENCHES.iter().find(|bench| bench.name == name).unwrap_or_else(|| panic!("there is no bench {name}"));
    fairshared::process::memory::give_back();
    rows::begin(bench, run);
    (bench.run)();
    for figure in rows::missing() {
        println!("{name} did not measure: {figure}");
    }
}
