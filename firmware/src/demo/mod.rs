//! Workloads of boards that demonstrate a service: locks, snapshots and jobs on a schedule, ticks of the shared clock.

pub mod lock_workload;
pub mod schedule;
pub mod second_tick;
