//! The schema of version 0.2, one file for each subject.

mod audit;
mod groups;
mod jobs;
mod kernels;
mod keys;
mod people;
mod queues;
mod shares;
mod usage;
mod views;

use sea_orm::sea_query::{Table, TableCreateStatement};
use sea_orm::{ConnectionTrait, DbBackend, DbErr};
use sea_orm_migration::async_trait::async_trait;
use sea_orm_migration::{MigrationTrait, SchemaManager};

pub struct Migration;

/// The data that its reversal loses.
pub const LOSES: &str = "everything: resource groups, kernels, usage, weights, people, keys and the audit log";

/// The tables of one subject.
struct Subject {
    /// No table refers to another one, so that their order has no meaning.
    tables: Vec<TableCreateStatement>,
    /// Statements that add indexes, sequences, partitions and first rows to the tables.
    additions: Vec<&'static str>,
}

fn subjects(backend: DbBackend) -> [Subject; 9] {
    [
        groups::subject(backend),
        people::subject(backend),
        kernels::subject(backend),
        usage::subject(backend),
        shares::subject(backend),
        queues::subject(),
        jobs::subject(backend),
        keys::subject(),
        audit::subject(),
    ]
}

#[async_trait]
impl MigrationTrait for Migration {
    async fn up(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let backend = db.get_database_backend();
        for Subject { tables, additions } in subjects(backend) {
            for table in &tables {
                db.execute(table).await?;
            }
            for sql in additions {
                db.execute_unprepared(sql).await?;
            }
        }
        for (name, query) in views::views(backend) {
            db.execute_unprepared(&format!("CREATE VIEW {name} AS {query}")).await?;
        }
        Ok(())
    }

    async fn down(&self, manager: &SchemaManager) -> Result<(), DbErr> {
        let db = manager.get_connection();
        let backend = db.get_database_backend();
        for (name, _) in views::views(backend).iter().rev() {
            db.execute_unprepared(&format!("DROP VIEW {name}")).await?;
        }
        for created in subjects(backend).iter().flat_map(|subject| &subject.tables) {
            let name = created.get_table_name().cloned();
            let name = name.ok_or_else(|| DbErr::Migration("a table has no name".to_owned()))?;
            db.execute(Table::drop().table(name)).await?;
        }
        if backend == DbBackend::Postgres {
            db.execute_unprepared(&format!("DROP SEQUENCE {}", groups::KEYS)).await?;
        }
        Ok(())
    }
}
