//! The shares that orders deliver in a closed loop: 200 users who always wait, 64 devices, jobs of all lengths
//! (FAIR_SHARE §10). The figures are not times: each is the misallocated share of the cluster.

use std::collections::BTreeMap;

use fairshared::domain::options::{FairshareOrder, SequenceMode};

use crate::common::figure::{Bar, Bench, Figure, MEMORY, On, Unit};
use crate::support::closed_loop::{Got, LARGE, Lengths, Scene, delivered};

pub const BENCH: Bench = Bench { name: "closed_loop", figures: FIGURES, run };

/// The tier of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    Users,
    Domains,
}

/// One cell of the table.
struct Cell {
    order: FairshareOrder,
    half_life_days: u32,
    lengths: Lengths,
    tier: Tier,
    figure: Figure,
}

const TEN_SECONDS: Lengths = Lengths::All(10);
const TEN_MINUTES: Lengths = Lengths::All(600);
const SIX_HOURS: Lengths = Lengths::All(6 * 3_600);

const fn cell(order: FairshareOrder, half_life_days: u32, lengths: Lengths, tier: Tier, name: &'static str) -> Cell {
    let bars: &'static [Bar] = match (tier, order, half_life_days, lengths) {
        (Tier::Domains, ..) => &[Bar::Most(0.01)],
        (_, FairshareOrder::Tiered, 1, Lengths::All(21_600)) => &[Bar::Most(0.05)],
        _ => &[Bar::Most(0.03)],
    };
    let figure = Figure { name, floor: "the same in plain mode", unit: Unit::Share, bars, on: MEMORY };
    Cell { order, half_life_days, lengths, tier, figure }
}

use FairshareOrder::{Flat, Tiered};
use Tier::{Domains, Users};

static CELLS: [Cell; 24] = [
    cell(Flat, 1, TEN_SECONDS, Users, "users, `flat`, half-life 1 day, jobs of 10 s"),
    cell(Flat, 1, TEN_MINUTES, Users, "users, `flat`, half-life 1 day, jobs of 10 min"),
    cell(Flat, 1, SIX_HOURS, Users, "users, `flat`, half-life 1 day, jobs of 6 h"),
    cell(Flat, 1, Lengths::Mix, Users, "users, `flat`, half-life 1 day, a mix of lengths"),
    cell(Flat, 7, TEN_SECONDS, Users, "users, `flat`, half-life 7 days, jobs of 10 s"),
    cell(Flat, 7, TEN_MINUTES, Users, "users, `flat`, half-life 7 days, jobs of 10 min"),
    cell(Flat, 7, SIX_HOURS, Users, "users, `flat`, half-life 7 days, jobs of 6 h"),
    cell(Flat, 7, Lengths::Mix, Users, "users, `flat`, half-life 7 days, a mix of lengths"),
    cell(Tiered, 1, TEN_SECONDS, Users, "users, `tiered`, half-life 1 day, jobs of 10 s"),
    cell(Tiered, 1, TEN_SECONDS, Domains, "domains, `tiered`, half-life 1 day, jobs of 10 s"),
    cell(Tiered, 1, TEN_MINUTES, Users, "users, `tiered`, half-life 1 day, jobs of 10 min"),
    cell(Tiered, 1, TEN_MINUTES, Domains, "domains, `tiered`, half-life 1 day, jobs of 10 min"),
    cell(Tiered, 1, SIX_HOURS, Users, "users, `tiered`, half-life 1 day, jobs of 6 h"),
    cell(Tiered, 1, SIX_HOURS, Domains, "domains, `tiered`, half-life 1 day, jobs of 6 h"),
    cell(Tiered, 1, Lengths::Mix, Users, "users, `tiered`, half-life 1 day, a mix of lengths"),
    cell(Tiered, 1, Lengths::Mix, Domains, "domains, `tiered`, half-life 1 day, a mix of lengths"),
    cell(Tiered, 7, TEN_SECONDS, Users, "users, `tiered`, half-life 7 days, jobs of 10 s"),
    cell(Tiered, 7, TEN_SECONDS, Domains, "domains, `tiered`, half-life 7 days, jobs of 10 s"),
    cell(Tiered, 7, TEN_MINUTES, Users, "users, `tiered`, half-life 7 days, jobs of 10 min"),
    cell(Tiered, 7, TEN_MINUTES, Domains, "domains, `tiered`, half-life 7 days, jobs of 10 min"),
    cell(Tiered, 7, SIX_HOURS, Users, "users, `tiered`, half-life 7 days, jobs of 6 h"),
    cell(Tiered, 7, SIX_HOURS, Domains, "domains, `tiered`, half-life 7 days, jobs of 6 h"),
    cell(Tiered, 7, Lengths::Mix, Users, "users, `tiered`, half-life 7 days, a mix of lengths"),
    cell(Tiered, 7, Lengths::Mix, Domains, "domains, `tiered`, half-life 7 days, a mix of lengths"),
];

static FIGURES: &[&Figure] = &{
    let mut figures = [&CELLS[0].figure; CELLS.len()];
    let mut at = 0;
    while at < CELLS.len() {
        figures[at] = &CELLS[at].figure;
        at += 1;
    }
    figures
};

fn run() {
    let mut known: BTreeMap<String, (Got, Got)> = BTreeMap::new();
    for cell in &CELLS {
        let loops = format!("{} {} {:?}", cell.order.as_str(), cell.half_life_days, cell.lengths);
        let (got, plain) = known.entry(loops.clone()).or_insert_with(|| {
            let got = |mode| delivered(Scene::new(&LARGE, cell.order, mode, cell.half_life_days, cell.lengths));
            let both = (got(SequenceMode::Progressive), got(SequenceMode::Plain));
            println!(
                "{loops}: {} of {} users are entitled to less than two jobs in a half-life",
                both.0.left_out, LARGE.users
            );
            both
        });
        let figure = |got: &Got| if cell.tier == Tier::Users { got.users } else { got.domains };
        cell.figure.measured(On::Memory, figure(got), Some(figure(plain)));
    }
}
