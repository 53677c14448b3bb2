//! Domains, projects and users, which all groups have in common.

use sea_orm::DbBackend;
use sea_orm::sea_query::TableCreateStatement;

use super::Subject;
use crate::columns::{big_integer, big_integer_null, boolean, integer, name, primary, string_len_null, table, uuid};

pub fn subject(backend: DbBackend) -> Subject {
    let first_revision = match backend {
        DbBackend::Postgres => {
            "INSERT INTO people_revision (id, revision, tag) VALUES (1, 0, floor(random() * 2147483647)::integer)"
        }
        _ => "INSERT INTO people_revision (id, revision, tag) VALUES (1, 0, abs(random() % 2147483647))",
    };
    let additions = vec![
        "CREATE INDEX ix_domains_revision ON domains (revision)",
        "CREATE INDEX ix_projects_revision ON projects (revision)",
        "CREATE INDEX ix_projects_domain ON projects (domain_name)",
        "CREATE UNIQUE INDEX ux_projects_name ON projects (name)",
        "CREATE INDEX ix_users_revision ON users (revision)",
        "CREATE UNIQUE INDEX ux_users_name ON users (name)",
        "CREATE INDEX ix_memberships_project ON memberships (project_id)",
        first_revision,
        "INSERT INTO people_revision_tags (revision, tag) SELECT revision, tag FROM people_revision",
    ];
    let tables = vec![domains(), projects(), users(), memberships(), people_revision(), people_revision_tags()];
    Subject { tables, additions }
}

fn domains() -> TableCreateStatement {
    table("domains")
        .col(name("name").primary_key())
        // The name that is shown in addition; NULL: only the name is shown.
        .col(string_len_null("display_name", 255))
        // The time at which it was first named.
        .col(big_integer("created_at"))
        // The time at which an admin archived it; NULL: it is not archived.
        .col(big_integer_null("archived_at"))
        // The value of people_revision at the last change of the row.
        .col(big_integer("revision").default(0))
        .to_owned()
}

fn projects() -> TableCreateStatement {
    table("projects")
        .col(uuid("id").primary_key())
        // The name that reports may give in place of the UUID, unique in its table; NULL: only the name from which the rule of
        // names makes this UUID.
        .col(string_len_null("name", 255))
        // The name that is shown in place of the UUID; NULL: the UUID is shown.
        .col(string_len_null("display_name", 255))
        .col(name("domain_name"))
        // The newest start of a kernel that named the domain, so that the result does not depend on the order of reports.
        .col(big_integer("domain_since"))
        // True if an admin set the domain: reports that name another one do not move the project.
        .col(boolean("domain_pinned").default(false))
        // The other columns as those of domains.
        .col(big_integer("created_at"))
        .col(big_integer_null("archived_at"))
        .col(big_integer("revision").default(0))
        .to_owned()
}

fn users() -> TableCreateStatement {
    table("users")
        .col(uuid("id").primary_key())
        // The names as those of projects.
        .col(string_len_null("name", 255))
        .col(string_len_null("display_name", 255))
        // The other columns as those of domains.
        .col(big_integer("created_at"))
        .col(big_integer_null("archived_at"))
        .col(big_integer("revision").default(0))
        .to_owned()
}

/// The users that have used each project, in any group.
fn memberships() -> TableCreateStatement {
    table("memberships")
        .col(uuid("user_uuid"))
        .col(uuid("project_id"))
        .primary_key(&mut primary(&["user_uuid", "project_id"]))
        .to_owned()
}

/// One row: the newest revision of any row in domains, projects or users. A writer that changes a person holds its lock until
/// the end of the transaction.
fn people_revision() -> TableCreateStatement {
    table("people_revision")
        // Always 1, because there is one row.
        .col(integer("id").primary_key())
        .col(big_integer("revision"))
        // A random number that is set together with the revision, as those of resource_groups.
        .col(integer("tag").default(0))
        .to_owned()
}

fn people_revision_tags() -> TableCreateStatement {
    table("people_revision_tags")
        // A recent value of people_revision.
        .col(big_integer("revision").primary_key())
        // The tag of that revision.
        .col(integer("tag"))
        .to_owned()
}
