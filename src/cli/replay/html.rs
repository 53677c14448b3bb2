//! A report as one HTML page with plots, which needs no other file.

use std::fmt::Write;

use plotters::prelude::*;

use super::report::ReplayReport;
use super::show::largest_differences;
use crate::cli::failure::CommandFailure;
use crate::cli::figure_text::{duration_text, share_text};
use crate::domain::replay::report::{DayFigures, PolicyOutcome, ReplayEntity};

const STYLE_SHEET: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}\
th,td{padding:.2rem .7rem;white-space:nowrap;text-align:right;border-bottom:1px solid #ddd}th{color:#555;font-weight:600}\
td.name,th.name{text-align:left}svg{max-width:100%;height:auto}";

const PLOT_SIZE: (u32, u32) = (960, 320);
/// The colours of lines, which most people can distinguish on white.
const LINE_COLORS: [RGBColor; 8] = [
    RGBColor(0x55, 0x55, 0x55),
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x8b, 0x5a, 0x2b),
];

/// A column of a table: its heading, and the text for a row.
type Column<R> = (&'static str, fn(&R) -> String);
/// The title of a plot, and its value for each day.
type DayPlot = (&'static str, fn(&DayFigures) -> f64);

pub(super) fn page(report: &ReplayReport) -> Result<String, CommandFailure> {
    let mut page = String::new();
    let unwritten = |_| CommandFailure::Failed("the report cannot be written".to_owned());
    summary(&mut page, report).map_err(unwritten)?;
    let plots: [DayPlot; 3] = [
        ("Share of the cluster in the wrong hands: users, by the week that ends there", |day| {
            day.misallocated_share.user
        }),
        ("Share of the cluster in the wrong domains", |day| day.misallocated_share.domain),
        ("Utilisation by day", |day| day.utilisation),
    ];
    for (title, figure) in plots {
        page +=
            &plot(title, report, figure).map_err(|e| CommandFailure::Failed(format!("cannot draw {title:?}: {e}")))?;
    }
    write_details(&mut page, report).map_err(unwritten)?;
    page += "</body></html>\n";
    Ok(page)
}

fn summary(page: &mut String, report: &ReplayReport) -> std::fmt::Result {
    let capacity: Vec<String> = report.capacity.iter().map(|(slot, amount)| format!("{slot}={amount}")).collect();
    write!(
        page,
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Replay</title><style>{STYLE_SHEET}</style></head><body>\
        <h1>Replay</h1><p>{} jobs of {} owners, submitted from {} to {}, on {} with the scheduler {}.</p>",
        report.jobs,
        report.owners,
        report.first_submission,
        report.last_submission,
        escape_html(&capacity.join(" ")),
        report.scheduler
    )?;
    for note in &report.notes {
        write!(page, "<p>Note: {}.</p>", escape_html(note))?;
    }
    let policies: [Column<PolicyOutcome>; 10] = [
        ("policy", |o| o.policy.clone()),
        ("jobs", |o| o.figures.jobs.to_string()),
        ("mean wait", |o| duration_text(o.figures.wait.mean)),
        ("median", |o| duration_text(o.figures.wait.median)),
        ("p95", |o| duration_text(o.figures.wait.p95)),
        ("bounded slowdown", |o| format!("{:.1}", o.figures.bounded_slowdown)),
        ("change of the mean wait", |o| o.wait_change.map(duration_text).unwrap_or_default()),
        ("utilisation", |o| share_text(o.utilisation)),
        ("in the wrong hands", |o| share_text(o.misallocated_share.user)),
        ("Jain's index", |o| format!("{:.3}", o.jains_index.user)),
    ];
    page.push_str("<h2>Policies</h2>");
    table(page, 1, &policies, report.all())
}

/// Writes tables by domain and project, and of the users whose waits changed most.
fn write_details(page: &mut String, report: &ReplayReport) -> std::fmt::Result {
    let against = report.compared_with.as_deref();
    for outcome in report.all() {
        let users = largest_differences(&outcome.users);
        if outcome.projects.len() > 1 || !users.is_empty() {
            write!(page, "<h2>{}</h2>", escape_html(&outcome.policy))?;
        }
        if outcome.domains.len() > 1 {
            table(page, 1, &entity([("domain", |e| e.domain.clone())]), outcome.domains.iter())?;
        }
        if outcome.projects.len() > 1 {
            table(page, 1, &entity([("project", project)]), outcome.projects.iter())?;
        }
        if let Some(against) = against.filter(|_| !users.is_empty()) {
            write!(page, "<p>Users whose mean wait differs most from {}:</p>", escape_html(against))?;
            let columns = entity([("project", project), ("user", |e| e.user.clone().unwrap_or_default())]);
            table(page, 2, &columns, users.into_iter())?;
        }
    }
    Ok(())
}

fn project(entity: &ReplayEntity) -> String {
    entity.project.clone().unwrap_or_default()
}

/// The columns of entities: names, then figures.
fn entity<const N: usize>(names: [Column<ReplayEntity>; N]) -> Vec<Column<ReplayEntity>> {
    let figures: [Column<ReplayEntity>; 7] = [
        ("jobs", |e| e.figures.jobs.to_string()),
        ("mean wait", |e| duration_text(e.figures.wait.mean)),
        ("median", |e| duration_text(e.figures.wait.median)),
        ("p95", |e| duration_text(e.figures.wait.p95)),
        ("bounded slowdown", |e| format!("{:.1}", e.figures.bounded_slowdown)),
        ("used", |e| share_text(e.used_share)),
        ("change of the mean wait", |e| e.wait_change.map(duration_text).unwrap_or_default()),
    ];
    names.into_iter().chain(figures).collect()
}

/// Writes a table whose first columns are names.
fn table<'r, R: 'r>(
    page: &mut String,
    names: usize,
    columns: &[Column<R>],
    rows: impl Iterator<Item = &'r R>,
) -> std::fmt::Result {
    let class = |at: usize| if at < names { " class=\"name\"" } else { "" };
    page.push_str("<table><tr>");
    for (at, (heading, _)) in columns.iter().enumerate() {
        write!(page, "<th{}>{heading}</th>", class(at))?;
    }
    page.push_str("</tr>");
    for row in rows {
        page.push_str("<tr>");
        for (at, (_, cell)) in columns.iter().enumerate() {
            write!(page, "<td{}>{}</td>", class(at), escape_html(&cell(row)))?;
        }
        page.push_str("</tr>");
    }
    page.push_str("</table>");
    Ok(())
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A plot with a line for each policy, by day.
fn plot(
    title: &str,
    report: &ReplayReport,
    figure: fn(&DayFigures) -> f64,
) -> Result<String, DrawingAreaErrorKind<std::io::Error>> {
    let days = report.all().map(|outcome| outcome.days.len()).max().unwrap_or(1);
    let values = report.all().flat_map(|outcome| &outcome.days).map(figure);
    let top = values.fold(0.0, f64::max).max(0.01);
    let first = report.first_submission.day();
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, PLOT_SIZE).into_drawing_area();
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 17))
        .margin(10)
        .x_label_area_size(30)
        .y_label_area_size(55)
        .build_cartesian_2d(0.0..days as f64, 0.0..top * 1.05)?;
    #[expect(clippy::cast_possible_truncation, reason = "a number of days")]
    let date = |day: &f64| first.plus(*day as i32).to_string();
    chart
        .configure_mesh()
        .disable_x_mesh()
        .max_light_lines(0)
        .x_labels(8)
        .y_labels(5)
        .x_label_formatter(&date)
        .y_label_formatter(&|share| format!("{:.0} %", share * 100.0))
        .draw()?;
    for (at, outcome) in report.all().enumerate() {
        let color = LINE_COLORS[at % LINE_COLORS.len()];
        let points = outcome.days.iter().enumerate().map(|(day, figures)| (day as f64 + 0.5, figure(figures)));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(outcome.policy.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .draw()?;
    area.present()?;
    drop(chart);
    drop(area);
    Ok(svg)
}
