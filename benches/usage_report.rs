//! A report of a month over HTTP, against reading the same day totals.

use std::ops::ControlFlow;

use fairshared::store::day_totals::reports::{self, TotalsQuery};

use crate::common::figure::{Bar, Bench, FRESH, Figure, On, Unit};
use crate::common::http::Server;
use crate::common::{grown, median, on_each, timed_async, world};
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "usage_report", figures: &[&BY_USER, &BY_PROJECT], run };

static BY_USER: Figure = month("a month of 10,000 users by user, 300,000 day totals");
static BY_PROJECT: Figure = month("the same by project and day");

const fn month(name: &'static str) -> Figure {
    Figure { name, floor: "reading the same day totals", unit: Unit::Time, bars: &[Bar::Most(1.0)], on: FRESH }
}

const USERS: usize = 10_000;
const DAYS: usize = 30;
const TIMES: usize = 5;

fn run() {
    on_each(FRESH, measure);
}

async fn measure(on: On) {
    let cluster = world::cluster(grown::database(on).await).await;
    let start = crate::support::time(world::START);
    world::ingest(&cluster, &world::over_days(0..USERS, USERS, start, DAYS, true)).await;
    cluster.service.aggregate(GROUP).await.unwrap();
    let (from, to) = (start.day().plus(-i32::try_from(DAYS).unwrap()), start.day().plus(-1));
    let wanted = TotalsQuery {
        groups: vec![cluster.key()],
        from,
        to,
        domain: None,
        charge_class: None,
        user: None,
        project: None,
    };
    let server = Server::start(&cluster).await;
    for (figure, by) in [(&BY_USER, "user"), (&BY_PROJECT, "project,day")] {
        let (mut times, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..TIMES {
            times.push(server.get(&format!("/usage-report?from={from}&to={to}&by={by}")).await.0);
            let mut count = 0;
            floors.push(
                timed_async(async {
                    let count = |_| {
                        count += 1;
                        ControlFlow::Continue(())
                    };
                    reports::for_each_total(cluster.service.store().read(), &wanted, count).await.unwrap();
                })
                .await,
            );
            assert_eq!(count, USERS * DAYS);
        }
        figure.took(on, median(times), Some(median(floors)));
    }
}
