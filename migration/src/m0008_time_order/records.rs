//! Copies records, some thousands at a time, because a database may have more of them than fit into memory.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use sea_orm::{ConnectionTrait, DbBackend, DbErr, Value};
use sea_orm_migration::SchemaManagerConnection;

use super::super::changes::{execute, groups, query};
use super::decimals;

/// The most records in memory at a time.
const PAGE: usize = 20_000;
/// Rows of one statement.
const ROWS: usize = 1_000;
const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Stores every record of `kernel_usage_records` in `usage_slices`, and the values that records share in `slice_kinds`.
pub async fn forward(db: &SchemaManagerConnection<'_>) -> Result<(), DbErr> {
    let mut days = BTreeSet::new();
    for (group_key, name) in groups(db).await? {
        let mut kinds: HashMap<(String, String), (i32, i64)> = HashMap::new();
        let mut slots: HashMap<(String, u64), String> = HashMap::new();
        let mut position = (i64::MIN, i64::MIN);
        loop {
            let sql = format!(
                "SELECT k.kernel_key, r.period_start, r.period_end, r.domain_name, r.resource_usage \
                 FROM kernel_usage_records r JOIN kernels k ON k.kernel_id = r.kernel_id WHERE r.resource_group = $1 \
                 AND r.period_start >= $2 AND (r.period_start > $2 OR k.kernel_key > $3) \
                 ORDER BY r.period_start, k.kernel_key LIMIT {PAGE}"
            );
            let page = query(db, &sql, [name.as_str().into(), position.0.into(), position.1.into()]).await?;
            let mut rows = Vec::with_capacity(page.len());
            for row in &page {
                let (key, start, end): (i64, i64, i64) =
                    (row.try_get("", "kernel_key")?, row.try_get("", "period_start")?, row.try_get("", "period_end")?);
                position = (start, key);
                let usage: String = row.try_get("", "resource_usage")?;
                let micros = end.abs_diff(start);
                let held = match slots.entry((usage, micros)) {
                    std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                    std::collections::hash_map::Entry::Vacant(place) => {
                        let amounts = decimals::amounts(&place.key().0, micros)?;
                        place.insert(amounts)
                    }
                };
                let day = start.div_euclid(MICROS_PER_DAY);
                if days.insert(day) && db.get_database_backend() == DbBackend::Postgres {
                    partition(db, day).await?;
                }
                let next = i32::try_from(kinds.len() + 1).unwrap_or(i32::MAX);
                let kind = kinds.entry((row.try_get("", "domain_name")?, held.clone())).or_insert((next, day));
                kind.1 = kind.1.max(day);
                rows.push(format!("({end},{key},{start},{group_key},{},1)", kind.0));
            }
            insert(db, "usage_slices (period_end, kernel_key, period_start, group_key, kind, slices)", &rows).await?;
            if page.len() < PAGE {
                break;
            }
            // The cache of converted values stays for the next page only while it is small.
            slots.retain(|_, _| kinds.len() < PAGE);
        }
        for ((domain, held), (kind, used_on)) in &kinds {
            let sql =
                "INSERT INTO slice_kinds (group_key, kind, used_on, domain_name, slots) VALUES ($1, $2, $3, $4, $5)";
            let used_on = i32::try_from(*used_on).unwrap_or(i32::MAX);
            let values: [Value; 5] =
                [group_key.into(), (*kind).into(), used_on.into(), domain.as_str().into(), held.as_str().into()];
            execute(db, sql, values).await?;
        }
        let made = format!("UPDATE resource_groups SET kinds_made = {} WHERE group_key = {group_key}", kinds.len());
        db.execute_unprepared(&made).await?;
    }
    Ok(())
}

/// Creates the partition with the records of one day.
async fn partition(db: &SchemaManagerConnection<'_>, day: i64) -> Result<(), DbErr> {
    // A record that ends at midnight belongs to the day before.
    let (from, to) = (day * MICROS_PER_DAY + 1, (day + 1) * MICROS_PER_DAY + 1);
    let sql =
        format!("CREATE TABLE usage_slices_day_{day} PARTITION OF usage_slices FOR VALUES FROM ({from}) TO ({to})");
    db.execute_unprepared(&sql).await?;
    // Records are inserted in the order of the key, so that index pages need no free space.
    db.execute_unprepared(&format!("ALTER INDEX usage_slices_day_{day}_pkey SET (fillfactor = 100)")).await.map(|_| ())
}

/// Stores every record of `usage_slices` in `kernel_usage_records`.
pub async fn back(db: &SchemaManagerConnection<'_>) -> Result<(), DbErr> {
    for (group_key, name) in groups(db).await? {
        let mut usages: HashMap<(String, u64), String> = HashMap::new();
        let mut position = (i64::MIN, i64::MIN);
        loop {
            let sql = format!(
                "SELECT s.kernel_key, s.period_start, s.period_end, d.domain_name, d.slots \
                 FROM usage_slices s JOIN slice_kinds d ON d.group_key = s.group_key AND d.kind = s.kind \
                 WHERE s.group_key = $1 AND s.period_end >= $2 AND (s.period_end > $2 OR s.kernel_key > $3) \
                 ORDER BY s.period_end, s.kernel_key LIMIT {PAGE}"
            );
            let page = query(db, &sql, [group_key.into(), position.0.into(), position.1.into()]).await?;
            for row in &page {
                let (key, start, end): (i64, i64, i64) =
                    (row.try_get("", "kernel_key")?, row.try_get("", "period_start")?, row.try_get("", "period_end")?);
                position = (end, key);
                let (held, micros): (String, u64) = (row.try_get("", "slots")?, end.abs_diff(start));
                let known = (held, micros);
                if !usages.contains_key(&known) {
                    let usage = decimals::usages(&known.0, micros)?;
                    usages.insert(known.clone(), usage);
                }
                let domain: String = row.try_get("", "domain_name")?;
                let sql = "INSERT INTO kernel_usage_records (kernel_id, period_start, period_end, session_id, user_uuid, \
                           project_id, domain_name, resource_group, resource_usage) \
                           SELECT kernel_id, $1, $2, session_id, user_uuid, project_id, $3, $4, $5 FROM kernels_after \
                           WHERE kernel_key = $6";
                let values: [Value; 6] = [
                    start.into(),
                    end.into(),
                    domain.into(),
                    name.as_str().into(),
                    usages[&known].as_str().into(),
                    key.into(),
                ];
                execute(db, sql, values).await?;
            }
            if page.len() < PAGE {
                break;
            }
            usages.clear();
        }
    }
    Ok(())
}

async fn insert(db: &SchemaManagerConnection<'_>, into: &str, rows: &[String]) -> Result<(), DbErr> {
    for part in rows.chunks(ROWS) {
        let mut sql = String::new();
        // Writing to a string cannot fail.
        let _ = write!(sql, "INSERT INTO {into} VALUES {}", part.join(","));
        db.execute_unprepared(&sql).await?;
    }
    Ok(())
}
