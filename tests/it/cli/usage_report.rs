//! `usage --by`: a report as a table, and in the formats for other programs.

use super::program::run;
use super::two_users;
use crate::support::fixture::GROUP;
use crate::support::on_both;

on_both! {
    async fn a_table_ends_with_the_totals(db: TestDb) {
        let f = two_users(db).await;
        let day = ["--from", "2026-01-13", "--to", "2026-01-13"];
        let usage = |args: &[&str]| run(&f.db, [&["usage", GROUP], &day[..], args].concat()).ok();
        let table = usage(&["--by", "user"]);
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words.len(), 4, "{table}");
        // The largest first, and the total last.
        assert!(words[1].contains(&"bob") && words[2].contains(&"alice"), "{table}");
        assert_eq!((words[3].first(), words[3].last()), (Some(&"total"), Some(&"5.000")), "{table}");
        let limited = usage(&["--by", "user", "--limit", "1"]);
        assert!(limited.lines().count() == 3 && limited.contains("5.000"), "{limited}");
        let csv = usage(&["--by", "user", "-o", "csv"]);
        assert!(csv.lines().count() == 3 && !csv.contains("total"), "{csv}");
        assert_eq!(usage(&["--by", "user", "-o", "ndjson"]).lines().count(), 2);
        for limit in [&[][..], &["--limit", "1"], &["--limit", "2"]] {
            let json: serde_json::Value = serde_json::from_str(&usage(&[&["--by", "user", "-o", "json"], limit].concat())).unwrap();
            assert_eq!(json["totals"]["slot_hours"]["cpu"], "5", "{json}");
        }
        let none = run(&f.db, ["usage", GROUP, "--by", "user", "--from", "1990-01-01", "--to", "1990-01-02"]).ok();
        assert!(!none.contains("total"), "{none}");
        let ever = run(&f.db, ["usage", GROUP, "--by", "user", "--from", "1990-01-01", "--to", "2026-01-13"]).ok();
        assert!(ever.contains("5.000"), "{ever}");
    }
}
