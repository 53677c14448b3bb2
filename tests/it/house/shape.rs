//! The rules for imports: they point down, and no cycle joins files of one layer.

use std::collections::{BTreeMap, BTreeSet};

use super::files::rust_files;
use super::imports::{CRATES, House, Module};

/// The layers, and the other ones that each may import. `docs/ARCHITECTURE.md` describes them.
pub const LAYERS: [(&str, &[&str]); 15] = [
    ("domain", &[]),
    ("api", &["domain"]),
    ("connectors", &["api", "domain"]),
    ("process", &[]),
    ("store", &["domain", "process"]),
    ("engine", &["api", "domain", "process", "store"]),
    ("service", &["api", "domain", "engine", "process", "store"]),
    ("config", &["connectors", "domain", "store"]),
    ("telemetry", &["config"]),
    ("jobs", &["domain", "engine", "service"]),
    ("rest", &["api", "domain", "engine", "service"]),
    ("graphql", &["api", "domain", "engine", "service"]),
    ("ui", &["rest", "service"]),
    ("server", &["domain", "graphql", "process", "rest", "service", "ui"]),
    (
        "cli",
        &[
            "api",
            "config",
            "connectors",
            "domain",
            "engine",
            "graphql",
            "jobs",
            "process",
            "rest",
            "server",
            "service",
            "store",
            "telemetry",
            "ui",
        ],
    ),
];

/// Imports that the table of layers does not allow.
pub fn upward(house: &House) -> Vec<String> {
    let allowed = |from: &str| LAYERS.iter().find(|(layer, _)| *layer == from).map(|(_, below)| *below);
    let edges = house.named().into_iter().filter_map(|(from, to)| {
        let (layer, other) = (from.first()?, to.first()?);
        let down = layer == other || allowed(layer).is_some_and(|below| below.contains(&other.as_str()));
        (!down).then(|| format!("{} imports {}", from.join("::"), to.join("::")))
    });
    edges.collect()
}

/// Imports of the engine itself, `engine/mod.rs`, by other layers than `service`. Types that its files define may be imported.
pub fn direct_engine_imports(house: &House) -> Vec<String> {
    let engine = ["engine".to_owned()];
    let direct = house.needed().into_iter().filter(|(from, to)| {
        let is_allowed = from.first().is_some_and(|layer| layer == "engine" || layer == "service");
        *to == engine && !is_allowed
    });
    direct.map(|(from, to)| format!("{} imports {}", from.join("::"), to.join("::"))).collect()
}

/// The cycles of each layer, each with its imports. A module and the modules inside it count as one.
pub fn circles(house: &House) -> Vec<Vec<String>> {
    let mut next: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (from, to) in house.needed() {
        if from.first() == to.first() && !from.starts_with(&to) && !to.starts_with(&from) {
            next.entry(from).or_default().insert(to);
        }
    }
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = next.keys().map(|from| (from, reached(&next, from))).collect();
    let leads = |from: &Module, to: &Module| reach.get(from).is_some_and(|all| all.contains(to));
    let mut found: BTreeMap<Vec<&Module>, Vec<String>> = BTreeMap::new();
    for (from, others) in &next {
        for to in others.iter().filter(|to| leads(to, from)) {
            let circle = reach[from].iter().filter(|other| leads(other, from)).copied().collect();
            found.entry(circle).or_default().push(format!("{} imports {}", from.join("::"), to.join("::")));
        }
    }
    found.into_values().collect()
}

/// Every module that can be reached from `from`.
fn reached<'m>(next: &'m BTreeMap<Module, BTreeSet<Module>>, from: &Module) -> BTreeSet<&'m Module> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&Module> = next.get(from).into_iter().flatten().collect();
    while let Some(module) = todo.pop() {
        if found.insert(module) {
            todo.extend(next.get(module).into_iter().flatten());
        }
    }
    found
}

/// The present source. `main.rs` is left out, because it only calls the library.
fn source() -> House {
    let crates = CRATES.iter().flat_map(|name| {
        let inside = rust_files(&format!("{name}/src")).into_iter();
        inside.map(move |(path, text)| (format!("{name}/{}", if path == "lib.rs" { "mod.rs" } else { &path }), text))
    });
    House::of(rust_files("src").into_iter().filter(|(path, _)| path != "main.rs").chain(crates))
}

#[test]
fn imports_point_down() {
    let upward = upward(&source());
    assert!(upward.is_empty(), "imports that point up:\n{}", upward.join("\n"));
}

#[test]
fn only_the_service_has_an_engine() {
    let direct = direct_engine_imports(&source());
    assert!(direct.is_empty(), "use-cases are passed by:\n{}", direct.join("\n"));
}

#[test]
fn no_circle_joins_files_of_a_layer() {
    let circles: Vec<_> = circles(&source()).iter().map(|imports| imports.join("\n")).collect();
    assert!(circles.is_empty(), "circles:\n{}", circles.join("\n\n"));
}

#[test]
fn every_folder_of_the_source_is_a_layer() {
    let house = source();
    let folders: BTreeSet<&str> = house.modules().filter_map(|module| module.first()).map(String::as_str).collect();
    assert_eq!(folders, LAYERS.iter().map(|(layer, _)| *layer).collect());
}

/// A source tree from paths and texts.
fn planted(files: &[(&str, &str)]) -> House {
    House::of(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())))
}

#[test]
fn a_planted_import_that_points_up_is_found() {
    for text in [
        "use crate::service::Service;",
        "use crate::{domain, service::{self, Service as S}};",
        "fn f(x: &crate::service::Service) {}",
        "use super::super::service;",
    ] {
        let house =
            planted(&[("store/mod.rs", ""), ("store/kernel/mod.rs", text), ("service/mod.rs", "pub struct Service;")]);
        assert_eq!(upward(&house), ["store::kernel imports service"], "{text}");
    }
}

#[test]
fn a_planted_import_of_the_engine_is_found() {
    for text in ["use crate::engine::Engine;", "fn f(engine: &crate::service::Engine) {}"] {
        let house = planted(&[
            ("engine/mod.rs", "pub mod rows; pub struct Engine;"),
            ("engine/rows.rs", "pub struct Row;"),
            ("service/mod.rs", "pub use crate::engine::Engine;"),
            ("rest/list.rs", text),
            ("rest/view.rs", "use crate::engine::rows::Row;"),
        ]);
        assert_eq!(direct_engine_imports(&house), ["rest::list imports engine"], "{text}");
    }
}

#[test]
fn a_crate_that_is_named_without_the_library_is_found() {
    let house = planted(&[
        ("domain/mod.rs", ""),
        ("domain/time.rs", "use api::rows::Row;"),
        ("api/mod.rs", "pub mod rows;"),
        ("api/rows.rs", "use domain::time::Day; pub struct Row;"),
        ("store/mod.rs", "fn f(fault: &connectors::Fault) {}"),
        ("connectors/mod.rs", "pub struct Fault; fn f(row: &api::rows::Row) {}"),
    ]);
    assert_eq!(upward(&house), ["domain::time imports api::rows", "store imports connectors"]);
}

#[test]
fn imports_that_point_down_are_none() {
    let house = planted(&[
        ("lib.rs", "pub mod rest;"),
        ("rest/mod.rs", "mod kernels;"),
        ("rest/kernels.rs", "use crate::service::Service; // use crate::cli::Cli\n#[cfg(test)] use crate::cli::Cli;"),
        ("service/mod.rs", "use crate::store::{self, Store}; use std::sync::Arc;"),
        ("store/mod.rs", "use crate::domain::time::Day;"),
        ("domain/time.rs", "pub struct Day;"),
        ("cli/mod.rs", "use crate::rest;"),
    ]);
    assert_eq!(upward(&house), [""; 0]);
    assert_eq!(circles(&house), [[""; 0]; 0]);
}

#[test]
fn a_planted_circle_is_found() {
    let all = ["domain::a imports domain::b", "domain::b imports domain::c", "domain::c imports domain::a"];
    for (c, expected) in [
        ("use super::a::A;", &all[..]),
        // The parent passes the name on.
        ("use super::A;", &all),
        ("fn f() { super::A::new() }", &all),
        ("use super::b; fn f() { b::B::new() }", &["domain::b imports domain::c", "domain::c imports domain::b"]),
    ] {
        let house = planted(&[
            ("domain/mod.rs", "mod a; mod b; mod c; pub use a::A;"),
            ("domain/a.rs", "use super::b::B; pub struct A;"),
            ("domain/b.rs", "use crate::c; pub struct B;"),
            ("domain/c.rs", c),
        ]);
        assert_eq!(circles(&house), [expected], "{c}");
    }
}

#[test]
fn a_module_and_those_inside_it_make_no_circle() {
    let house = planted(&[
        ("domain/mod.rs", "mod sequencer;"),
        ("domain/sequencer/mod.rs", "mod fifo; pub trait Order {} const ALL: u8 = fifo::FIFO;"),
        ("domain/sequencer/fifo.rs", "use super::Order; pub const FIFO: u8 = 1;"),
    ]);
    assert_eq!(circles(&house), [[""; 0]; 0]);
}
