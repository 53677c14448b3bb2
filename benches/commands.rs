//! Commands over a database of their own, from the start of the process to its end.

use std::process::Command;

use crate::common::figure::{Bar, Bench, Figure, On, SQLITE, Unit};
use crate::common::program::program;
use crate::common::world::member;
use crate::common::{block_on, repeat, world};
use crate::support::database;
use crate::support::fixture::GROUP;

pub const BENCH: Bench = Bench { name: "commands", figures: &[&RANK, &SET], run };

const ON: On = SQLITE[0];

const fn command(name: &'static str) -> Figure {
    Figure {
        name,
        floor: "the program that prints its version",
        unit: Unit::Time,
        bars: &[Bar::Most(0.06)],
        on: SQLITE,
    }
}

static RANK: Figure = command("`rank --limit 10`, 10,000 users");
static SET: Figure = command("`weights set` of one user, 10,000 users");

const USERS: usize = 10_000;
const TIMES: usize = 20;

fn run() {
    let db = block_on(async {
        let cluster = world::cluster(database::sqlite().await).await;
        world::ingest(&cluster, &world::finished(0..USERS, USERS)).await;
        cluster.service.aggregate(GROUP).await.unwrap();
        cluster.service.store().clone().close().await.unwrap();
        cluster.db
    });
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
    RANK.took(ON, rank, Some(floor));
    SET.took(ON, set, Some(floor));
}
