//! Statements name their columns, because a database that was taken over or changed by later steps has its columns in another
//! order than a new one.

use super::files::rust_files;

/// The statements in a text that depend on the order of a table's columns.
fn ordered_statements(text: &str) -> Vec<String> {
    let all_columns = ["SELECT *", "RETURNING *"].into_iter().flat_map(|part| text.matches(part)).map(str::to_owned);
    let inserts = text.split("INSERT INTO ").skip(1).filter_map(|rest| {
        let is_name = |c: char| c.is_alphanumeric() || "_.{}\"".contains(c);
        let (name, rest) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        // A literal may go on in the next line.
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
        (!rest.starts_with('(')).then(|| format!("INSERT INTO {name}"))
    });
    all_columns.chain(inserts).collect()
}

#[test]
fn statements_name_their_columns() {
    let sources = ["src", "migration/src"]
        .into_iter()
        .flat_map(|folder| rust_files(folder).into_iter().map(move |(path, text)| (format!("{folder}/{path}"), text)));
    let bad = sources.flat_map(|(path, text)| {
        ordered_statements(&text).into_iter().map(move |statement| format!("{path}: {statement}"))
    });
    let bad: Vec<String> = bad.collect();
    assert!(bad.is_empty(), "statements that depend on the order of columns:\n{}", bad.join("\n"));
}

#[test]
fn planted_statements_without_columns_are_found() {
    for text in [
        "SELECT * FROM kernels",
        "DELETE FROM kernels RETURNING *",
        "INSERT INTO kernels VALUES (1)",
        "INSERT INTO {name} \\\n SELECT key FROM kernels",
    ] {
        assert_eq!(ordered_statements(text).len(), 1, "{text}");
    }
    for text in [
        "SELECT COUNT(*) FROM kernels",
        "INSERT INTO kernels (key) VALUES (1)",
        "INSERT INTO {name} \\\n (key) SELECT 1",
    ] {
        assert_eq!(ordered_statements(text), [""; 0], "{text}");
    }
}
