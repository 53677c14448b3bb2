//! Jobs that never ran make no resource group, and a file of capacities with accelerators warns of jobs that have none.

use super::loading::Desk;
use crate::support::on_both;

const NEVER: &str = "1,ann,ml,research,nowhere,,2026-02-09T01:00:00Z,4,,\n";

on_both! {
    async fn a_job_that_never_ran_makes_no_group(db: TestDb) {
        let desk = Desk::new(db).await;
        let args = desk.args(&format!("{NEVER}2,ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n"));
        let report = desk.import(&args).await;
        assert_eq!((report.groups, report.new_groups, report.without_group, report.taken()), (1, 1, 1, 1));
        assert_eq!((report.changed, report.known(), report.succeeded()), (1, 0, true));
        let said = report.to_string();
        assert!(said.contains("\n1 job that never ran left out: no job that ran makes its resource group\n"), "{said}");
        assert!(desk.fixture.service.group(&crate::support::fixture::admin(), "nowhere").is_err());
        let again = desk.import(&args).await;
        assert!(again.changed_nothing() && again.without_group == 1, "{again}");
    }

    async fn a_job_that_never_ran_is_taken_where_its_group_is(db: TestDb) {
        let desk = Desk::new(db).await;
        // The job that makes the group comes later.
        let args = desk.args(&format!("{NEVER}2,ann,ml,research,nowhere,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n"));
        let report = desk.import(&args).await;
        assert_eq!((report.new_groups, report.without_group, report.changed), (1, 0, 2));
        assert!(desk.import(&args).await.changed_nothing());
    }

    async fn a_file_of_jobs_that_never_ran_is_no_failure(db: TestDb) {
        let desk = Desk::new(db).await;
        let report = desk.import(&desk.args(NEVER)).await;
        assert_eq!((report.groups, report.without_group, report.succeeded()), (0, 1, true));
    }

    async fn accelerators_that_no_job_held_are_a_warning(db: TestDb) {
        let desk = Desk::new(db).await;
        let nodes = |gpu: &str| {
            let rows = format!("east,n[1-2],64,512,{gpu},2026-01-01T00:00:00Z,\n");
            desk.file("nodes.csv", format!("resource_group,agent_id,cpu,mem_gib,gpu,from,to\n{rows}"))
        };
        let row = |gpu: &str| format!("1,ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,{gpu}\n");
        for (offered, held, is_warned) in [("8", "", true), ("8", "0", true), ("8", "1", false), ("0", "", false), ("", "", false)] {
            let mut args = desk.args(&row(held));
            args.capacities = Some(nodes(offered));
            let report = desk.import(&args).await;
            assert_eq!(report.without_accelerators, is_warned, "{offered} {held}");
            let said = report.to_string();
            assert_eq!(said.contains("\nwarning: the capacities have gpu, and no job of the file held"), is_warned, "{said}");
        }
    }
}
