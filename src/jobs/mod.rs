//! Scheduled tasks: a runner, and one file for each job.
