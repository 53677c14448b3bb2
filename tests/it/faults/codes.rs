//! Errors as the server itself raises them.

use fairshared::store::{Store, StoreError, TransientFault};
use sea_orm::ConnectionTrait;

use super::support::until;
use crate::support::database::postgres;

#[expect(clippy::disallowed_methods, reason = "no statement of the product raises errors at will")]
async fn raised(store: &Store, code: &str) -> StoreError {
    let sql = format!("DO $$ BEGIN RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '{code}'; END $$");
    store.write().execute_unprepared(&sql).await.unwrap_err().into()
}

fn fault(error: &StoreError) -> Option<TransientFault> {
    match error {
        StoreError::Unavailable { fault, .. } => Some(*fault),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codes_decide_and_messages_do_not() {
    let db = postgres().await;
    let store = db.store().await;
    for (code, expected) in [
        ("40001", Some(TransientFault::Busy)),
        ("40P01", Some(TransientFault::Busy)),
        ("55P03", Some(TransientFault::Busy)),
        ("53300", Some(TransientFault::Busy)),
        ("57014", Some(TransientFault::Busy)),
        ("57P01", Some(TransientFault::Unreachable)),
        ("08006", Some(TransientFault::Unreachable)),
        ("58030", Some(TransientFault::Unreachable)),
        ("22012", None),
        ("P0001", None),
    ] {
        let error = raised(&store, code).await;
        assert_eq!(fault(&error), expected, "{code}");
        // The cause of the error is the driver's.
        assert!(std::error::Error::source(&error).is_some(), "{code}");
        assert_eq!(store.write_refusals(), [], "{code}");
    }
}

/// A condition that lasts is remembered until writes have gone well for a while.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_and_a_standby_are_remembered() {
    let db = postgres().await;
    let store = db.store().await;
    for (code, expected) in [("53100", TransientFault::Full), ("25006", TransientFault::ReadOnly)] {
        assert_eq!(fault(&raised(&store, code).await), Some(expected));
        assert_eq!(store.write_refusals().iter().map(|t| t.fault).collect::<Vec<_>>(), [expected]);
        #[expect(clippy::disallowed_methods, reason = "any write that goes well")]
        until("the end of it", async || {
            store.write().execute_unprepared("ANALYZE seaql_migrations").await.unwrap();
            store.write_refusals().is_empty()
        })
        .await;
    }
}
