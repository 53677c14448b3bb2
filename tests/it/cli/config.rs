//! Settings: their origins, the order of precedence, and the errors about invalid ones.

use std::ffi::OsString;
use std::path::Path;

use fairshared::config::{CONFIG_VARIABLE, Config, LogFormat, SETTINGS};
use fairshared::jobs::JobSchedules;
use tempfile::TempDir;

use super::program::{end, file, program};

fn settle(
    flags: &[(&'static str, &str)],
    config: Option<&str>,
    environment: &[(&str, &str)],
) -> Result<Config, String> {
    let flags: Vec<_> = flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
    let environment = environment.iter().map(|(k, v)| (OsString::from(k), OsString::from(v)));
    Config::settle(&flags, config.map(Path::new), environment).map_err(|e| e.to_string())
}

#[test]
fn defaults() {
    let config = settle(&[], None, &[("HOME", "/root"), ("PATH", "/bin")]).unwrap();
    assert_eq!(config.database_url, "sqlite://fairshared.db");
    assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
    assert_eq!((config.log.as_str(), config.log_chosen, config.log_format), ("info", false, LogFormat::Text));
    assert!(config.migrate_on_start);
}

#[test]
fn origins_of_pages_are_exact() {
    let origins =
        |text: &str| settle(&[], None, &[("FAIRSHARED_CORS_ORIGINS", text)]).map(|config| config.cors_origins);
    assert_eq!(settle(&[], None, &[]).unwrap().cors_origins.len(), 0);
    assert_eq!(origins(" , ").unwrap().len(), 0);
    let listed = origins("https://admin.example.org, http://localhost:5173,http://[::1]:8080").unwrap();
    assert_eq!(listed, ["https://admin.example.org", "http://localhost:5173", "http://[::1]:8080"]);
    for (text, said) in [
        (
            "*",
            "FAIRSHARED_CORS_ORIGINS: \"*\" would let every page in; name each origin, like https://admin.example.org",
        ),
        (
            "https://a.test,*",
            "FAIRSHARED_CORS_ORIGINS: \"*\" would let every page in; name each origin, like https://admin.example.org",
        ),
        (
            "https://Admin.example.org/",
            "FAIRSHARED_CORS_ORIGINS: \"https://Admin.example.org/\" is not an origin as browsers send it; write https://admin.example.org",
        ),
        (
            "https://admin.example.org:443",
            "FAIRSHARED_CORS_ORIGINS: \"https://admin.example.org:443\" is not an origin as browsers send it; write https://admin.example.org",
        ),
        (
            "https://a.test/ui?x",
            "FAIRSHARED_CORS_ORIGINS: \"https://a.test/ui?x\" is not an origin as browsers send it; write https://a.test",
        ),
    ] {
        assert_eq!(origins(text).unwrap_err(), said);
    }
    for text in
        ["null", "a.test", "ftp://a.test", "https://", "https://me@a.test", "https://*.a.test", "localhost:5173"]
    {
        let refused = origins(text).unwrap_err();
        assert!(refused.ends_with("is not the origin of a web page like https://admin.example.org"), "{refused}");
    }
}

#[test]
fn flags_over_environment_over_file_over_defaults() {
    let folder = TempDir::new().unwrap();
    let toml = file(
        folder.path(),
        "a.toml",
        "listen = \"10.0.0.1:1\"\nkeep_buckets_days = 400\nlog_format = \"json\"\nmigrate_on_start = false\n",
    );
    let from_file = settle(&[], Some(&toml), &[]).unwrap();
    assert_eq!((from_file.listen.port(), from_file.keep_buckets_days), (1, 400));
    assert_eq!((from_file.log_format, from_file.migrate_on_start), (LogFormat::Json, false));
    let environment = [("FAIRSHARED_LISTEN", "10.0.0.1:2"), ("FAIRSHARED_KEEP_BUCKETS_DAYS", "500")];
    let from_environment = settle(&[], Some(&toml), &environment).unwrap();
    assert_eq!((from_environment.listen.port(), from_environment.keep_buckets_days), (2, 500));
    let flag = [("listen", "10.0.0.1:3")];
    let from_flag = settle(&flag, Some(&toml), &environment).unwrap();
    assert_eq!((from_flag.listen.port(), from_flag.keep_buckets_days), (3, 500));
    // The file by its variable; a flag names another one.
    assert_eq!(settle(&[], None, &[(CONFIG_VARIABLE, &toml)]).unwrap().listen.port(), 1);
    let other = file(folder.path(), "b.toml", "listen = \"10.0.0.1:9\"\n");
    assert_eq!(settle(&[], Some(&other), &[(CONFIG_VARIABLE, &toml)]).unwrap().listen.port(), 9);
}

#[test]
fn every_bad_setting_is_named_with_its_place() {
    let folder = TempDir::new().unwrap();
    let refused = |toml: &str| settle(&[], Some(&file(folder.path(), "c.toml", toml)), &[]).unwrap_err();
    let name = folder.path().join("c.toml").display().to_string();
    assert!(refused("listne = \"x\"").starts_with(&format!(
        "{name}: listne is not a setting of fairshared; the nearest is listen; known are database_url, "
    )));
    assert!(refused("a = \n").starts_with(&format!("cannot read the configuration file {name}: line 1: ")));
    assert!(refused("\n\n[limits]\nlisten = 1\n").contains("limits is not a setting"));
    assert!(refused("listen = [1]").contains("listen is neither a text nor a whole number"));
    assert!(
        refused("keep_buckets_days = -1")
            .starts_with(&format!("{name}: keep_buckets_days: \"-1\" is not a whole number"))
    );
    assert!(
        settle(&[], Some("/nowhere.toml"), &[])
            .unwrap_err()
            .starts_with("cannot read the configuration file /nowhere.toml: ")
    );

    let variable = |name: &str, value: &str| settle(&[], None, &[(name, value)]).unwrap_err();
    assert!(
        variable("FAIRSHARED_LISTNE", "x").starts_with(
            "FAIRSHARED_LISTNE is not a setting of fairshared; the nearest is FAIRSHARED_LISTEN; known are "
        )
    );
    for (name, value) in [
        ("FAIRSHARED_LISTEN", "8080"),
        ("FAIRSHARED_DATABASE_URL", "mysql://x"),
        ("FAIRSHARED_DATABASE_URL", "sqlite::memory:"),
        ("FAIRSHARED_LOG", "fairshared=notalevel"),
        ("FAIRSHARED_LOG_FORMAT", "xml"),
        ("FAIRSHARED_MAX_BODY_BYTES", "0"),
        ("FAIRSHARED_MAX_BULK_BYTES", "1e9"),
        ("FAIRSHARED_REQUEST_TIMEOUT_SECONDS", ""),
        ("FAIRSHARED_MAX_CONNECTIONS", "0"),
        ("FAIRSHARED_HEAD_TIMEOUT_SECONDS", "ten"),
        ("FAIRSHARED_KEEP_BUCKETS_DAYS", "99999999999"),
        ("FAIRSHARED_MIGRATE_ON_START", "yes"),
    ] {
        let detail = variable(name, value);
        assert!(detail.starts_with(&format!("{name}: ")), "{detail}");
    }
    assert!(settle(&[("listen", "x")], None, &[]).unwrap_err().starts_with("--listen: "));
}

#[test]
fn a_schedule_that_cannot_be_used_is_refused_at_start() {
    for (variable, value, reason) in [
        ("FAIRSHARED_SCHEDULE_AGGREGATE", "0 61 * * * *", "is not a cron expression: the minute cannot be \"61\""),
        ("FAIRSHARED_SCHEDULE_PURGE", "0 0 0 30 2 *", "is a cron expression that no time matches"),
    ] {
        let mut command = program();
        command.arg("serve").env(variable, value);
        assert_eq!(end(&mut command).refused(2), format!("{variable}: {value:?} {reason}"));
    }
    let folder = TempDir::new().unwrap();
    let toml = file(folder.path(), "c.toml", "schedule_rebuild = \"weekly\"\n");
    let refused = settle(&[], Some(&toml), &[]).unwrap_err();
    assert!(
        refused.starts_with(&format!("{toml}: schedule_rebuild: \"weekly\" is not a cron expression: ")),
        "{refused}"
    );
    let config = settle(&[], None, &[("FAIRSHARED_SCHEDULE_DIVIDE", "")]).unwrap();
    assert_eq!((config.schedule_divide, config.schedule_rebuild), (None, None));
}

#[test]
fn schedules_of_the_settings_are_those_of_the_jobs() {
    let config = settle(&[], None, &[]).unwrap();
    let schedules = JobSchedules {
        aggregate: config.schedule_aggregate,
        divide: config.schedule_divide,
        forecast: config.schedule_forecast,
        rebuild: config.schedule_rebuild,
        compact: config.schedule_compact,
        purge: config.schedule_purge,
        tidy: config.schedule_tidy,
    };
    assert_eq!(schedules, JobSchedules::default());
}

/// The variables that Kubernetes sets in every container for the Service `prefix`.
fn service(prefix: &str) -> Vec<(String, String)> {
    let address = "tcp://10.96.0.12:8080";
    let variables = [
        ("SERVICE_HOST", "10.96.0.12"),
        ("SERVICE_PORT", "8080"),
        ("SERVICE_PORT_HTTP", "8080"),
        ("PORT", address),
        ("PORT_8080_TCP", address),
        ("PORT_8080_TCP_PROTO", "tcp"),
        ("PORT_8080_TCP_PORT", "8080"),
        ("PORT_8080_TCP_ADDR", "10.96.0.12"),
    ];
    variables.map(|(name, value)| (format!("{prefix}_{name}"), value.to_owned())).to_vec()
}

fn settle_all(environment: &[(String, String)]) -> Result<Config, String> {
    let pairs: Vec<_> = environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    settle(&[], None, &pairs)
}

#[test]
fn variables_of_kubernetes_services_are_no_settings() {
    let mut environment = [service("FAIRSHARED"), service("FAIRSHARED_API")].concat();
    environment.push(("FAIRSHARED_LISTEN".to_owned(), "0.0.0.0:8080".to_owned()));
    let config = settle_all(&environment).unwrap();
    assert_eq!((config.listen.port(), config.injected.len()), (8080, 16));
    // IPv6 is an address as well.
    let v6 =
        [("FAIRSHARED_SERVICE_HOST".to_owned(), "fd00::1".to_owned()), ("FAIRSHARED_PORT".to_owned(), "x".to_owned())];
    assert_eq!(settle_all(&v6).unwrap().injected.len(), 2);
    // Without the host's address, and under other names, they are misspelt settings.
    for (name, value) in service("FAIRSHARED").split_off(1) {
        assert!(settle_all(&[(name.clone(), value)]).unwrap_err().starts_with(&format!("{name} is not a setting")));
    }
    for (name, value) in [
        ("FAIRSHARED_SERVICE_HOST", "example.org"),
        ("FAIRSHARED_PORTS", "1"),
        ("FAIRSHARED_PORT_8080", "1"),
        ("FAIRSHARED_PORT_8080_TCP_HOST", "1"),
        ("FAIRSHARED_PORT_X_TCP", "1"),
        ("FAIRSHARED_PORT_8080_HTTP", "1"),
        ("FAIRSHARED_SERVICE_PORT_", "1"),
        ("FAIRSHARED_LISTNE", "1"),
    ] {
        let mut environment = service("FAIRSHARED");
        environment.retain(|(other, _)| other != name);
        environment.push((name.to_owned(), value.to_owned()));
        assert!(settle_all(&environment).unwrap_err().contains(" is not a setting of fairshared"), "{name}");
    }
    // A setting is heeded, whatever it looks like.
    let mut environment = service("FAIRSHARED");
    environment.push(("FAIRSHARED_LOG_FORMAT".to_owned(), "xml".to_owned()));
    assert!(settle_all(&environment).unwrap_err().starts_with("FAIRSHARED_LOG_FORMAT: "));
}

#[test]
fn one_line_says_what_was_ignored() {
    let run = |filter: &str| {
        let mut command = program();
        let environment = service("FAIRSHARED");
        command.args(["export", "schema"]).env("FAIRSHARED_LOG", filter).envs(environment);
        end(&mut command)
    };
    let told = run("info");
    let lines: Vec<&str> = told.stderr.lines().collect();
    assert!(
        lines.len() == 1 && lines[0].contains("FAIRSHARED_PORT_8080_TCP_ADDR") && lines[0].contains("INFO"),
        "{told:?}"
    );
    assert!(run("warn").ok().contains("type Query"));
}

#[test]
fn the_example_shows_every_setting_with_its_default() {
    let example = include_str!("../../../.env.example");
    let shown: Vec<(&str, &str)> = example
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "))
        .map(|line| line.trim_start_matches('#').split_once('=').unwrap())
        .collect();
    let expected: Vec<(String, &str)> = SETTINGS.iter().map(|s| (s.variable(), s.default)).collect();
    assert_eq!(shown[0].0, CONFIG_VARIABLE);
    assert_eq!(shown[1..].iter().map(|(k, v)| ((*k).to_owned(), *v)).collect::<Vec<_>>(), expected);
}

#[test]
fn the_program_reads_all_four() {
    let folder = TempDir::new().unwrap();
    let missing = |name: &str| format!("sqlite://{}/{name}.db", folder.path().display());
    let toml = file(folder.path(), "f.toml", format!("database_url = {:?}\n", missing("file")));
    let asks = |args: &[&str], environment: &[(&str, &str)]| {
        let mut command = program();
        command.args(args).args(["rank", "g"]).envs(environment.iter().copied()).current_dir(folder.path());
        end(&mut command).refused(1)
    };
    assert!(asks(&[], &[]).contains(&format!("there is no database {}/fairshared.db; ", folder.path().display())));
    assert!(asks(&["--config", &toml], &[]).contains("/file.db"));
    assert!(asks(&[], &[("FAIRSHARED_CONFIG", &toml)]).contains("/file.db"));
    let variable = missing("variable");
    let environment = [("FAIRSHARED_CONFIG", toml.as_str()), ("FAIRSHARED_DATABASE_URL", &variable)];
    assert!(asks(&[], &environment).contains("/variable.db"));
    assert!(asks(&["--database-url", &missing("flag")], &environment).contains("/flag.db"));

    let mut command = program();
    command.args(["rank", "g"]).env("FAIRSHARED_NONSENSE", "1");
    assert!(end(&mut command).refused(2).starts_with("FAIRSHARED_NONSENSE is not a setting of fairshared; known are "));
}
