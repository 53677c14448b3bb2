//! How shares of users are stored: many on a page, and what changes of few on pages of its own.

use std::collections::BTreeMap;

use fairshared::domain::changes::Changes;
use fairshared::domain::factor::History;
use fairshared::domain::hierarchy::Share;
use fairshared::domain::ids::{GroupKey, Member, ProjectId, UserId};
use fairshared::domain::run_times::RunTimes;
use fairshared::domain::slots::Usages;
use fairshared::domain::time::Timestamp;
use fairshared::domain::weight::Weight;
use fairshared::store::Store;
use fairshared::store::share_pages::{self, StoredShares};
use sea_orm::DbBackend;
use serde_json::json;
use uuid::Uuid;

use super::buckets::plant;
use super::weights::{of_user, set};
use super::{member, number, user};
use crate::support::database;
use crate::support::dice::Dice;
use crate::support::fixture::{Fixture, GROUP, id, kernel, with};
use crate::support::on_both;

type Users = BTreeMap<Member, Share>;

const KEY: GroupKey = GroupKey(1);

/// A member of a hundred.
fn someone(dice: &mut Dice) -> Member {
    let user = [0, u128::MAX, dice.roll(48).into()][dice.roll(8).min(2) as usize];
    Member { user: UserId(Uuid::from_u128(user)), project: ProjectId(id(dice.pick(&["ml", "vision"]))) }
}

/// A share of any size: some take a page, some more than one.
fn something(dice: &mut Dice) -> Share {
    let slots = if dice.one_in(20) { dice.roll(65) } else { dice.roll(4) };
    let total_decayed_usage: BTreeMap<String, String> =
        (0..slots).map(|n| (format!("{n:060}"), format!("{}.000000000001", dice.roll(1_000_000_000_000)))).collect();
    let history = History {
        normalized_usage: f64::from_bits(dice.roll(1 << 62)),
        total_decayed_usage: Usages::from_json(&json!(total_decayed_usage).to_string()).unwrap(),
        ..History::default()
    };
    let weight = dice.one_in(3).then(|| Weight::from_ten_thousandths(1 + dice.roll(900_000).cast_signed()).unwrap());
    let times = if dice.one_in(2) {
        let end = Timestamp::from_micros(dice.roll(1 << 40).cast_signed());
        RunTimes::of(Timestamp::from_micros(0), end, &Changes::default(), Some(60))
    } else {
        RunTimes::default()
    };
    Share::new(weight, history).with_factor(f64::from_bits(dice.roll(1 << 62))).with_run_times(times)
}

async fn save(store: &Store, users: &Users, changed: &[Member], stored: StoredShares) -> StoredShares {
    let changed: Vec<(&Member, &Share)> = changed.iter().map(|member| users.get_key_value(member).unwrap()).collect();
    share_pages::save(store.write(), KEY, users, &changed, stored).await.unwrap()
}

/// The shares of users as they are stored.
async fn load(store: &Store, key: GroupKey) -> fairshared::store::Result<(StoredShares, share_pages::Users)> {
    share_pages::load(store.read(), key).await?.await
}

async fn bytes(store: &Store) -> i64 {
    number(store, "SELECT CAST(SUM(LENGTH(shares)) AS BIGINT) FROM user_share_pages").await
}

/// Changes the histories of users in the database, as no use-case does.
pub async fn damage(f: &Fixture) {
    let store = f.service.store();
    let (stored, users) = load(store, f.key()).await.unwrap();
    let other = |share: Share| {
        let mut history = (*share.history).clone();
        history.normalized_usage += 1e-15;
        Share::new(share.weight, history).with_factor(share.fair_share_factor).with_run_times(share.run_times())
    };
    let users: Users = users.into_iter().map(|(member, share)| (member, other(share))).collect();
    let all: Vec<(&Member, &Share)> = users.iter().collect();
    share_pages::save(store.write(), f.key(), &users, &all, stored).await.unwrap();
}

on_both! {
    async fn each_user_has_the_share_that_was_stored_last(db: TestDb) {
        let store = db.store().await;
        let mut dice = Dice::seeded(17);
        let (mut users, mut stored) = (Users::new(), StoredShares::default());
        for round in 0..120 {
            let most = if dice.one_in(5) { 120 } else { 5 };
            let mut changed: Vec<Member> = (0..dice.roll(most)).map(|_| someone(&mut dice)).collect();
            changed.sort();
            changed.dedup();
            users.extend(changed.iter().map(|member| (*member, something(&mut dice))));
            stored = save(&store, &users, &changed, stored).await;
            let (loaded, read) = load(&store, KEY).await.unwrap();
            assert_eq!(read, users.clone().into_iter().collect::<Vec<_>>(), "round {round}");
            assert_eq!(loaded, stored, "round {round}");
        }
    }

    async fn what_is_outdated_is_a_quarter_at_most(db: TestDb) {
        let store = db.store().await;
        let mut dice = Dice::seeded(18);
        let share = |dice: &mut Dice| Share::new(None, History::default()).with_factor(dice.roll(1_000) as f64);
        let members: Vec<Member> = (0..1_000u128)
            .map(|n| Member { user: UserId(Uuid::from_u128(n)), project: ProjectId(id("ml")) })
            .collect();
        let mut users: Users = members.iter().map(|member| (*member, share(&mut dice))).collect();
        let mut stored = save(&store, &users, &members, StoredShares::default()).await;
        let all = bytes(&store).await;
        let mut most = 0;
        for _ in 0..100 {
            let mut changed: Vec<Member> = (0..10).map(|_| *dice.item(&members)).collect();
            changed.sort();
            changed.dedup();
            users.extend(changed.iter().map(|member| (*member, share(&mut dice))));
            stored = save(&store, &users, &changed, stored).await;
            most = most.max(bytes(&store).await);
        }
        // As much as may be added is added, before all is written again. Each page has a byte more.
        assert!(most > all * 6 / 5 && most <= all * 5 / 4 + 100, "{most} of {all} bytes");
    }

    async fn a_migration_keeps_the_shares_of_users(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T13:00:00Z"});
        let name = |n: usize| format!("u{n}");
        let kernels: Vec<_> = (0..300).map(|n| with(kernel(&format!("k{n}"), &name(n), "ml", "2026-01-13T12:00:00Z"), &ended)).collect();
        f.ingest(&kernels).await;
        f.tick().await;
        let weights = [("u7", "2.5"), ("u8", "0.3"), ("u7", "4")];
        for (user, weight) in weights {
            set(&f, &[(of_user(user, Some("ml")), Some(weight))]).await.unwrap();
        }
        let store = f.service.store().clone();
        let users = async || load(&store, f.key()).await.unwrap().1;
        let before = users().await;
        assert_eq!(before.len(), 300);
        for _ in 0..2 {
            database::take_back(&store, "m0016_share_pages").await;
            assert_eq!(number(&store, "SELECT COUNT(*) FROM user_fair_shares").await, 300);
            store.migrate_up().await.unwrap();
            assert_eq!(users().await, before);
        }
        let f = f.restart().await;
        assert_eq!(user(&f, "u7", "ml").share.weight.unwrap().to_string(), "4");
        f.assert_conserved().await;
    }

    async fn a_migration_takes_more_rows_than_it_holds_at_once(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.group("other", &json!({})).await;
        let store = f.service.store().clone();
        database::take_back(&store, "m0016_share_pages").await;
        // Every user is in two projects, so that one of them may be the last of its part.
        let (user, project) = match store.backend() {
            DbBackend::Sqlite => ("randomblob(16)", "CAST(printf('%016d', p) AS BLOB)"),
            _ => ("gen_random_uuid()", "lpad(p::text, 32, '0')::uuid"),
        };
        for (group, users) in [(GROUP, 5_003), ("other", 15_000)] {
            plant(&f, &format!(
                "INSERT INTO user_fair_shares (resource_group, user_uuid, project_id, weight, total_decayed_usage, normalized_usage, \
                 fair_share_factor, run_times, created_at, updated_at) \
                 WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {users}), \
                 users AS MATERIALIZED (SELECT n, {user} AS id FROM numbers), \
                 projects (p) AS (VALUES (1), (2)) \
                 SELECT '{group}', id, {project}, CASE WHEN n % 3 = 0 THEN 10000 + n END, '{{\"cpu\":\"' || n || '.5\"}}', n / 7.0, p / 3.0, NULL, 0, 0 \
                 FROM users CROSS JOIN projects"
            )).await;
        }
        // Sums of whole numbers, so that their order does not count.
        let sums = "SELECT CAST(SUM(COALESCE(weight, 7) * LENGTH(total_decayed_usage) + CAST(normalized_usage * 7 AS BIGINT) \
                    + CAST(fair_share_factor * 3 AS BIGINT)) AS BIGINT) FROM user_fair_shares";
        let before = number(&store, sums).await;
        store.migrate_up().await.unwrap();
        for (key, users) in [(f.key(), 5_003), (GroupKey(f.key().0 + 1), 15_000)] {
            assert_eq!(load(&store, key).await.unwrap().1.len(), users * 2);
        }
        database::take_back(&store, "m0016_share_pages").await;
        assert_eq!(number(&store, sums).await, before);
        assert_eq!(number(&store, "SELECT COUNT(*) FROM user_fair_shares").await, 2 * (5_003 + 15_000));
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

    async fn a_damaged_page_is_told_of(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T14:00:00Z").await;
        f.ingest(&[kernel("k", "ann", "ml", "2026-01-13T12:00:00Z")]).await;
        f.tick().await;
        plant(&f, "UPDATE user_share_pages SET shares = substr(shares, 1, 40)").await;
        let read = load(f.service.store(), f.key()).await.map(|_| ());
        let told = read.unwrap_err().to_string();
        assert!(told.contains("page 0 of shares") && told.matches("damaged").count() == 1, "{told}");
    }
}

/// What does not fit would lie beside the table, and each run would leave as much behind there as it writes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_the_next_version_of_a_page_lies_beside_it() {
    let db = database::postgres().await;
    let store = db.store().await;
    let mut dice = Dice::seeded(19);
    let members: Vec<Member> = (0..2_000).map(|n| member(&format!("u{n}"), "ml")).collect();
    let mut stored = StoredShares::default();
    for _ in 0..2 {
        let share =
            |dice: &mut Dice| Share::new(None, History::default()).with_factor(f64::from_bits(dice.roll(1 << 62)));
        let users: Users = members.iter().map(|member| (*member, share(&mut dice))).collect();
        stored = save(&store, &users, &users.keys().copied().collect::<Vec<_>>(), stored).await;
        let rows = number(&store, "SELECT COUNT(*) FROM user_share_pages").await;
        assert!(rows > 20);
        assert_eq!(number(&store, "SELECT pg_relation_size('user_share_pages')").await, rows * 8_192);
        let beside = "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'user_share_pages'";
        assert_eq!(number(&store, beside).await, 0);
    }
}
