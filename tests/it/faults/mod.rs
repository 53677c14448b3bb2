//! Faults of the machine and of the database under real processes: acknowledged writes are stored, and service continues.

mod client_reads;
mod codes;
mod crowd;
mod damaged;
mod disk;
mod driver_codes;
mod files;
mod frozen;
mod logs;
mod opening;
mod outage;
mod quiet;
mod rewind;
mod rollback;
mod support;
mod table_lock;
mod traffic;
mod turns;
