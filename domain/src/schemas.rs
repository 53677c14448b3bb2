//! The types of the domain in the `OpenAPI` document: decimals and times of answers are texts.

use std::borrow::Cow;

use utoipa::openapi::schema::{
    AdditionalProperties, AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::decimal::{AMOUNT_DECIMALS, Amount};
use super::division::{Fraction, algorithm_names};
use super::kernel_agents::MAX_AGENTS_OF_KERNEL;
use super::queues::Bound;
use super::reading::ReadOnly;
use super::reported_status::MAX_STATUS_WORDS;
use super::reported_time::TOO_MANY_SECONDS;
use super::sequencer::Sequencer;
use super::slots::SlotAmounts;
use super::time::Timestamp;
use super::weight::Weight;

fn text(description: &str) -> Object {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description)).build()
}

/// The names of a registry as a list in a document: "`a`, `b` or `c`."
fn list_names(names: impl Iterator<Item = &'static str>) -> String {
    let mut names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    match names.pop() {
        Some(last) if names.is_empty() => format!("{last}."),
        Some(last) => format!("{} or {last}.", names.join(", ")),
        None => String::new(),
    }
}

/// The name of a division algorithm.
pub fn algorithm() -> Object {
    text(&list_names(algorithm_names()))
}

/// The name of a sequencer.
pub fn sequencer() -> Object {
    text(&list_names(Sequencer::names()))
}

/// The name of a sequencer, or null; the usual one is listed first.
pub fn some_sequencer() -> Object {
    let others = Sequencer::names().filter(|name| *name != Sequencer::DEFAULT_NAME);
    let text = ObjectBuilder::new().schema_type(SchemaType::from_iter([Type::String, Type::Null]));
    text.description(Some(list_names(std::iter::once(Sequencer::DEFAULT_NAME).chain(others)))).build()
}

/// A decimal, at least 0: requests may contain a number, answers contain a text of this form.
fn decimal(description: &str, form: String) -> ObjectBuilder {
    let either = SchemaType::from_iter([Type::String, Type::Number]);
    ObjectBuilder::new().schema_type(either).minimum(Some(0)).pattern(Some(form)).description(Some(description))
}

/// The pattern of a decimal text. After the last decimal only zeros may follow.
fn decimal_pattern(places: u32) -> String {
    format!(r"[0-9]+(\.[0-9]{{1,{places}}}0*)?")
}

/// The pattern of a decimal or a quantity.
const QUANTITY_PATTERN: &str = r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?";

/// The description of slots that may have memory in MiB.
const RESOURCES: &str =
    "Amounts by slot. `mem` is in bytes; `mem_mib` in its place is in MiB, and a decimal. Both together are refused.";

/// Slots with amounts that may be quantities.
pub fn quantities() -> Object {
    map_of_quantities(SchemaType::new(Type::Object), "Amounts by slot.")
}

/// [`quantities`] of resources, which may have memory in MiB.
pub fn resource_quantities() -> Object {
    map_of_quantities(SchemaType::new(Type::Object), RESOURCES)
}

/// [`resource_quantities`] or null.
pub fn some_resource_quantities() -> Object {
    map_of_quantities(SchemaType::from_iter([Type::Object, Type::Null]), RESOURCES)
}

/// The start of a kernel in a report.
pub fn start_time() -> Schema {
    reported_time("When it started.")
}

/// The end of a kernel in a report.
pub fn end_time() -> Schema {
    reported_time("When it ended.")
}

/// The time of a status in a report.
pub fn status_time() -> Schema {
    reported_time("Since when it is suspended, or runs; a kernel that is suspended, or was, says it.")
}

/// The submission of a kernel in a report.
pub fn submission_time() -> Schema {
    reported_time("When it was submitted; a later report need not repeat it.")
}

/// A time of a report: RFC 3339, seconds since 1970, by themselves or as Slurm's JSON has them, or null.
fn reported_time(meaning: &str) -> Schema {
    let date_time = ObjectBuilder::new().schema_type(Type::String);
    let date_time = date_time.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    let digits = ObjectBuilder::new().schema_type(Type::String).pattern(Some(r"^[0-9]+(\.[0-9]+)?$"));
    let seconds = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0));
    let seconds = seconds.exclusive_maximum(Some(TOO_MANY_SECONDS.cast_signed()));
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
    let number = number.exclusive_maximum(Some(TOO_MANY_SECONDS.cast_signed()));
    let truth = || ObjectBuilder::new().schema_type(Type::Boolean);
    let object = ObjectBuilder::new().schema_type(Type::Object);
    let object = object.property("set", truth()).property("infinite", truth()).property("number", number);
    let object = object.required("set").required("infinite").required("number");
    let object = object.additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)));
    let any = AnyOfBuilder::new().item(date_time).item(digits).item(seconds).item(object);
    let any = any.item(ObjectBuilder::new().schema_type(Type::Null));
    let said = format!(
        "{meaning} RFC 3339, or seconds since 1970 as a number, a text of digits, or an object of Slurm's JSON; 0, not set or infinite: \
         absent."
    );
    Schema::AnyOf(any.description(Some(said)).build())
}

/// The status of a report: a text or a list of texts.
pub fn reported_status() -> Schema {
    let text = || ObjectBuilder::new().schema_type(Type::String).build();
    let texts = ArrayBuilder::new().items(text()).max_items(Some(MAX_STATUS_WORDS));
    let said = "`PENDING`, `RUNNING`, `SUSPENDED` or `TERMINATED`, or words of Kubernetes, Slurm or HTCondor for one of them, with \
                commas between or as a list. An unknown word counts as `UNKNOWN`, with a warning.";
    Schema::AnyOf(AnyOfBuilder::new().item(text()).item(texts).description(Some(said)).build())
}

/// The agents of a report: a name, a list of names, or null.
pub fn reported_agents() -> Schema {
    let name = || ObjectBuilder::new().schema_type(Type::String).build();
    let names =
        ArrayBuilder::new().items(name()).min_items(Some(1)).max_items(Some(MAX_AGENTS_OF_KERNEL)).unique_items(true);
    let any = AnyOfBuilder::new().item(name()).item(names).item(ObjectBuilder::new().schema_type(Type::Null));
    let said = "Where it runs: an agent, or a list of agents over which its slots are spread as evenly as they can be.";
    Schema::AnyOf(any.description(Some(said)).build())
}

/// Bounds of slots as requests write them; answers have exact decimals.
pub fn bounds_schema() -> Object {
    let form = format!("^({QUANTITY_PATTERN}|unlimited)$");
    let said =
        "A decimal, a quantity of Kubernetes such as `500m` or `64Gi`, or `unlimited`; answers have exact decimals.";
    let map = ObjectBuilder::new().schema_type(Type::Object).description(Some("Bounds by slot."));
    map.additional_properties(Some(decimal(said, form))).build()
}

fn map_of_quantities(kind: SchemaType, description: &str) -> Object {
    let said = "A decimal, or a quantity of Kubernetes such as `500m` or `64Gi`. At most 12 decimals.";
    let map = ObjectBuilder::new().schema_type(kind).description(Some(description));
    map.additional_properties(Some(decimal(said, format!("^{QUANTITY_PATTERN}$")))).build()
}

impl PartialSchema for Amount {
    fn schema() -> RefOr<Schema> {
        let said =
            "An exact decimal, 0 to 10^21 with at most 12 decimals. Accepted as text or number, answered as text.";
        decimal(said, format!("^{}$", decimal_pattern(AMOUNT_DECIMALS))).build().into()
    }
}

impl ToSchema for Amount {}

impl PartialSchema for Bound {
    fn schema() -> RefOr<Schema> {
        let form = format!("^({}|unlimited)$", decimal_pattern(AMOUNT_DECIMALS));
        decimal("An exact decimal, or `unlimited`.", form).build().into()
    }
}

impl ToSchema for Bound {}

impl PartialSchema for Weight {
    fn schema() -> RefOr<Schema> {
        let said =
            "Above 0, at most 999999.9999, with at most 4 decimals. Accepted as text or number, answered as text.";
        decimal(said, format!("^{}$", decimal_pattern(4))).maximum(Some(999_999.999_9)).build().into()
    }
}

impl ToSchema for Weight {}

impl PartialSchema for ReadOnly {
    fn schema() -> RefOr<Schema> {
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).read_only(true);
        any.description(Some("Accepted and ignored, whatever it holds.")).build().into()
    }
}

impl ToSchema for ReadOnly {}

impl PartialSchema for Fraction {
    fn schema() -> RefOr<Schema> {
        text("A ratio with at most 12 decimals, or `inf`.").into()
    }
}

impl ToSchema for Fraction {
    fn name() -> Cow<'static, str> {
        "Ratio".into()
    }
}

impl PartialSchema for Timestamp {
    fn schema() -> RefOr<Schema> {
        let text = ObjectBuilder::new().schema_type(Type::String);
        text.format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime))).build().into()
    }
}

impl ToSchema for Timestamp {}

impl PartialSchema for SlotAmounts {
    fn schema() -> RefOr<Schema> {
        quantities().into()
    }
}

impl ToSchema for SlotAmounts {
    fn name() -> Cow<'static, str> {
        "Slots".into()
    }
}
