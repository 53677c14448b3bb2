//! The names of public types: noun phrases, or words of the field, and no two with the same name.

use std::collections::{BTreeMap, BTreeSet};

use super::files::sources;
use super::source::{Token, tokens};

/// Public types of one word, each with the reason why it needs no other.
const ONE_WORD: [(&str, &str); 65] = [
    ("Affinity", "an affinity of Kubernetes"),
    ("Amount", "an amount of a slot"),
    ("Authenticator", "one way to prove an identity"),
    ("Bound", "a quota or a limit, as Kubernetes and KAI call both"),
    ("Bucket", "a usage bucket, the unit of decay"),
    ("Caller", "the sender of a request"),
    ("Candidate", "an owner in a comparison"),
    ("Clock", "the clock as a parameter, as code is commonly written so that tests set it"),
    ("Comparison", "the owners that an explanation compares"),
    ("Config", "the settings of the program"),
    ("Cursor", "a position in a list, as in other paged interfaces"),
    ("Date", "a scalar of GraphQL"),
    ("Day", "a day in UTC"),
    ("Decimal", "a scalar of GraphQL"),
    ("Domain", "a tier of the hierarchy"),
    ("Entitlement", "the share that a weight stands for"),
    ("Error", "the error of the service, as crates usually call it"),
    ("Explanation", "the answer of `explain`"),
    ("Exponent", "the exponent of the factor"),
    ("Fault", "a fault in a request"),
    ("Filter", "a filter of a list"),
    ("Fraction", "a number of arithmetic"),
    ("Health", "the health of a process"),
    ("Hierarchy", "domains, projects and users"),
    ("Kernel", "a container or job whose usage is counted"),
    ("Labels", "the labels of Kubernetes"),
    ("Ledger", "the buckets and capacities of a group"),
    ("List", "a page of a list, in REST"),
    ("Member", "a user inside a project"),
    ("Migration", "the name that sea-orm expects"),
    ("Migrator", "the name that sea-orm expects"),
    ("Model", "the name that sea-orm expects"),
    ("Mutation", "the root of GraphQL"),
    ("Options", "the options of one algorithm of the division, which `algorithms!` finds by this name"),
    ("Owner", "a domain, project or member whose usage is counted"),
    ("Page", "a page of a list"),
    ("Principal", "an identity with rights, as in Kerberos"),
    ("Problem", "`application/problem+json`"),
    ("Project", "a tier of the hierarchy"),
    ("Quantity", "a quantity, as Kubernetes calls it"),
    ("Query", "the root of GraphQL"),
    ("Ranking", "a ranking, in REST"),
    ("Readiness", "the readiness of a server"),
    ("Reclaimee", "the name that Volcano gives a member that may be evicted"),
    ("Relation", "the name that sea-orm expects"),
    ("Result", "a result with the error of its layer"),
    ("Role", "the rights of a key"),
    ("Rounding", "the rounding of a division"),
    ("Schema", "the schema of the database"),
    ("Sequencer", "a rule that orders workloads"),
    ("Service", "the use-cases behind all interfaces"),
    ("Setting", "a setting of the program"),
    ("Share", "the share of a domain, project or user"),
    ("Siblings", "the owners below one parent"),
    ("Store", "the connections to a database"),
    ("Taint", "a taint of Kubernetes"),
    ("Tier", "a tier of the hierarchy"),
    ("Timestamp", "an instant"),
    ("Toleration", "a toleration of Kubernetes"),
    ("Tx", "an open transaction, as drivers call it"),
    ("Usage", "a number of slot-seconds"),
    ("User", "a tier of the hierarchy"),
    ("Uuid", "a scalar of GraphQL"),
    ("Victim", "a member that a plan evicts, as Volcano calls it"),
    ("Weight", "a fair-share weight"),
];

/// Types that every file of a kind declares, or every layer.
const REPEATED: [&str; 5] = ["Migration", "Model", "Options", "Relation", "Result"];

/// The types of GraphQL have the names of its schema, which are often those of the rules.
const TYPES_OF_GRAPHQL: &str = "src/graphql/types/";

/// The source whose types are not named by the schema of GraphQL.
fn named_here() -> impl Iterator<Item = (String, String)> {
    sources().filter(|(file, _)| !file.starts_with(TYPES_OF_GRAPHQL))
}

/// The names of the public types of a file.
fn public_types(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.word() != Some("pub") {
            continue;
        }
        let mut rest = &tokens[at + 1..];
        if rest.first().is_some_and(|next| next.is('(')) {
            let end = rest.iter().position(|next| next.is(')')).unwrap_or(0);
            rest = &rest[end + 1..];
        }
        if let [Token::Word(kind), Token::Word(name), ..] = rest
            && ["struct", "enum", "trait", "type", "union"].contains(&kind.as_str())
        {
            found.push(name.clone());
        }
    }
    found
}

fn is_one_word(name: &str) -> bool {
    !name.chars().skip(1).any(char::is_uppercase)
}

#[test]
fn public_types_are_noun_phrases() {
    let allowed: BTreeSet<&str> = ONE_WORD.into_iter().map(|(name, _)| name).collect();
    let types = named_here().flat_map(|(file, text)| {
        let names = public_types(&text).into_iter();
        names.map(move |name| (name, file.clone()))
    });
    let types: Vec<(String, String)> = types.filter(|(name, _)| is_one_word(name)).collect();
    let strange = types.iter().filter(|(name, _)| !allowed.contains(name.as_str()));
    let strange: Vec<String> = strange.map(|(name, file)| format!("{name} in {file}")).collect();
    assert!(strange.is_empty(), "public types of one word that `ONE_WORD` has no reason for:\n{}", strange.join("\n"));
    let used: BTreeSet<&str> = types.iter().map(|(name, _)| name.as_str()).collect();
    let unused: Vec<&&str> = allowed.iter().filter(|name| !used.contains(**name)).collect();
    assert!(unused.is_empty(), "reasons for types that do not exist: {unused:?}");
}

#[test]
fn public_types_have_names_of_their_own() {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (file, text) in named_here() {
        for name in public_types(&text).into_iter().filter(|name| !REPEATED.contains(&name.as_str())) {
            files.entry(name).or_default().push(file.clone());
        }
    }
    files.retain(|_, files| files.len() > 1);
    assert!(files.is_empty(), "public types with the same name: {files:#?}");
}

#[test]
fn planted_types_are_found() {
    let text = "pub struct One; pub(in crate::a) enum Two {} struct Three; pub fn four() {} // pub struct Five;\npub type Six = A;";
    assert_eq!(public_types(text), ["One", "Two", "Six"]);
    assert!(is_one_word("Rest") && !is_one_word("RestOfAll") && !is_one_word("WhatIf"));
}
