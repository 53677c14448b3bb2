//! Commands over a database of their own, measured from the start of the process to its end.

use std::process::Command;

use fairshared::domain::time::MICROS_PER_DAY;
use fairshared::service::{Clock, SystemClock};

use crate::common::figure::{Bar, Bench, FRESH_AND_GROWN, Figure, On, Unit};
use crate::common::program::program;
use crate::common::world::member;
use crate::common::{grown, on_each, repeat, world};
use crate::support::database::TestDb;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "commands", figures: &[&RANK, &SET], run };

const fn command(name: &'static str) -> Figure {
    Figure {
        name,
        floor: "the program that prints its version",
        unit: Unit::Time,
        bars: &[Bar::Most(0.15)],
        on: FRESH_AND_GROWN,
    }
}

static RANK: Figure = command("`rank --limit 10`, 10,000 users");
static SET: Figure = command("`weights set` of one user, 10,000 users");

const USERS: usize = 10_000;
const TIMES: usize = 20;

/// The last day of the history is today, because a command looks back from the machine's time.
async fn database(on: On) -> TestDb {
    let now = SystemClock.now();
    let cluster = world::cluster_at(grown::fresh(on).await, &now.to_string()).await;
    world::ingest(&cluster, &world::finished_before(0..USERS, USERS, now)).await;
    if matches!(on, On::Grown(_)) {
        // A bucket for each earlier day.
        let yesterday = now.plus_micros(-MICROS_PER_DAY);
        let earlier = world::over_days(USERS..2 * USERS, USERS, yesterday, grown::DAYS - 1, true);
        world::ingest(&cluster, &earlier).await;
    }
    cluster.service.aggregate(GROUP).await.unwrap();
    cluster.service.store().clone().close().await.unwrap();
    cluster.db
}

fn run() {
    on_each(FRESH_AND_GROWN, async |on| {
        let db = database(on).await;
        tokio::task::block_in_place(|| measure(on, &db));
    });
}

fn measure(on: On, db: &TestDb) {
    let of = |command: &dyn Fn(&mut Command)| {
        repeat(TIMES, || {
            let mut program = program(&db.url);
            command(&mut program);
            assert!(program.output().unwrap().status.success());
        })
    };
    let floor = of(&|program| {
        program.arg("--version");
    });
    let rank = of(&|program| {
        program.args(["rank", GROUP, "--limit", "10"]);
    });
    let (user, project) = (member(1).user.to_string(), member(1).project.to_string());
    let set = of(&|program| {
        program.args(["weights", "set", GROUP, "user", &user, "2", "--project", &project]);
    });
    RANK.took(on, rank, Some(floor));
    SET.took(on, set, Some(floor));
}
