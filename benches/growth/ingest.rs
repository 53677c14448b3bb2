//! Bodies of kernels, one after the other, into the same database.

use std::time::Duration;

use crate::common::figure::{Bar, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, law, on_each, world};

pub static EACH: Figure = Figure {
    name: "a kernel of 700,000 that are posted as NDJSON in bodies of 100,000",
    floor: "a kernel of the first 100,000",
    unit: Unit::Time,
    bars: &[Bar::Floors(1.3)],
    on: FRESH_AND_GROWN,
};

pub static LAW: Figure = Figure {
    name: "law of that time by kernels, from 100,000 to 700,000",
    floor: "",
    unit: Unit::Exponent,
    bars: &[],
    on: FRESH_AND_GROWN,
};

const COUNT: usize = 100_000;
const BODIES: usize = 7;
const USERS: usize = 10_000;

pub fn run() {
    on_each(EACH.on, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let server = Server::start(&cluster).await;
    let (mut all, mut points) = (Duration::ZERO, Vec::new());
    for body in 0..BODIES {
        let lines = world::running(body * COUNT..(body + 1) * COUNT, USERS);
        all += server.post("/kernels", "application/x-ndjson", lines.into()).await.0;
        points.push((((body + 1) * COUNT) as f64, all.as_secs_f64()));
    }
    let each = |(kernels, seconds): (f64, f64)| seconds / kernels;
    EACH.measured(on, each(points[BODIES - 1]), Some(each(points[0])));
    LAW.measured(on, law::exponent(&points), None);
}
