//! Imports of ever longer files, in time of the processor: the program is a process of its own.

use crate::common::figure::{Bar, Figure, On, SQLITE, Unit};
use crate::common::program::{cost, program};
use crate::common::{jobs_file, law};
use crate::support::database::sqlite_unmigrated;

pub static CPU: Figure = Figure {
    name: "an import of 800,000 rows, time of the processor",
    floor: "the same of 200,000 rows",
    unit: Unit::Time,
    bars: &[Bar::Floors(4.4), Bar::Most(15.0)],
    on: SQLITE,
};

pub static LAW: Figure = Figure {
    name: "law of that time by rows, from 200,000 to 800,000",
    floor: "",
    unit: Unit::Exponent,
    bars: &[],
    on: SQLITE,
};

const ON: On = SQLITE[0];

pub fn run() {
    let folder = tempfile::tempdir().unwrap();
    let sizes = [jobs_file::SHORT, 2 * jobs_file::SHORT, jobs_file::LONG];
    let points = sizes.map(|rows| {
        let (file, db) = (jobs_file::write(folder.path(), rows), sqlite_unmigrated());
        (rows as f64, cost(program(&db.url).args(["import", "csv"]).arg(file)).cpu)
    });
    CPU.measured(ON, points[2].1, Some(points[0].1));
    LAW.measured(ON, law::exponent(&points), None);
}
