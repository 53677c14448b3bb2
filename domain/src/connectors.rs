//! The kinds and modes of connectors, which are processes that start jobs of another scheduler in the order of a group.

use crate::choices::choices;

choices! {
    /// The scheduler that a connector reads and writes.
    pub enum ConnectorKind {
        Slurm = "slurm", "Slurm.";
        HtCondor = "htcondor", "HTCondor.";
        Kueue = "kueue", "Kueue, on Kubernetes.";
    }
}

choices! {
    /// The values that a connector gives to the scheduler.
    #[derive(Default)]
    pub enum ConnectorMode {
        #[default]
        Shadow = "shadow", "Nothing is written: both orders are compared.";
        Factor = "factor", "Each owner's rank is written.";
        Order = "order", "The exact order of the first workloads is written.";
        Weights = "weights", "Each queue's weight is written.";
    }
}
