//! A real HTCondor in a chroot, with all daemons of a pool on this machine.
//!
//! `.ci/connectors-htcondor` makes the chroot and names it in `CONDOR_ROOT`. The daemons run as root, because they start jobs of
//! several users.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::slurm_rig::wait_until;
use crate::support::packages::is_root;
use crate::support::process_end::{not_run, scratch_folder, test_name};

/// The variable that names the chroot.
const ROOT_VARIABLE: &str = "CONDOR_ROOT";
/// The variable that names the user of a program of HTCondor, in place of root.
const USER_VARIABLE: &str = "CONDOR_USER";
const PROGRAMS: [&str; 6] =
    ["condor_q", "condor_history", "condor_status", "condor_userprio", "condor_config_val", "condor_ping"];
/// Folders of the daemons in the chroot, which are emptied before each start.
const DAEMON_FOLDERS: [&str; 3] = ["var/log/condor", "var/spool/condor", "var/lib/condor/execute"];

/// The configuration of the pool: one machine with 8 cores and 2 GPUs, which negotiates every few seconds.
const CONFIGURATION: &str = "use ROLE: CentralManager
use ROLE: Submit
use ROLE: Execute
CONDOR_HOST = $(FULL_HOSTNAME)
NETWORK_INTERFACE = 127.0.0.1
DEFAULT_DOMAIN_NAME = rig.example
UID_DOMAIN = rig.example
TRUST_UID_DOMAIN = True
NUM_CPUS = 8
MEMORY = 8000
MACHINE_RESOURCE_GPUs = CUDA0, CUDA1
NEGOTIATOR_INTERVAL = 2
NEGOTIATOR_MIN_INTERVAL = 1
NEGOTIATOR_CYCLE_DELAY = 1
SCHEDD_INTERVAL = 2
UPDATE_INTERVAL = 5
PRIORITY_HALFLIFE = 1.0e15
JOB_EPOCH_HISTORY = $(SPOOL)/epoch_history
KILLING_TIMEOUT = 5
CLAIM_WORKLIFE = 0
START = True
SUSPEND = False
PREEMPT = False
MOUNT_UNDER_SCRATCH =
MOUNT_PRIVATE_DEV_SHM = False
NEGOTIATOR.ALLOW_ADMINISTRATOR = $(ALLOW_ADMINISTRATOR), fairshared@$(UID_DOMAIN)
";

/// A running pool. It ends when the value is dropped.
pub struct CondorRig {
    root: PathBuf,
    /// The folder with the programs of HTCondor as they are found by the connector.
    programs: PathBuf,
    master: Child,
}

/// The rig, unless this machine cannot have one; the end of the test process then says why.
pub fn start() -> Option<CondorRig> {
    let Some(root) = std::env::var_os(ROOT_VARIABLE).map(PathBuf::from) else {
        not_run(&test_name(), "a real HTCondor needs a chroot, which .ci/connectors-htcondor makes");
        return None;
    };
    if !is_root() {
        not_run(&test_name(), "a HTCondor of several users needs root");
        return None;
    }
    Some(CondorRig::start(root))
}

impl CondorRig {
    fn start(root: PathBuf) -> Self {
        let programs = scratch_folder().join("condor-programs");
        std::fs::create_dir_all(&programs).unwrap();
        for program in PROGRAMS {
            let path = programs.join(program);
            let script = format!(
                "#!/bin/sh\nexec chroot ${{{USER_VARIABLE}:+--userspec=${USER_VARIABLE}}} '{}' /usr/bin/{program} \"$@\"\n",
                root.display()
            );
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        std::fs::write(root.join("etc/condor/config.d/50-rig.config"), CONFIGURATION).unwrap();
        for folder in DAEMON_FOLDERS {
            let _ = std::fs::remove_dir_all(root.join(folder));
            std::fs::create_dir_all(root.join(folder)).unwrap();
            in_root(&root, "chown", &["condor:", &format!("/{folder}")]);
        }
        let mut command = Command::new("chroot");
        command.arg(&root).args(["/usr/sbin/condor_master", "-f"]);
        let master = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let rig = Self { root, programs, master };
        wait_until("the machine is in the pool", || !rig.output("condor_status", &["-af", "Name"]).is_empty());
        wait_until("the negotiator answers", || {
            rig.output("condor_userprio", &["-negotiator"]).contains("Number of users")
        });
        rig
    }

    /// The folder with the programs.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// The variable with which the programs of the connector are those of another user.
    pub fn user_variable() -> &'static str {
        USER_VARIABLE
    }

    /// The text of a program, whatever its exit code.
    pub fn output(&self, program: &str, args: &[&str]) -> String {
        let output =
            Command::new("chroot").arg(&self.root).arg(program).args(args).stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Submits a job of a user that sleeps for so long; its cluster.
    #[track_caller]
    pub fn submit(&self, user: &str, seconds: u32, lines: &[&str]) -> u64 {
        let text = format!(
            "executable=/bin/sleep\ntransfer_executable=false\narguments={seconds}\nrequest_memory=100\nrequest_disk=1000\n{}\nqueue\n",
            lines.join("\n")
        );
        std::fs::write(self.root.join("tmp/job.sub"), text).unwrap();
        let mut command = Command::new("chroot");
        command.arg(format!("--userspec={user}")).arg(&self.root);
        command.args(["env", &format!("USER={user}"), "sh", "-c", "cd /tmp && condor_submit -terse job.sub"]);
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let cluster = text.split('.').next().and_then(|cluster| cluster.parse().ok());
        cluster.unwrap_or_else(|| panic!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }

    /// The `JobStatus` of a job; empty once it has left the queue.
    pub fn status(&self, cluster: u64) -> String {
        self.output("condor_q", &[&cluster.to_string(), "-af", "JobStatus"]).trim().to_owned()
    }

    /// The users of the negotiator with their factors and priorities.
    pub fn users(&self) -> String {
        self.output("condor_userprio", &["-negotiator", "-allusers", "-af", "Name", "PriorityFactor"])
    }

    /// Runs a program that succeeds.
    #[track_caller]
    pub fn run(&self, program: &str, args: &[&str]) {
        in_root(&self.root, program, args);
    }
}

#[track_caller]
fn in_root(root: &Path, program: &str, args: &[&str]) {
    let output = Command::new("chroot").arg(root).arg(program).args(args).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

impl Drop for CondorRig {
    fn drop(&mut self) {
        // The master ends the other daemons, and these end the jobs.
        let _ = Command::new("chroot").arg(&self.root).args(["condor_off", "-master", "-fast"]).output();
        let _ = self.master.wait();
    }
}
