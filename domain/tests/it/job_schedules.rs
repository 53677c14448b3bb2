//! Schedules of jobs: the expressions that are accepted, and the times at which a job is due.

use domain::job_schedule::JobSchedule;

use crate::support::at as time;

const FIELDS: &str = "second, minute, hour, day of month, month, day of week";

#[test]
fn a_job_is_due_at_the_first_time_after_its_last_start() {
    for (expression, last_start, now, due_at) in [
        // Starts are between seconds, and times of a schedule are not.
        ("* * * * * *", "2026-01-13T12:00:00.5Z", "2026-01-13T12:00:00.7Z", "2026-01-13T12:00:01Z"),
        ("0 0 * * * *", "2026-01-13T10:00:00Z", "2026-01-13T10:00:00Z", "2026-01-13T11:00:00Z"),
        ("0 0 * * * *", "2026-01-13T10:00:03Z", "2026-01-13T10:59:59Z", "2026-01-13T11:00:00Z"),
        ("0 0 * * * *", "2026-01-13T09:59:59.999999Z", "2026-01-13T10:00:00Z", "2026-01-13T10:00:00Z"),
        // A time that passed while no server ran.
        ("0 0 3 * * *", "2026-01-10T03:00:04Z", "2026-01-13T12:00:00Z", "2026-01-11T03:00:00Z"),
        ("0 */15 8-17 * * MON-FRI", "2026-01-16T17:45:00Z", "2026-01-16T18:00:00Z", "2026-01-19T08:00:00Z"),
        // Day of month and day of week have to match both.
        ("0 0 0 13 * FRI", "2026-01-14T00:00:00Z", "2026-01-14T00:00:00Z", "2026-02-13T00:00:00Z"),
        ("0 0 12 L * *", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z"),
        ("0 0 0 29 2 *", "2026-01-13T00:00:00Z", "2026-01-13T00:00:00Z", "2028-02-29T00:00:00Z"),
        // The clock was set back past a time of the schedule: the job does not wait until the clock is there again.
        ("0 0 * * * *", "2026-01-13T10:00:01Z", "2026-01-13T09:50:00Z", "2026-01-13T09:50:00Z"),
        ("0 0 * * * *", "2027-01-13T10:00:01Z", "2026-01-13T09:50:00Z", "2026-01-13T09:50:00Z"),
        // The clock was set back, and no time of the schedule comes a second time.
        ("0 0 * * * *", "2026-01-13T10:30:00Z", "2026-01-13T10:20:00Z", "2026-01-13T11:00:00Z"),
    ] {
        let schedule: JobSchedule = expression.parse().unwrap();
        let found = schedule.due_at(time(last_start), time(now));
        assert_eq!(found, Some(time(due_at)), "{expression} after {last_start} at {now}");
    }
}

#[test]
fn an_expression_is_shown_with_single_spaces() {
    let schedule: JobSchedule = "  0 30  4\t* * sun ".parse().unwrap();
    assert_eq!(schedule.as_str(), "0 30 4 * * sun");
}

#[test]
fn an_expression_that_cannot_be_used_is_refused_in_a_sentence() {
    let number = |count: usize| format!("it needs the six fields {FIELDS}, and has {count}");
    for (expression, reason) in [
        ("@daily", number(1)),
        ("* * * * *", number(5)),
        ("0 0 0 1 1 * 2030", number(7)),
        ("61 * * * * *", "the second cannot be \"61\"".to_owned()),
        ("*/0 * * * * *", "the second cannot be \"*/0\"".to_owned()),
        ("0, * * * * *", "the second cannot be \"0,\"".to_owned()),
        ("@ * * * * *", "the second cannot be \"@\"".to_owned()),
        ("0 -5 * * * *", "the minute cannot be \"-5\"".to_owned()),
        ("0 0 25 * * *", "the hour cannot be \"25\"".to_owned()),
        ("0 0 0 32 * *", "the day of month cannot be \"32\"".to_owned()),
        ("0 0 0 * FOO *", "the month cannot be \"FOO\"".to_owned()),
        ("0 0 0 * * 1#9", "the day of week cannot be \"1#9\"".to_owned()),
        ("0 0 0 * * é", "the day of week cannot be \"é\"".to_owned()),
    ] {
        let expected = format!("{expression:?} is not a cron expression: {reason}");
        assert_eq!(expression.parse::<JobSchedule>(), Err(expected));
    }
    for expression in ["0 0 0 30 2 *", "0 0 0 31 4,6,9,11 *", "* * * 31 FEB MON"] {
        let expected = format!("{expression:?} is a cron expression that no time matches");
        assert_eq!(expression.parse::<JobSchedule>(), Err(expected));
    }
}
