//! The growth of costs: with stored data, with users, and with the size of ingests.

mod imports;
mod ingest;
mod ticks;
mod users;

use crate::common::figure::Bench;

pub const BENCH: Bench = Bench {
    name: "growth",
    figures: &[
        &ticks::LATE,
        &ticks::LAW,
        &ticks::WRITTEN,
        &ticks::ROW_SQLITE,
        &ticks::ROW_POSTGRES,
        &users::MILLION,
        &users::LAW,
        &imports::CPU,
        &imports::LAW,
        &ingest::EACH,
        &ingest::LAW,
    ],
    run,
};

fn run() {
    ticks::run();
    users::run();
    imports::run();
    ingest::run();
}
