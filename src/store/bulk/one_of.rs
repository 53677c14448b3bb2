//! Conditions that a column is one of many ids.

use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr, ValueType};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, Value};

use super::array_text::push_element;

/// Ids that one [`one_of`] takes on either database, also those that `SQLite` gets one by one.
pub const MOST_IDS: usize = 30_000;

/// From so many ids on, `SQLite` takes them out of a text faster than out of the statement.
const LONG_LIST: usize = 1_000;

/// Whether `column` is one of `ids`. `PostgreSQL` gets them as one array, because it plans long lists slowly, and as
/// rows, because it looks through an array one by one. The inner `SELECT` hides from its planner how many they are: for many
/// it would read a small table whole instead of using the index. `SQLite` gets many as one text.
pub fn one_of<V: Into<Value> + ValueType>(
    db: &impl ConnectionTrait,
    column: impl ColumnTrait,
    ids: impl Iterator<Item = V>,
) -> SimpleExpr {
    let ids: Vec<Value> = ids.map(V::into).collect();
    if db.get_database_backend() == DbBackend::Postgres {
        return column.in_subquery(Query::select().expr(unnested::<V>(ids)).to_owned());
    }
    match (ids.len() >= LONG_LIST).then(|| json(&ids)).flatten() {
        Some((id, text)) => {
            let those = format!("? IN (SELECT {id} FROM json_each(?))");
            Expr::cust_with_exprs(those, [column.into_expr(), Expr::value(text)])
        }
        None => column.is_in(ids),
    }
}

/// Whether the columns of `place` have their values, and `column` is one of `ids`: together the beginning of a key. `PostgreSQL`
/// gets all of them as rows to look up, and has to find no other condition on the table: from its statistics, or without any,
/// it may take a place of thousands of rows for one row, and would compare each of them with each id.
pub fn one_of_place<C: ColumnTrait, V: Into<Value> + ValueType>(
    db: &impl ConnectionTrait,
    place: &[(C, Value)],
    column: C,
    ids: impl Iterator<Item = V>,
) -> Condition {
    if db.get_database_backend() != DbBackend::Postgres {
        let of_place = place.iter().fold(Condition::all(), |all, (column, value)| all.add(column.eq(value.clone())));
        return of_place.add(one_of(db, column, ids));
    }
    let columns = place.iter().map(|(column, _)| column.into_expr()).chain([column.into_expr()]);
    let mut rows = Query::select();
    rows.exprs(place.iter().map(|(_, value)| Expr::value(value.clone())));
    rows.expr(unnested::<V>(ids.map(V::into).collect()));
    Condition::all().add(Expr::tuple(columns).in_subquery(rows))
}

/// A row for each id.
fn unnested<V: ValueType>(ids: Vec<Value>) -> SimpleExpr {
    Expr::cust_with_values("UNNEST((SELECT $1))", [Value::Array(V::array_type(), Some(Box::new(ids)))])
}

/// Numbers or UUIDs as JSON, and what makes an id of an element; `None` for others.
fn json(ids: &[Value]) -> Option<(&'static str, String)> {
    let (id, quote) = match ids.first()? {
        Value::Uuid(_) => ("unhex(value)", "\""),
        Value::BigInt(_) | Value::Int(_) => ("value", ""),
        _ => return None,
    };
    let mut text = String::with_capacity(ids.len() * 36);
    for value in ids {
        text.push_str(if text.is_empty() { "[" } else { "," });
        text.push_str(quote);
        push_element(&mut text, value.clone()).ok()?;
        text.push_str(quote);
    }
    text.push(']');
    Some((id, text))
}
