//! Jobs that never ran create no resource group, and a file of capacities with accelerators warns of jobs without them.

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

    async fn accelerators_that_no_job_of_a_group_held_are_a_warning(db: TestDb) {
        let desk = Desk::new(db).await;
        let nodes = |gpu: &str| {
            let rows = ["east", "west", "idle"].map(|group| format!("{group},{group}[1-2],64,512,{gpu},2026-01-01T00:00:00Z,\n")).concat();
            desk.file("nodes.csv", format!("resource_group,agent_id,cpu,mem_gib,gpu,from,to\n{rows}"))
        };
        // The jobs of the one group say nothing about those of the other. The idle group has no jobs, which is another warning.
        let row = |group: &str, job: u32, gpu: &str| {
            format!("{job},ann,ml,research,{group},2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,{gpu}\n")
        };
        for (offered, held, warned) in
            [("8", "", &["east"][..]), ("8", "0", &["east"]), ("8", "1", &[]), ("0", "", &[]), ("", "", &[])]
        {
            let mut args = desk.args(&(row("east", 1, held) + &row("west", 2, "1") + &row("west", 3, "")));
            args.capacities = Some(nodes(offered));
            let report = desk.import(&args).await;
            assert_eq!(report.unused_accelerators, warned, "{offered} {held}");
            let said = "the capacities have gpu, and no job held an accelerator in the resource groups east: ";
            let is_said = report.warnings().iter().any(|warning| warning.starts_with(said));
            assert_eq!(is_said, !warned.is_empty(), "{:?}", report.warnings());
        }
    }
}
