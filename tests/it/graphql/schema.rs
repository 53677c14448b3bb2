//! The schema as a document.

use std::path::PathBuf;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema.graphql")
}

#[test]
fn the_checked_in_schema_is_the_one_that_is_served() {
    let served = fairshared::graphql::sdl();
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(file(), &served).unwrap();
    }
    let stored = std::fs::read_to_string(file()).unwrap();
    assert!(stored == served, "schema.graphql is stale: run the tests once with UPDATE_SCHEMAS=1");
}
