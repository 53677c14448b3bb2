//! Trees of accounts from files: the readers of both formats, and whole imports.

use std::path::Path;

use fairshared::cli::import::accounts::{AccountFile, TreeFormat};
use fairshared::connectors::slurm::account_tree::AccountTree;
use fairshared::connectors::slurm::people::MappedPeople;
use serde_json::{Value, json};

use crate::cli::program::{Server, end, program, run};
use crate::connect::recorded;
use crate::connect::trees::{recorded_tree, weights_by_name};
use crate::support::database::TestDb;
use crate::support::on_both;

fn read(format: &str, text: &str) -> AccountFile {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, text).unwrap();
    TreeFormat::named(format).unwrap().read(&file).unwrap()
}

#[test]
fn files_give_the_tree_of_sacctmgr() {
    let (shares, dump) = (read("sshare", recorded::SSHARE), read("sacctmgr-dump", recorded::DUMP));
    let tree = |tree: &AccountTree| json!(MappedPeople::of(tree, "rig").tree);
    assert_eq!(tree(&shares.tree), tree(&recorded_tree()));
    assert_eq!(tree(&dump.tree), tree(&recorded_tree()));
    assert_eq!((shares.cluster, dump.cluster), (None, Some("rig".to_owned())));
    assert_eq!((shares.entries, dump.entries), (26, 25));
    assert_eq!((shares.dropped, dump.dropped), (vec![], vec![]));
}

#[test]
fn lines_that_cannot_be_read_are_dropped_and_named() {
    let dropped = |file: AccountFile| -> Vec<(u64, String)> {
        file.dropped.into_iter().map(|line| (line.line, line.fault.to_string())).collect()
    };
    let shares = "Account|User|RawShares|NormShares\nroot|||0\n a||1|0.5\n  a|ann|many|0\n  a|ben|2|1\n a||3\n    c||1|1\n |x|1|1\n b||x|1\n  d||1|1\n z|y|1|1\n";
    let file = read("sshare", shares);
    assert_eq!(file.entries, 10);
    let project =
        |file: &AccountFile, name: &str| file.tree.mapped_accounts().into_iter().any(|account| account.account == name);
    assert!(project(&file, "a") && project(&file, "d"), "{file:?}");
    let expected = [
        (4, "the share \"many\" is neither a whole number nor `parent`"),
        (6, "it has 3 fields, and the header line 4"),
        (7, "no line before it names the account \"c\""),
        (8, "it names no account"),
        (9, "the share \"x\" is neither a whole number nor `parent`"),
        (11, "no line before it names the account \"z\""),
    ];
    assert_eq!(dropped(file), expected.map(|(line, said)| (line, said.to_owned())));

    let dump = "# by hand\nCluster - 'c':Fairshare=1\nParent - 'root'\nAccount - 'a':Description='x:Fairshare=9':Fairshare=2\n\
                Account - 'b'\nParent - 'gone'\nParent - 'a'\nUser - 'ann':Fairshare=-1\nUser 'ben'\nGroup - 'x'\nUser - ''\n";
    let file = read("sacctmgr-dump", dump);
    let domains = json!(MappedPeople::of(&file.tree, "c").tree.domains);
    assert_eq!(
        domains,
        json!([
            {"domain_name": "a", "weight": "2", "projects": [{"project": "a", "weight": "1"}]},
            {"domain_name": "b", "weight": "1", "projects": [{"project": "b", "weight": "1"}]},
        ])
    );
    let expected = [
        (6, "no line before it names the account \"gone\""),
        (8, "the share \"-1\" is neither a whole number nor `parent`"),
        (9, "it is no line of such a file"),
        (10, "it is no line of such a file"),
        (11, "it is no line of such a file"),
    ];
    assert_eq!(dropped(file), expected.map(|(line, said)| (line, said.to_owned())));
    let nothing = TreeFormat::named("sshare").unwrap().read(Path::new("/dev/null")).unwrap_err();
    assert_eq!(nothing.to_string(), "no line of the file has an account");
}

fn weights(db: &TestDb) -> Value {
    weights_by_name(&run(db, ["weights", "get", "rig", "-o", "json"]).json())
}

on_both! {
    async fn an_import_brings_the_weights(db: TestDb) {
        run(&db, ["groups", "create", "rig"]).ok();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let (shares, dump) = (write("sshare.txt", recorded::SSHARE), write("dump.cfg", recorded::DUMP));
        let before = weights(&db);
        let preview = run(&db, ["import", "sacctmgr-dump", &*dump, "--dry-run"]);
        assert_eq!(
            preview.stdout,
            "rig: 25 accounts and users read, 0 dropped\nwould be set 28, unset 0, moved 0, created 29\n"
        );
        assert_eq!(
            preview.stderr,
            "warning: the share 0 is the least weight here: cells/mail, genes\n\
             warning: users with the share `parent` get no weight: strings/mail\n"
        );
        assert_eq!(weights(&db), before);
        run(&db, ["import", "sacctmgr-dump", &*dump]).ok();
        assert_eq!(weights(&db)["domain"], json!({"bio": "1", "chem": "2", "physics": "3", "root": "1"}));
        // The other file has the same tree. It names no cluster.
        let again = run(&db, ["import", "sshare", &*shares, "--resource-group", "rig", "-o", "json"]).json();
        assert_eq!([&again["set"], &again["unset"], &again["created"], &again["lines"]], [0, 0, 0, 26].map(|n| json!(n)).each_ref());
        let nameless = run(&db, ["import", "sshare", &*shares]);
        assert_eq!(nameless.code, Some(2));
        assert!(nameless.stderr.contains("the file names no cluster: --resource-group names the group that gets the tree"), "{nameless:?}");

        // A dropped line is named, and the others are taken.
        let broken = write("broken.txt", &recorded::SSHARE.replace(" chem||2|", " chem||two|"));
        let ended = run(&db, ["import", "sshare", &*broken, "--resource-group", "rig"]);
        assert_eq!(ended.code, Some(1));
        assert!(ended.stdout.contains("dropped line 11: the share \"two\" is neither a whole number nor `parent`"), "{ended:?}");

        // A weight that an admin has set stays.
        run(&db, ["weights", "set", "rig", "domain", "physics", "8"]).ok();
        let ended = run(&db, ["import", "sacctmgr-dump", &*dump]);
        assert!(ended.stderr.contains("values that were set by hand stay: weight of physics (8, in the file 3)"), "{ended:?}");
        assert_eq!(weights(&db)["domain"]["physics"], "8");

        // Options of jobs, and a preview of jobs, are refused.
        for args in [["import", "sacctmgr-dump", &*dump, "--replace"], ["import", "sacct", &*dump, "--dry-run"]] {
            assert_eq!(run(&db, args).code, Some(2));
        }
        let server = Server::over(&db.url);
        let key = run(&db, ["keys", "create", "--role", "connector", "--label", "slurm", "--group", "rig"]).ok().trim_end().to_owned();
        let mut command = program();
        command.env("FAIRSHARED_SERVER", &server.address).env("FAIRSHARED_KEY", &key);
        end(command.args(["import", "sacctmgr-dump", &*dump])).ok();
    }
}
