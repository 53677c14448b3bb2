//! The field of a trace that becomes the charge class of jobs.

use clap::ValueEnum;

use super::job::ImportedJob;

/// The choices of `--charge-class`. A format has a field for some of them only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ChargeClassField {
    /// Jobs keep the class that the file gives them, which only `csv` does
    #[default]
    None,
    /// Slurm's QOS
    Qos,
    /// Slurm's partition, unless it is a list of several
    Partition,
    /// The queue of PBS, LSF and SWF
    Queue,
}

impl ChargeClassField {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Qos => "qos",
            Self::Partition => "partition",
            Self::Queue => "queue",
        }
    }

    /// Sets the class of a job from this field.
    pub(super) fn set(self, job: &mut ImportedJob) {
        match self {
            Self::None => {}
            Self::Qos => job.charge_class.clone_from(&job.qos),
            // A partition is what other systems call a queue.
            Self::Partition | Self::Queue => job.charge_class = job.queue.clone().unwrap_or_default(),
        }
    }
}
