//! The schema that this version makes, and the one that it takes over: they differ in the order of columns only.

use std::collections::BTreeSet;

use fairshared::store::Store;
use sea_orm::{ConnectionTrait, DbBackend, Statement};

use super::of_version_0_1;
use crate::support::database::TestDb;
use crate::support::on_both;

/// One line for each part of the schema, but for the table of the migrations themselves.
const OF_SQLITE: [&str; 4] = [
    "SELECT 'table ' || l.name || ' without rowid: ' || l.wr || ' autoincrement: ' || (m.sql LIKE '%AUTOINCREMENT%') \
     FROM pragma_table_list l JOIN sqlite_master m ON m.name = l.name \
     WHERE l.type = 'table' AND l.name NOT LIKE 'sqlite_%' AND l.name <> 'seaql_migrations'",
    "SELECT 'column ' || m.name || '.' || c.name || ' ' || lower(c.type) || ' not null: ' || c.\"notnull\" \
     || ' default: ' || coalesce(c.dflt_value, 'none') || ' place in the key: ' || c.pk \
     FROM sqlite_master m JOIN pragma_table_xinfo(m.name) c \
     WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'seaql_migrations'",
    "SELECT 'index ' || i.name || ' of ' || m.name || ' unique: ' || i.\"unique\" || ' origin: ' || i.origin || ' columns: ' \
     || (SELECT group_concat(coalesce(c.name, 'the row') || ' ' || c.\"desc\" || ' ' || c.coll || ' ' || c.key, ', ') \
         FROM (SELECT * FROM pragma_index_xinfo(i.name) ORDER BY seqno) c WHERE c.key) \
     || coalesce((SELECT substr(d.sql, instr(d.sql, ' WHERE ')) FROM sqlite_master d WHERE d.name = i.name AND i.partial), '') \
     FROM sqlite_master m JOIN pragma_index_list(m.name) i WHERE m.type = 'table' AND m.name <> 'seaql_migrations'",
    "SELECT type || ' ' || name || ' ' || sql FROM sqlite_master WHERE type IN ('view', 'trigger')",
];

/// As above. The partition of a day belongs to the data.
const OF_POSTGRES: [&str; 6] = [
    "SELECT 'table ' || relname || ' kind: ' || relkind::text || ' options: ' || coalesce(reloptions::text, 'none') \
     || ' partitions: ' || coalesce(pg_get_partkeydef(oid), 'none') || ' part: ' || coalesce(pg_get_expr(relpartbound, oid), 'none') \
     FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'seaql_migrations' \
     AND relname !~ '^usage_slices_day_'",
    "SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' not null: ' \
     || a.attnotnull || ' default: ' || coalesce(pg_get_expr(d.adbin, d.adrelid), 'none') || ' identity: ' || a.attidentity::text \
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v') AND a.attnum > 0 AND NOT a.attisdropped \
     AND c.relname <> 'seaql_migrations' AND c.relname !~ '^usage_slices_day_'",
    // The name of a primary key has no meaning.
    "SELECT 'constraint of ' || c.relname || ' ' || CASE WHEN k.contype = 'p' THEN '' ELSE k.conname END || ' ' \
     || pg_get_constraintdef(k.oid) || ' options: ' || coalesce(i.reloptions::text, 'none') FROM pg_constraint k \
     JOIN pg_class c ON c.oid = k.conrelid LEFT JOIN pg_class i ON i.oid = k.conindid \
     WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> 'seaql_migrations' AND c.relname !~ '^usage_slices_day_'",
    "SELECT 'index ' || pg_get_indexdef(i.indexrelid) || ' options: ' || coalesce(c.reloptions::text, 'none') FROM pg_index i \
     JOIN pg_class c ON c.oid = i.indexrelid \
     WHERE c.relnamespace = 'public'::regnamespace AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)",
    "SELECT 'view ' || relname || ' ' || pg_get_viewdef(oid) FROM pg_class \
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('v', 'm')",
    "SELECT 'sequence ' || sequencename || ' ' || data_type::text || ' from ' || start_value || ' by ' || increment_by \
     || ' to ' || max_value || ' cycle: ' || cycle || ' of ' \
     || coalesce((SELECT r.relname || '.' || a.attname FROM pg_depend d JOIN pg_class r ON r.oid = d.refobjid \
        JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = d.refobjsubid \
        WHERE d.objid = sequencename::regclass AND d.deptype IN ('a', 'i')), 'none') \
     FROM pg_sequences WHERE schemaname = 'public'",
];

/// The parts of the schema of a database.
async fn parts(store: &Store) -> BTreeSet<String> {
    let backend = store.backend();
    let queries = if backend == DbBackend::Postgres { &OF_POSTGRES[..] } else { &OF_SQLITE };
    let mut found = BTreeSet::new();
    for sql in queries {
        let rows = store.read().query_all_raw(Statement::from_string(backend, *sql)).await.unwrap();
        found.extend(rows.iter().map(|row| row.try_get_by_index::<String>(0).unwrap()));
    }
    found
}

/// The parts of the schema after a change of the migrations.
async fn parts_after(db: &TestDb, change: impl AsyncFn(&Store)) -> BTreeSet<String> {
    let store = db.store().await;
    change(&store).await;
    let found = parts(&store).await;
    store.close().await.unwrap();
    found
}

async fn up(store: &Store) {
    store.migrate_up().await.unwrap();
    let schema = store.schema().await.unwrap();
    assert!(schema.pending.is_empty() && schema.missing_of_version_0_1.is_none(), "{schema:?}");
}

async fn down(store: &Store) {
    let steps = store.schema().await.unwrap().applied.len();
    store.migrate_down(u32::try_from(steps).unwrap()).await.unwrap();
}

/// The parts that only one of two schemas has.
fn differences(one: &BTreeSet<String>, other: &BTreeSet<String>) -> Vec<String> {
    let only =
        |one: &BTreeSet<String>, other, name| one.difference(other).map(|part| format!("{name}: {part}")).collect();
    let (before, after): (Vec<String>, Vec<String>) = (only(one, other, "before"), only(other, one, "after"));
    [before, after].concat()
}

on_both! {
    async fn a_database_that_is_taken_over_has_the_schema_of_a_new_one(db: TestDb) {
        let fresh = parts_after(&db, async |_| {}).await;
        assert!(fresh.len() > 300, "{fresh:?}");
        let old = of_version_0_1(&db).await;
        let taken_over = parts_after(&old, up).await;
        assert_eq!(differences(&taken_over, &fresh), [""; 0]);
    }

    async fn a_reversal_leaves_nothing_and_the_schema_comes_back(db: TestDb) {
        let fresh = parts_after(&db, async |_| {}).await;
        let old = of_version_0_1(&db).await;
        parts_after(&old, up).await;
        for db in [&db, &old] {
            assert_eq!(parts_after(db, down).await, BTreeSet::new());
            assert_eq!(differences(&parts_after(db, up).await, &fresh), [""; 0]);
        }
    }
}
