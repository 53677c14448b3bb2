//! Views for people who read the database with SQL: usage records and usage by day, with names in place of keys, and with
//! instants, days and UUIDs in the database's own types. The program does not read them.
//!
//! The tables are hard to read with SQL, because records come by the million: they have integer keys, and values that many
//! records share are stored once. The usage of a user on a day is stored once as well: as a bucket if one equals it, and as
//! a row of its own otherwise.

use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::execute;

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing";

const VIEWS: [&str; 2] = ["kernel_usage_records", "usage_days"];

/// Expressions in the dialect of one database.
struct Dialect {
    /// An instant, from microseconds since 1970.
    instant: fn(&str) -> String,
    /// A day, from days since 1970.
    day: fn(&str) -> String,
    uuid: fn(&str) -> String,
    /// The slots of a record times its seconds, as a JSON object. `SQLite` has no decimals, so that its products have about 15 digits.
    usage: &'static str,
}

const POSTGRES: Dialect = Dialect {
    instant: |micros| format!("timestamptz 'epoch' + {micros} * interval '1 microsecond'"),
    day: |days| format!("date '1970-01-01' + {days}"),
    uuid: str::to_owned,
    usage: "(SELECT jsonb_object_agg(s.key, trim_scale(s.value::numeric * (r.period_end - r.period_start) * 0.000001)) \
            FROM jsonb_each_text(t.slots::jsonb) s)",
};

const SQLITE: Dialect = Dialect {
    instant: |micros| {
        format!(
            "strftime('%Y-%m-%dT%H:%M:%S', {micros} / 1000000, 'unixepoch') || printf('.%06dZ', {micros} % 1000000)"
        )
    },
    day: |days| format!("date({days} * 86400, 'unixepoch')"),
    uuid: |bytes| {
        let part = |from: u8, length: u8| format!("substr(lower(hex({bytes})), {from}, {length})");
        [part(1, 8), part(9, 4), part(13, 4), part(17, 4), part(21, 12)].join(" || '-' || ")
    },
    usage: "(SELECT json_group_object(s.key, CAST(s.value AS REAL) * (r.period_end - r.period_start) / 1e6) \
            FROM json_each(t.slots) s)",
};

impl Dialect {
    fn kernel_usage_records(&self) -> String {
        let [kernel, session, user, project] =
            ["k.kernel_id", "k.session_id", "k.user_uuid", "k.project_id"].map(self.uuid);
        let [start, end] = ["r.period_start", "r.period_end"].map(self.instant);
        format!(
            "CREATE VIEW kernel_usage_records AS SELECT {kernel} AS kernel_id, {session} AS session_id, \
             {user} AS user_uuid, {project} AS project_id, t.domain_name, g.name AS resource_group, \
             {start} AS period_start, {end} AS period_end, {usage} AS resource_usage \
             FROM usage_slices r JOIN resource_groups g ON g.group_key = r.group_key \
             JOIN kernels k ON k.kernel_key = r.kernel_key \
             JOIN slice_kinds t ON t.group_key = r.group_key AND t.kind = r.kind",
            usage = self.usage
        )
    }

    fn usage_days(&self) -> String {
        let [user, project] = ["t.user_uuid", "t.project_id"].map(self.uuid);
        let day = (self.day)("t.day");
        let of = |table: &str| {
            format!(
                "SELECT g.name AS resource_group, {day} AS day, t.domain_name, {project} AS project_id, {user} AS user_uuid, \
                 t.resource_usage, t.records FROM {table} t JOIN resource_groups g ON g.group_key = t.group_key"
            )
        };
        format!("CREATE VIEW usage_days AS {} UNION ALL {}", of("day_totals"), of("bucket_totals"))
    }
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let dialect = if db.get_database_backend() == DbBackend::Postgres { POSTGRES } else { SQLITE };
        execute(db, &dialect.kernel_usage_records(), []).await?;
        execute(db, &dialect.usage_days(), []).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        for view in VIEWS {
            execute(db, &format!("DROP VIEW {view}"), []).await?;
        }
        Ok(())
    }
}
