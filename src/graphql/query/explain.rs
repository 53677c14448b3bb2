//! Queries for explanations, and for the sequence of workloads with the reason why each waits.

use async_graphql::{Context, Object, Result};

use super::{caller, service};
use crate::api::sequence::SequenceRequest;
use crate::domain::options::SequenceMode;
use crate::domain::tier::Tier;
use crate::graphql::charges::charge_kernels;
use crate::graphql::guard;
use crate::graphql::scalars::JsonString;
use crate::graphql::types::Sequence;
use crate::service::Error;
use crate::service::explain::ExplainInput;
use crate::service::input::json;
use crate::service::input::page::{MAX_PAGE, check_limit};
use crate::service::sequence::SequenceInput;
use crate::service::sequence::pending::ReportedWorkloads;

#[derive(Default)]
pub struct ExplainQueries;

#[Object(rename_fields = "snake_case", rename_args = "snake_case")]
#[expect(clippy::too_many_arguments, reason = "the parameters of the endpoint")]
impl ExplainQueries {
    /// Why a domain, a project or a user stands where it stands, and what would change that. The shape is that of
    /// `GET /resource-groups/{rg}/explain`. Users and projects are named by UUID or by name.
    async fn explain_fair_share(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        tier: Option<String>,
        domain: Option<String>,
        project: Option<String>,
        user: Option<String>,
        workload: Option<String>,
        place: Option<i32>,
    ) -> Result<JsonString> {
        let users = service(ctx)?.group(caller(ctx)?, &resource_group)?.count_users();
        guard::charge_rows(ctx, users.max(guard::REPORT_ROWS))?;
        let tier = tier.map(|text| text.parse::<Tier>().map_err(|_| none_of("/tier", "domain, project, user")));
        let place = place.map(i64::from);
        let input = ExplainInput { tier: tier.transpose()?, domain, project, user, workload, place };
        Ok(JsonString::of(&service(ctx)?.explain(caller(ctx)?, &resource_group, input).await?))
    }

    /// The order in which workloads would start now, each with why it waits: the reported ones that wait, or those of `input`,
    /// which has the shape of the body of `POST /resource-groups/{rg}/sequence`. An `input` without `workloads` orders the
    /// reported ones, too. `first` of them are shown.
    async fn sequence(
        &self,
        ctx: &Context<'_>,
        resource_group: String,
        mode: Option<String>,
        input: Option<JsonString>,
        first: Option<i64>,
    ) -> Result<Sequence> {
        charge_kernels(ctx, &resource_group, 1).await?;
        let first = check_limit(first, "/first", MAX_PAGE)?;
        let mode = mode.map(|text| text.parse::<SequenceMode>().map_err(|()| none_of("/mode", "plain, progressive")));
        let (mode, caller, service) = (mode.transpose()?, caller(ctx)?.clone(), service(ctx)?.clone());
        let shown = match input {
            None => {
                let pending = service.pending_sequence(&caller, &resource_group, mode).await?;
                Sequence::new(&pending.sequenced, &pending.requested, caller.only_user(), first)
            }
            Some(JsonString(input)) => {
                let (body, client) = (input.to_string(), caller.client());
                let group = service.group(&caller, &resource_group)?;
                caller.require_reporter()?;
                if input.get("forecast") == Some(&true.into()) {
                    service.read_forecasts_soon(&group);
                }
                let kernels = match input.get("workloads") {
                    Some(_) => None,
                    None => Some(service.reported_kernels(&group).await?),
                };
                let work = || {
                    let request: SequenceRequest = json::read(body.as_bytes()).map_err(|e| move_faults(e.into()))?;
                    if request.workloads.is_none() && kernels.is_none() {
                        return Err(Error::about("/input/workloads", "missing_field", "is missing"));
                    }
                    let asked: SequenceInput = request.into();
                    let asked = SequenceInput { explain: true, mode: mode.or(asked.mode), ..asked };
                    let reported = kernels.map(|kernels| ReportedWorkloads::of(&group, &kernels));
                    let requested = reported.as_ref().map(ReportedWorkloads::requested_slots).unwrap_or_default();
                    let asked = match reported {
                        Some(reported) => reported.fill(asked),
                        None => asked,
                    };
                    let sequenced = service.sequence_in(&caller, group, asked).map_err(move_faults)?;
                    Ok(Sequence::new(&sequenced, &requested, None, first))
                };
                service.permits.run(client, work).await?
            }
        };
        guard::spend_rows(ctx, shown.items.len())?;
        Ok(shown)
    }
}

fn none_of(pointer: &str, known: &str) -> Error {
    Error::about(pointer, "invalid_value", format!("is none of {known}"))
}

/// Faults of the input, at the argument that holds it.
fn move_faults(error: Error) -> Error {
    let Error::Invalid(faults) = error else { return error };
    Error::Invalid(faults.into_iter().map(|fault| fault.below("/input")).collect())
}
