//! Conditions that a column is one of many ids.

use sea_orm::sea_query::{Expr, ExprTrait, Query, SimpleExpr, ValueType};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbBackend, Value};

use super::array_text::push_element;

/// The most ids that one [`one_of`] takes on either database, also if `SQLite` gets each id as a parameter.
pub const MAX_IDS: usize = 30_000;

/// From this number of ids on, `SQLite` reads them faster from one text than from parameters.
const LONG_LIST: usize = 1_000;

/// True in SQL if `column` is one of `ids`. `PostgreSQL` gets the ids as one array, because it plans long lists slowly, and
/// unnests them into rows, because it searches an array linearly. The inner `SELECT` hides the number of rows from its
/// planner, which for many rows would read a small table whole in place of using the index. `SQLite` gets many ids as one
/// text.
pub fn one_of<V: Into<Value> + ValueType>(
    db: &impl ConnectionTrait,
    column: impl ColumnTrait,
    ids: impl Iterator<Item = V>,
) -> SimpleExpr {
    let ids: Vec<Value> = ids.map(V::into).collect();
    if db.get_database_backend() == DbBackend::Postgres {
        return column.in_subquery(Query::select().expr(unnest_ids::<V>(ids)).to_owned());
    }
    match (ids.len() >= LONG_LIST).then(|| json(&ids)).flatten() {
        Some((id, text)) => {
            let those = format!("? IN (SELECT {id} FROM json_each(?))");
            Expr::cust_with_exprs(those, [column.into_expr(), Expr::value(text)])
        }
        None => column.is_in(ids),
    }
}

/// True in SQL if the columns of `place` have their values and `column` is one of `ids`. All these columns together must be
/// the beginning of a key. `PostgreSQL` gets the whole keys as rows to look up, without another condition on the table.
/// Otherwise, from its statistics or without any, it may expect one row where `place` has thousands, and would compare each
/// of them with each id.
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
    rows.expr(unnest_ids::<V>(ids.map(V::into).collect()));
    Condition::all().add(Expr::tuple(columns).in_subquery(rows))
}

/// One row for each id.
fn unnest_ids<V: ValueType>(ids: Vec<Value>) -> SimpleExpr {
    Expr::cust_with_values("UNNEST((SELECT $1))", [Value::Array(V::array_type(), Some(Box::new(ids)))])
}

/// Numbers or UUIDs as JSON, with the SQL that turns an element into an id; `None` for other types.
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
