//! Many rows in few statements.
//!
//! Statements are built once and used for every part of the rows, because building and parsing them
//! costs more than binding. `SQLite` gets lists of rows; `PostgreSQL` gets one array for each
//! column, which it plans far faster than as many parameters. What all rows of a long statement have in
//! common is sent once.

use std::fmt::Write;

use super::Result;
use sea_orm::sea_query::{
    ArrayType, Expr, ExprTrait, OnConflict, Query, SelectStatement, SimpleExpr, TableRef, ValueTuple, ValueType,
};
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ColumnType, Condition, ConnectionTrait, DbBackend, DbErr, EntityTrait, IdenStatic,
    Iterable, Statement, Value,
};

/// `SQLite`'s limit on values in one statement.
const SQLITE_BIND_LIMIT: usize = 32_766;
/// Rows of one statement.
const SQLITE_ROWS: usize = 500;
const POSTGRES_ROWS: usize = 1_250;
/// The database begins with a few rows while more of the next are made.
const FIRST_POSTGRES_ROWS: usize = 250;
const POSTGRES_GROWTH: usize = 4;
/// A row with bytes is as long as so many others.
const BYTES: usize = 16;
/// An update is tried for so many rows or more. Where it does not find all of them, it has cost a statement.
const WORTH_AN_UPDATE: usize = 200;
/// A part is sent on while the next is made: it is longer than a socket takes at once.
const ROWS_BETWEEN_YIELDS: usize = 200;

type Column<A> = <<A as ActiveModelTrait>::Entity as EntityTrait>::Column;

/// Inserts rows with all columns set, with one rule for those that exist. No key may come twice. Rows are
/// made as they are sent. Returns how many rows were inserted or changed. Who gets an error abandons the transaction: some rows may
/// be there.
pub async fn insert<A, I>(db: &impl ConnectionTrait, rows: I, on_conflict: Option<OnConflict>) -> Result<u64>
where
    A: ActiveModelTrait + Send,
    I: Iterator<Item = A> + Send,
{
    send(db, Parts { on_conflict, ..Parts::new(db, rows) }).await
}

/// How rows lie among those of their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Anywhere.
    Scattered,
    /// They come in the order of an index, and are about half or more of the rows that it has between the first and the last of
    /// them. The index begins with the columns of the key that all of them have in common, and the others follow.
    Dense,
}

/// Inserts rows with all columns set; those whose `key` exists take the new values of `columns`. No key may come twice. Rows
/// are made as they are sent. This is for rows that mostly exist: `PostgreSQL` is asked to update them first, which takes less
/// time than to insert rows that conflict.
pub async fn replace<A, I>(
    db: &impl ConnectionTrait,
    rows: I,
    key: &[Column<A>],
    columns: &[Column<A>],
    spread: Spread,
) -> Result<u64>
where
    A: ActiveModelTrait + Send,
    I: Iterator<Item = A> + Send,
{
    let on_conflict = Some(OnConflict::columns(key.iter().copied()).update_columns(columns.iter().copied()).to_owned());
    let parts = Parts::new(db, rows);
    let is_postgres = parts.backend == DbBackend::Postgres;
    let place = |column: &Column<A>| parts.columns.iter().position(|own| own.as_str() == column.as_str());
    let (key, columns) = (key.iter().filter_map(place).collect(), columns.to_vec());
    let update = is_postgres.then(|| Update { key, columns, spread, built: Built::default() });
    send(db, Parts { on_conflict, update, ..parts }).await
}

async fn send<A, I>(db: &impl ConnectionTrait, mut parts: Parts<A, I>) -> Result<u64>
where
    A: ActiveModelTrait + Send,
    I: Iterator<Item = A> + Send,
{
    let mut written = 0;
    let mut next = parts.next().await?;
    let mut by_hash = false;
    while let Some(part) = next {
        let in_range = part.update.as_ref().is_some_and(|update| update.in_range);
        join_by_hash(db, &mut by_hash, in_range).await?;
        // The database works on one part while the next is made.
        let (sent, following) = futures::future::join(part.send(db), parts.next()).await;
        let (rows, existed) = sent?;
        written += rows;
        parts.update = parts.update.filter(|_| existed);
        next = following?;
    }
    join_by_hash(db, &mut by_hash, false).await?;
    Ok(written)
}

/// Keeps the planner of `PostgreSQL` from looking rows up one by one, or lets it choose again. It cannot know how many rows a
/// range has: it expects few, and would read the whole range for each row that was sent.
async fn join_by_hash(db: &impl ConnectionTrait, is_on: &mut bool, wanted: bool) -> Result<()> {
    if *is_on != wanted {
        let value = if wanted { "off" } else { "DEFAULT" };
        db.execute_unprepared(&format!("SET LOCAL enable_nestloop TO {value}")).await?;
        *is_on = wanted;
    }
    Ok(())
}

/// Rows on their way into statements.
struct Parts<A: ActiveModelTrait, I> {
    backend: DbBackend,
    columns: Vec<Column<A>>,
    /// How long a row is.
    length: usize,
    rows: I,
    on_conflict: Option<OnConflict>,
    /// It is tried for as long as all rows existed.
    update: Option<Update<A>>,
    /// Rows of the next statement for `PostgreSQL`.
    postgres_rows: usize,
    built: Built,
}

/// How rows that exist are updated.
struct Update<A: ActiveModelTrait> {
    /// Where the key is among all columns.
    key: Vec<usize>,
    columns: Vec<Column<A>>,
    spread: Spread,
    built: Built,
}

impl<A: ActiveModelTrait> Update<A> {
    /// The column whose first and last value tell between which rows of the table all of them lie.
    fn range(&self, cells: &[Cells]) -> Option<usize> {
        let mut own = self.key.iter().copied().filter(|at| cells[*at].shared.is_none());
        let first = own.next()?;
        let is_range =
            self.spread == Spread::Dense && cells[first].are_ascending_ids() && own.all(|at| cells[at].are_ids());
        is_range.then_some(first)
    }
}

/// Rows for one statement.
struct Part {
    insert: Statement,
    update: Option<PartUpdate>,
}

/// The update of the rows of a part that exist.
struct PartUpdate {
    rows: u64,
    statement: Statement,
    /// It looks through a range of the table instead of looking each row up.
    in_range: bool,
}

impl Part {
    /// Returns how many rows were inserted or changed, and whether all of them are known to have been there.
    async fn send(self, db: &impl ConnectionTrait) -> Result<(u64, bool)> {
        let is_tried = self.update.is_some();
        if let Some(PartUpdate { rows, statement, .. }) = self.update
            && db.execute_raw(statement).await?.rows_affected() == rows
        {
            return Ok((rows, true));
        }
        // A part that is too short for the shorter way tells nothing about the next.
        Ok((db.execute_raw(self.insert).await?.rows_affected(), !is_tried))
    }
}

/// What a statement takes.
#[derive(Clone, PartialEq)]
enum Shape {
    /// So many rows of single values, for `SQLite`, and which columns are the same in all of them.
    Rows(usize, Vec<bool>),
    /// For `PostgreSQL`.
    Columns(Vec<Form>),
}

/// The text of the last statement, and what it takes.
#[derive(Default)]
struct Built(Option<(Shape, String)>);

impl Built {
    fn text(&mut self, shape: &Shape, build: impl FnOnce(&Shape) -> Result<String>) -> Result<&str> {
        let known = self.0.take().filter(|(of, _)| of == shape);
        let built = known.map_or_else(|| Ok((shape.clone(), build(shape)?)), Result::Ok)?;
        Ok(&self.0.insert(built).1)
    }
}

/// How the values of a column are sent to `PostgreSQL`.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// One value for all rows, as text.
    Shared,
    /// One value for each row.
    Array,
    /// One value for each row, in the order of the rows in the table.
    Range,
    /// The same as text, because arrays with nulls are not sent otherwise.
    Text,
}

impl<A: ActiveModelTrait + Send, I: Iterator<Item = A> + Send> Parts<A, I> {
    fn new(db: &impl ConnectionTrait, rows: I) -> Self {
        let columns: Vec<Column<A>> = Column::<A>::iter().collect();
        let has_bytes = columns.iter().any(|column| *column.def().get_column_type() == ColumnType::Blob);
        Self {
            backend: db.get_database_backend(),
            columns,
            length: if has_bytes { BYTES } else { 1 },
            rows,
            on_conflict: None,
            update: None,
            postgres_rows: FIRST_POSTGRES_ROWS,
            built: Built::default(),
        }
    }

    async fn next(&mut self) -> Result<Option<Part>> {
        let (shape, values, count) = match self.backend {
            DbBackend::Postgres => self.arrays().await?,
            _ => self.rows().await,
        };
        if values.is_empty() {
            return Ok(None);
        }
        let Self { backend, columns, on_conflict, length, .. } = self;
        let mut update = None;
        if let Some(Update { key, columns: changed, built, .. }) = &mut self.update
            && count * *length >= WORTH_AN_UPDATE
        {
            let sql = built.text(&shape, |shape| build_update::<A>(columns, shape, key, changed))?;
            let statement = Statement::from_sql_and_values(*backend, sql, values.clone());
            let in_range = matches!(&shape, Shape::Columns(forms) if forms.contains(&Form::Range));
            update = Some(PartUpdate { rows: count as u64, statement, in_range });
        }
        let sql = self.built.text(&shape, |shape| build::<A>(*backend, columns, shape, on_conflict.as_ref()))?;
        Ok(Some(Part { insert: Statement::from_sql_and_values(*backend, sql, values), update }))
    }

    /// The values of the next rows for `SQLite`: what all have in common, then the rest of one row after the other.
    async fn rows(&mut self) -> (Shape, Vec<Value>, usize) {
        let most = (SQLITE_BIND_LIMIT / self.columns.len().max(1)).clamp(1, SQLITE_ROWS.div_ceil(self.length));
        let (cells, count) = self.cells(most).await;
        // There are as many statements to be prepared as lengths. A full one is worth a statement of its own.
        let shared = |cells: &Cells| count == most && cells.shared.is_some();
        let are_shared: Vec<bool> = cells.iter().map(shared).collect();
        let mut values = Vec::with_capacity(count * cells.len());
        let mut own = Vec::with_capacity(cells.len());
        for (mut cells, is_shared) in cells.into_iter().zip(&are_shared) {
            if *is_shared {
                values.extend(cells.shared);
            } else {
                cells.spell_out(count);
                own.push(cells.all.into_iter());
            }
        }
        for _ in 0..count {
            values.extend(own.iter_mut().filter_map(Iterator::next));
        }
        (Shape::Rows(count, are_shared), values, count)
    }

    /// The next rows for `PostgreSQL`, by column.
    async fn arrays(&mut self) -> Result<(Shape, Vec<Value>, usize)> {
        let most = self.postgres_rows;
        self.postgres_rows = (most * POSTGRES_GROWTH).min(POSTGRES_ROWS);
        let (mut cells, count) = self.cells(most.div_ceil(self.length)).await;
        if count == 0 {
            return Ok((Shape::Columns(Vec::new()), Vec::new(), 0));
        }
        for cells in &mut cells {
            // Bytes have no short form as text.
            if matches!(cells.shared, Some(Value::Bytes(_))) {
                cells.spell_out(count);
            }
        }
        // One column tells how many rows there are.
        if cells.iter().all(|c| c.shared.is_some())
            && let Some(first) = cells.first_mut()
        {
            first.spell_out(count);
        }
        let range = self.update.as_ref().and_then(|update| update.range(&cells));
        let mut forms = Vec::with_capacity(cells.len());
        let mut values = Vec::with_capacity(cells.len());
        for (at, (cells, column)) in cells.into_iter().zip(&self.columns).enumerate() {
            let (form, value) = cells.into_value(*column)?;
            forms.push(if range == Some(at) { Form::Range } else { form });
            values.push(value);
        }
        Ok((Shape::Columns(forms), values, count))
    }

    /// At most so many of the next rows by column, and how many they are. What is not set is null.
    async fn cells(&mut self, most: usize) -> (Vec<Cells>, usize) {
        let mut cells: Vec<Cells> = self.columns.iter().map(|_| Cells::default()).collect();
        let (mut count, length) = (0, self.length);
        for mut row in self.rows.by_ref().take(most) {
            for (cells, column) in cells.iter_mut().zip(&self.columns) {
                cells.push(row.take(*column).into_value().unwrap_or(NULL), count);
            }
            count += 1;
            if (count * length).is_multiple_of(ROWS_BETWEEN_YIELDS) {
                tokio::task::yield_now().await;
            }
        }
        (cells, count)
    }
}

const NULL: Value = Value::Int(None);

/// The values of one column.
#[derive(Default)]
struct Cells {
    /// What every row has so far.
    shared: Option<Value>,
    /// All values, once two of them differ.
    all: Vec<Value>,
}

impl Cells {
    /// Adds a value after `count` others.
    fn push(&mut self, value: Value, count: usize) {
        if count == 0 {
            self.shared = Some(value);
        } else if self.shared.as_ref() != Some(&value) {
            self.spell_out(count);
            self.all.push(value);
        }
    }

    fn spell_out(&mut self, count: usize) {
        if let Some(shared) = self.shared.take() {
            self.all = vec![shared; count];
        }
    }

    /// Whether every row has an id of its own.
    fn are_ids(&self) -> bool {
        self.shared.is_none() && self.all.iter().all(|value| matches!(value, Value::Uuid(Some(_))))
    }

    fn are_ascending_ids(&self) -> bool {
        let id = |value: &Value| if let Value::Uuid(id) = value { *id } else { None };
        self.are_ids() && self.all.is_sorted_by_key(id)
    }

    fn into_value(self, column: impl ColumnTrait) -> Result<(Form, Value)> {
        let mut text = String::new();
        if let Some(shared) = self.shared {
            if let Value::String(text) = shared {
                return Ok((Form::Shared, Value::String(text)));
            }
            push_element(&mut text, shared)?;
            return Ok((Form::Shared, Value::String((text != "NULL").then_some(text))));
        }
        if self.all.iter().all(is_set) {
            let (_, kind) = types(column)?;
            return Ok((Form::Array, Value::Array(kind, Some(Box::new(self.all)))));
        }
        for value in self.all {
            text.push(if text.is_empty() { '{' } else { ',' });
            push_element(&mut text, value)?;
        }
        text.push('}');
        Ok((Form::Text, text.into()))
    }
}

fn is_set(value: &Value) -> bool {
    !matches!(
        value,
        Value::Uuid(None)
            | Value::BigInt(None)
            | Value::Int(None)
            | Value::Bool(None)
            | Value::Double(None)
            | Value::String(None)
    )
}

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

fn build<A: ActiveModelTrait>(
    backend: DbBackend,
    columns: &[Column<A>],
    shape: &Shape,
    on_conflict: Option<&OnConflict>,
) -> Result<String> {
    let mut insert = Query::insert();
    insert.into_table(A::Entity::default()).columns(columns.iter().copied());
    let refused = |e: sea_orm::sea_query::error::Error| DbErr::Custom(e.to_string());
    match shape {
        Shape::Columns(forms) => {
            insert.select_from(select::<A>(columns, forms)?).map_err(refused)?;
        }
        Shape::Rows(rows, shared) if shared.contains(&true) => {
            let mut select = Query::select();
            let mut own = 0;
            for is_shared in shared {
                own += usize::from(!is_shared);
                select.expr(Expr::cust(if *is_shared { "?".to_owned() } else { format!("column{own}") }));
            }
            select.from_values((0..*rows).map(|_| ValueTuple::Many(vec![NULL; own])), "own");
            // Without it, SQLite would take the rule for conflicts for the condition of a join.
            select.cond_where(Expr::cust("TRUE"));
            insert.select_from(select).map_err(refused)?;
        }
        Shape::Rows(rows, _) => {
            for _ in 0..*rows {
                insert.values(columns.iter().map(|_| Expr::cust("?"))).map_err(refused)?;
            }
        }
    }
    if let Some(rule) = on_conflict {
        insert.on_conflict(rule.clone());
    }
    let sql = backend.build(&insert).sql;
    // What fails takes its transaction along. Without that word SQLite keeps what each page was before the statement, which costs a
    // tenth of a large ingest.
    Ok(if backend == DbBackend::Sqlite { sql.replacen("INSERT", "INSERT OR FAIL", 1) } else { sql })
}

/// The statement that gives rows of `PostgreSQL` new values, if they are there.
fn build_update<A: ActiveModelTrait>(
    columns: &[Column<A>],
    shape: &Shape,
    key: &[usize],
    changed: &[Column<A>],
) -> Result<String> {
    let Shape::Columns(forms) = shape else { return Err(DbErr::Type("no update of rows".into()).into()) };
    let (table, new) = (A::Entity::default(), "new");
    let mut update = Query::update();
    update.table(table).from(TableRef::SubQuery(Box::new(select::<A>(columns, forms)?), new.into()));
    update.values(changed.iter().map(|column| (*column, Expr::col((new, *column)))));
    let in_range = forms.contains(&Form::Range);
    for at in key {
        let (column, form, n) = (columns[*at], forms[*at], at + 1);
        let (own, (kind, _)) = (Expr::col((table, column)), types(column)?);
        // The planner sees no constants in rows, and finds no range without them.
        if in_range && form == Form::Shared {
            update.and_where(own.eq(Expr::cust(shared(n, kind))));
            continue;
        }
        update.and_where(own.clone().equals((new, column)));
        if form == Form::Range {
            let end = |at: &str| Expr::cust(format!("(${n}::{kind}[])[{at}]"));
            update.and_where(own.between(end("1"), end(&format!("cardinality(${n}::{kind}[])"))));
        }
    }
    Ok(DbBackend::Postgres.build(&update).sql)
}

/// The one value of a column that all rows share.
fn shared(n: usize, kind: &str) -> String {
    format!("${n}::text::{kind}")
}

/// The rows that are sent to `PostgreSQL`. The inner `SELECT` hides from its planner how many they are, as in [`one_of`].
fn select<A: ActiveModelTrait>(columns: &[Column<A>], forms: &[Form]) -> Result<SelectStatement> {
    let mut select = Query::select();
    for ((n, column), form) in (1..).zip(columns).zip(forms) {
        let (kind, _) = types(*column)?;
        let values = match form {
            Form::Shared => shared(n, kind),
            Form::Array | Form::Range => format!("UNNEST((SELECT ${n}::{kind}[]))"),
            Form::Text => format!("UNNEST((SELECT ${n}::text::{kind}[]))"),
        };
        select.expr_as(Expr::cust(values), *column);
    }
    Ok(select)
}

fn types(column: impl ColumnTrait) -> Result<(&'static str, ArrayType)> {
    Ok(match column.def().get_column_type() {
        ColumnType::Uuid => ("uuid", ArrayType::Uuid),
        ColumnType::BigInteger => ("bigint", ArrayType::BigInt),
        ColumnType::Integer => ("integer", ArrayType::Int),
        ColumnType::Boolean => ("boolean", ArrayType::Bool),
        ColumnType::Double => ("double precision", ArrayType::Double),
        ColumnType::Blob => ("bytea", ArrayType::Bytes),
        ColumnType::Text | ColumnType::String(_) => ("text", ArrayType::String),
        other => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    })
}

fn push_element(array: &mut String, value: Value) -> Result<()> {
    // Writing to a text cannot fail.
    let _ = match value {
        Value::Uuid(Some(id)) => write!(array, "{}", id.simple()),
        Value::BigInt(Some(n)) => write!(array, "{n}"),
        Value::Int(Some(n)) => write!(array, "{n}"),
        Value::Bool(Some(b)) => write!(array, "{b}"),
        Value::Double(Some(d)) => write!(array, "{d:e}"),
        Value::String(Some(text)) => {
            push_quoted(array, &text);
            Ok(())
        }
        unset if !is_set(&unset) => {
            array.push_str("NULL");
            Ok(())
        }
        other => return Err(DbErr::Type(format!("no bulk insert of {other:?}")).into()),
    };
    Ok(())
}

fn push_quoted(array: &mut String, text: &str) {
    array.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(['"', '\\']) {
        array.push_str(&rest[..at]);
        array.push('\\');
        array.push_str(&rest[at..=at]);
        rest = &rest[at + 1..];
    }
    array.push_str(rest);
    array.push('"');
}
