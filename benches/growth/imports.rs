//! Imports of files of growing length, in processor time, because the program is a process of its own. Each length is the
//! median of three imports.

use std::path::Path;

use crate::common::figure::{Bar, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::program::{self, cost, program};
use crate::common::{grown, jobs_file, law, median_of_three, on_each};

pub static CPU: Figure = Figure {
    name: "an import of 800,000 rows, time of the processor",
    floor: "the same of 200,000 rows",
    unit: Unit::Time,
    bars: &[Bar::Floors(4.4), Bar::Most(15.0)],
    on: FRESH_AND_GROWN,
};

pub static LAW: Figure = Figure {
    name: "law of that time by rows, from 200,000 to 800,000",
    floor: "",
    unit: Unit::Exponent,
    bars: &[],
    on: FRESH_AND_GROWN,
};

pub fn run() {
    on_each(CPU.on, measure);
}

async fn measure(on: On) {
    let folder = tempfile::tempdir().unwrap();
    let mut points = Vec::new();
    for rows in [jobs_file::SHORT, 2 * jobs_file::SHORT, jobs_file::LONG] {
        let file = jobs_file::write(folder.path(), rows);
        points.push((rows as f64, median_of_three(async || import(on, &file).await).await));
    }
    CPU.measured(on, points[2].1, Some(points[0].1));
    LAW.measured(on, law::exponent(&points), None);
}

/// One import into a database of its own.
async fn import(on: On, file: &Path) -> f64 {
    let db = grown::database(on).await;
    if matches!(on, On::Grown(_)) {
        // The history ends long before today, which a command takes for a clock that is ahead.
        cost(program(&db.url).args(["jobs", "trust-clock"]));
    }
    program::import(&db.url, file).cpu
}
