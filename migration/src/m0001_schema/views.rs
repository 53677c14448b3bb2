//! Views for people who read the database with SQL: usage records and usage by day, with names in place of keys, and with
//! instants, days and UUIDs in the database's own types. The program does not read them.
//!
//! The tables are hard to read with SQL, because records come by the million: they have integer keys, and values that many
//! records share are stored once.

use sea_orm::DbBackend;

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

/// The names of the views and their queries.
pub fn views(backend: DbBackend) -> [(&'static str, String); 2] {
    let dialect = if backend == DbBackend::Postgres { POSTGRES } else { SQLITE };
    [("kernel_usage_records", dialect.kernel_usage_records()), ("usage_days", dialect.usage_days())]
}

impl Dialect {
    fn kernel_usage_records(&self) -> String {
        let [kernel, session, user, project] =
            ["k.kernel_id", "k.session_id", "k.user_uuid", "k.project_id"].map(self.uuid);
        let [start, end] = ["r.period_start", "r.period_end"].map(self.instant);
        format!(
            "SELECT {kernel} AS kernel_id, {session} AS session_id, \
             {user} AS user_uuid, {project} AS project_id, t.domain_name, t.charge_class, g.name AS resource_group, \
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
        format!(
            "SELECT g.name AS resource_group, {day} AS day, t.domain_name, t.charge_class, {project} AS project_id, \
             {user} AS user_uuid, t.resource_usage, t.records \
             FROM day_totals t JOIN resource_groups g ON g.group_key = t.group_key"
        )
    }
}
