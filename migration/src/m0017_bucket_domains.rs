//! A bucket of one day is the day total as well, so that runs write one row in place of two. A bucket does not contain the
//! domain that it counts for, but a project mostly counts for one domain on a day.
//!
//! All servers have to stop for this step, because the version before would write totals that follow from buckets already,
//! and they would count twice. A later step that alters `user_usage_buckets` has to drop the view first.

use sea_orm::sea_query::TableCreateStatement;
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

use super::changes::{create, drop_table, run, run_on_postgres};
use super::columns::{integer, name, primary, table, uuid};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "nothing";

/// One row for each project and day whose totals follow from its users' buckets of that day alone.
fn bucket_domains(backend: DbBackend) -> TableCreateStatement {
    let mut domains = table("bucket_domains");
    domains
        .col(integer("group_key"))
        // Days since 1970.
        .col(integer("day"))
        .col(uuid("project_id"))
        // The domain that these buckets count for; a project that moves later leaves it as it is.
        .col(name("domain_name"))
        .primary_key(&mut primary(&["group_key", "day", "project_id"]));
    if backend == DbBackend::Sqlite {
        domains.extra("WITHOUT ROWID");
    }
    domains
}

/// The totals that follow from buckets. Buckets of a range of days are read, and the domain is looked up for each. In the
/// other order the buckets of all users would be read for each project. `CROSS JOIN` enforces this order on SQLite, and
/// `OFFSET 0` on PostgreSQL, whatever their statistics are.
fn bucket_totals(backend: DbBackend) -> String {
    let of_bucket = "d.group_key = g.group_key AND d.day = b.period_start AND d.project_id = b.project_id";
    let domain = match backend {
        DbBackend::Postgres => {
            format!("LATERAL (SELECT d.domain_name FROM bucket_domains d WHERE {of_bucket} OFFSET 0) d WHERE TRUE")
        }
        _ => format!("bucket_domains d WHERE {of_bucket}"),
    };
    format!(
        "CREATE VIEW bucket_totals AS SELECT g.group_key, b.period_start AS day, b.user_uuid, b.project_id, \
         d.domain_name, b.resource_usage, b.records FROM resource_groups g CROSS JOIN user_usage_buckets b \
         CROSS JOIN {domain} AND b.resource_group = g.name AND b.decay_unit_days = 1"
    )
}

/// Projects that counted for one domain on a day, and whose totals equal the buckets of that day alone wherever there is
/// one.
const FIND: &str = "INSERT INTO bucket_domains (group_key, day, project_id, domain_name) \
     SELECT t.group_key, t.day, t.project_id, MIN(t.domain_name) FROM day_totals t \
     JOIN resource_groups g ON g.group_key = t.group_key \
     LEFT JOIN user_usage_buckets b ON b.resource_group = g.name AND b.period_start = t.day \
     AND b.user_uuid = t.user_uuid AND b.project_id = t.project_id AND b.decay_unit_days = 1 \
     WHERE t.source = 0 GROUP BY t.group_key, t.day, t.project_id \
     HAVING MIN(t.domain_name) = MAX(t.domain_name) AND COUNT(b.user_uuid) > 0 AND \
     COUNT(b.user_uuid) = SUM(CASE WHEN b.resource_usage = t.resource_usage AND b.records = t.records THEN 1 ELSE 0 END)";

const FORGET: &str = "DELETE FROM day_totals WHERE source = 0 AND EXISTS (SELECT 1 FROM bucket_totals b \
     WHERE b.group_key = day_totals.group_key AND b.day = day_totals.day AND b.user_uuid = day_totals.user_uuid \
     AND b.project_id = day_totals.project_id)";

const SPELL_OUT: &str = "INSERT INTO day_totals \
     (group_key, day, user_uuid, project_id, domain_name, source, resource_usage, records) \
     SELECT group_key, day, user_uuid, project_id, domain_name, 0, resource_usage, records FROM bucket_totals \
     WHERE TRUE ON CONFLICT DO NOTHING";

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        // A run of the version before may be about to commit. A run that begins later does not find the table of shares.
        run_on_postgres(db, &["LOCK TABLE day_totals, user_usage_buckets IN EXCLUSIVE MODE"]).await?;
        let backend = db.get_database_backend();
        create(db, bucket_domains(backend)).await?;
        run(db, &[&bucket_totals(backend), FIND, FORGET]).await
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        run(db, &[SPELL_OUT, "DROP VIEW bucket_totals"]).await?;
        drop_table(db, "bucket_domains").await
    }
}
