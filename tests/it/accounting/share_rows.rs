//! The stored form of shares: a row for each owner, which people read with SQL.

use std::collections::{BTreeMap, BTreeSet};

use fairshared::domain::changes::SuspensionChanges;
use fairshared::domain::factor::DecayedHistory;
use fairshared::domain::hierarchy::{Hierarchy, Share};
use fairshared::domain::ids::{Member, Owner, ProjectId, UserId};
use fairshared::domain::run_times::RunTimes;
use fairshared::domain::slots::SlotUsages;
use fairshared::domain::time::Timestamp;
use fairshared::domain::weight::Weight;
use fairshared::store::{Store, groups, shares};
use sea_orm::DbBackend;
use serde_json::json;
use uuid::Uuid;

use super::buckets::plant;
use super::user;
use super::weights::{of_user, set};
use crate::support::dice::Dice;
use crate::support::fixture::{Fixture, GROUP, id, kernel};
use crate::support::on_both;

type Users = BTreeMap<Member, Share>;

/// A member of a hundred.
fn random_member(dice: &mut Dice) -> Member {
    let user = [0, u128::MAX, dice.roll(48).into()][dice.roll(8).min(2) as usize];
    Member { user: UserId(Uuid::from_u128(user)), project: ProjectId(id(dice.pick(&["ml", "vision"]))) }
}

/// A share with up to 64 slots.
fn random_share(dice: &mut Dice) -> Share {
    let slots = if dice.one_in(20) { dice.roll(65) } else { dice.roll(4) };
    let total_decayed_usage: BTreeMap<String, String> =
        (0..slots).map(|n| (format!("{n:060}"), format!("{}.000000000001", dice.roll(1_000_000_000_000)))).collect();
    let history = DecayedHistory {
        normalized_usage: f64::from_bits(dice.roll(1 << 62)),
        total_decayed_usage: SlotUsages::from_json(&json!(total_decayed_usage).to_string()).unwrap(),
        ..DecayedHistory::default()
    };
    let weight = dice.one_in(3).then(|| Weight::from_ten_thousandths(1 + dice.roll(900_000).cast_signed()).unwrap());
    let times = if dice.one_in(2) {
        let end = Timestamp::from_micros(dice.roll(1 << 40).cast_signed());
        RunTimes::of(Timestamp::from_micros(0), end, &SuspensionChanges::default(), Some(60))
    } else {
        RunTimes::default()
    };
    Share::new(weight, history).with_factor(f64::from_bits(dice.roll(1 << 62))).with_run_times(times)
}

/// Stores the shares of users who have `changed`.
async fn save(store: &Store, users: &Users, changed: impl IntoIterator<Item = Member>) {
    let group = groups::find(store.read(), GROUP).await.unwrap().unwrap();
    let hierarchy = Hierarchy::default().with_users(users.clone());
    let changed: BTreeSet<Owner> = changed.into_iter().map(Owner::User).collect();
    shares::save(store.write(), &group, &hierarchy, &changed, Timestamp::from_micros(0)).await.unwrap();
}

/// The shares of users as they are stored.
async fn load(store: &Store, group: &str) -> fairshared::store::Result<Users> {
    let group = groups::find(store.read(), group).await?.unwrap();
    Ok(shares::load(store.read(), &group, |_| None).await?.await?.users().clone())
}

/// Changes the histories of users in the database, as no use-case does.
pub async fn damage(f: &Fixture) {
    let store = f.service.store();
    let other = |share: Share| {
        let mut history = (*share.history).clone();
        history.normalized_usage += 1e-15;
        Share::new(share.weight, history).with_factor(share.fair_share_factor).with_run_times(share.run_times())
    };
    let users: Users =
        load(store, GROUP).await.unwrap().into_iter().map(|(member, share)| (member, other(share))).collect();
    save(store, &users, users.keys().copied()).await;
}

on_both! {
    async fn each_user_has_the_share_that_was_stored_last(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        let store = f.service.store();
        let mut dice = Dice::seeded(17);
        let mut users = Users::new();
        for round in 0..60 {
            let most = if dice.one_in(5) { 120 } else { 5 };
            let changed: BTreeSet<Member> = (0..dice.roll(most)).map(|_| random_member(&mut dice)).collect();
            users.extend(changed.iter().map(|member| (*member, random_share(&mut dice))));
            save(store, &users, changed).await;
            assert_eq!(load(store, GROUP).await.unwrap(), users, "round {round}");
        }
    }

    async fn what_a_failed_commit_has_added_is_not_there(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        let running = |n: usize| kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-01-13T12:00:00Z");
        f.ingest(&(0..40).map(running).collect::<Vec<_>>()).await;
        f.tick().await;
        let weigh = async |user: &str, weight: &str| set(&f, &[(of_user(user, Some("ml")), Some(weight))]).await;
        weigh("u1", "2").await.unwrap();
        let (refuse, allow): (&[&str], &[&str]) = match f.service.store().backend() {
            DbBackend::Sqlite => (
                &["CREATE TRIGGER refuse BEFORE UPDATE ON resource_groups WHEN NEW.shares_revision > OLD.shares_revision \
                   BEGIN SELECT RAISE(ABORT, 'refused'); END"],
                &["DROP TRIGGER refuse"],
            ),
            _ => (
                &[
                    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$",
                    "CREATE TRIGGER refuse BEFORE UPDATE ON resource_groups FOR EACH ROW \
                     WHEN (NEW.shares_revision > OLD.shares_revision) EXECUTE FUNCTION refuse()",
                ],
                &["DROP TRIGGER refuse ON resource_groups"],
            ),
        };
        for sql in refuse {
            plant(&f, sql).await;
        }
        assert!(weigh("u2", "3").await.is_err());
        for sql in allow {
            plant(&f, sql).await;
        }
        weigh("u3", "4").await.unwrap();
        weigh("u2", "5").await.unwrap();
        let weights = [("u1", Some("2")), ("u2", Some("5")), ("u3", Some("4")), ("u4", None)];
        let f = f.restart().await;
        for (name, weight) in weights {
            assert_eq!(user(&f, name, "ml").share.weight.map(|weight| weight.to_string()).as_deref(), weight, "{name}");
        }
        f.assert_conserved().await;
    }

    async fn a_damaged_row_is_an_error_that_says_so(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[kernel("k", "ann", "ml", "2026-01-13T12:00:00Z")]).await;
        f.tick().await;
        plant(&f, "UPDATE user_fair_shares SET total_decayed_usage = '{'").await;
        let error = load(f.service.store(), GROUP).await.unwrap_err().to_string();
        assert!(error.contains("damaged") && error.contains("slot map {"), "{error}");
    }
}
