//! A real Slurm in a folder: munge, `mariadbd` on a socket, slurmdbd, slurmctld, and two nodes on this machine.
//!
//! Nothing is installed here; `.ci/run` does that. The daemons run as root, because they start jobs of several users.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::support::packages::{is_root, run};
use crate::support::process_end::{not_run, scratch_folder, test_name};

/// The programs of the rig.
const PROGRAMS: [&str; 9] = [
    "munged",
    "mariadbd",
    "mariadb-install-db",
    "mariadb-admin",
    "slurmdbd",
    "slurmctld",
    "slurmd",
    "sacctmgr",
    "sbatch",
];
const INSTALLATION: &str =
    "apt-get install --no-install-recommends slurmctld slurmd slurmdbd slurm-client munge mariadb-server";
/// The longest time until a daemon answers, or until a job has started.
const WAIT: Duration = Duration::from_mins(1);

/// The users of the rig, which every Debian has, each with its account; the domains are `physics` and `bio`.
pub const USERS: [(&str, &str); 4] = [("games", "climate"), ("man", "climate"), ("mail", "ocean"), ("news", "genes")];

/// The states of jobs that `scancel` ends.
const UNFINISHED: [&str; 3] = ["PENDING", "RUNNING", "SUSPENDED"];

/// A running cluster. It ends when the value is dropped.
pub struct SlurmRig {
    folder: PathBuf,
    daemons: Vec<Child>,
    /// The numbers of slurmdbd and of the controller among the daemons.
    accounting: usize,
    controller: usize,
    /// A library that the controller loads before others.
    preload: Option<PathBuf>,
}

/// The parts of a rig that differ between tests.
#[derive(Clone, Debug)]
pub struct RigForm<'a> {
    /// More lines of `slurm.conf`.
    pub lines: &'a str,
    /// The processors of each of the two nodes. Jobs that sleep need none of this machine.
    pub node_cpus: u32,
    /// A library that the controller loads before others.
    pub preload: Option<PathBuf>,
}

impl<'a> RigForm<'a> {
    pub fn of_lines(lines: &'a str) -> Self {
        Self { lines, node_cpus: 4, preload: None }
    }
}

/// The rig, unless this machine cannot have one; the end of the test process then says why.
pub fn start(form: RigForm) -> Option<SlurmRig> {
    let is_there = |program: &&str| Command::new(program).arg("--version").stdin(Stdio::null()).output().is_ok();
    if let Some(missing) = PROGRAMS.iter().find(|program| !is_there(program)) {
        not_run(&test_name(), &format!("Slurm is not installed ({missing} is missing; {INSTALLATION})"));
        return None;
    }
    if !is_root() {
        not_run(&test_name(), "a Slurm of several users needs root");
        return None;
    }
    Some(SlurmRig::start(form))
}

/// Waits until something is the case.
pub fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_until_or_show(what, is_so, String::new);
}

/// [`wait_until`], with a text that is shown if it does not come about.
pub fn wait_until_or_show(what: &str, mut is_so: impl FnMut() -> bool, show: impl FnOnce() -> String) {
    let deadline = Instant::now() + WAIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not happen\n{}", show());
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn free_ports<const N: usize>() -> [u16; N] {
    // All are held at once, so that no two are the same.
    let listeners = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl SlurmRig {
    fn start(form: RigForm) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = scratch_folder().join(format!("slurm-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        for part in ["db", "db-temporary", "log", "state", "munge", "spool"] {
            std::fs::create_dir_all(folder.join(part)).unwrap();
        }
        let RigForm { lines, node_cpus, preload } = form;
        let mut rig = Self { folder, daemons: Vec::new(), accounting: 0, controller: 0, preload };
        rig.start_munge();
        rig.start_database();
        rig.write_configuration(lines, node_cpus);
        rig.accounting = rig.daemons.len();
        rig.daemon("slurmdbd", &["-D"]);
        wait_until("slurmdbd answers", || rig.probe("sacctmgr", &["-n", "show", "cluster"]));
        rig.slurm("sacctmgr", &["-i", "add", "cluster", "rig"]);
        rig.controller = rig.daemons.len();
        rig.daemon("slurmctld", &["-D", "-i"]);
        // slurmdbd sends changes of accounts only to a slurmctld that it knows.
        wait_until("slurmdbd knows slurmctld", || {
            rig.slurm("sacctmgr", &["-n", "-P", "show", "cluster", "format=ControlPort"]).trim() != "0"
        });
        wait_until("slurmctld answers", || rig.probe("sinfo", &[]));
        for node in ["n1", "n2"] {
            rig.daemon("slurmd", &["-D", "-N", node]);
        }
        for account in [
            "physics fairshare=3",
            "climate parent=physics fairshare=2",
            "ocean parent=physics",
            "bio",
            "genes parent=bio",
        ] {
            let args: Vec<&str> = ["-i", "add", "account"].into_iter().chain(account.split(' ')).collect();
            rig.slurm("sacctmgr", &args);
        }
        for (user, account) in USERS {
            rig.slurm("sacctmgr", &["-i", "add", "user", user, &format!("account={account}")]);
        }
        wait_until("the nodes are idle", || {
            rig.slurm("sinfo", &["-h", "-N", "-p", "main", "-o", "%t"]) == "idle\nidle\n"
        });
        rig
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().unwrap().to_owned()
    }

    /// A program with the environment of the rig.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf")).env("SLURM_TIME_FORMAT", "%s").stdin(Stdio::null());
        // Tasks of arrays that have records of their own are listed.
        command.env("SQUEUE_ARRAY_UNIQUE", "1");
        command
    }

    fn spawn(&mut self, name: &str, command: &mut Command) {
        let log = std::fs::File::create(self.folder.join("log").join(name)).unwrap();
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        self.daemons.push(child);
    }

    fn daemon(&mut self, program: &str, args: &[&str]) {
        let mut command = self.command(program);
        if program == "slurmdbd" {
            command.env("SLURM_CONF", self.path("slurmdbd.conf")).env("MYSQL_UNIX_PORT", self.path("db/s"));
        }
        if let Some(library) = self.preload.as_ref().filter(|_| program == "slurmctld") {
            command.env("LD_PRELOAD", library);
        }
        self.spawn(&format!("{program}-{}", self.daemons.len()), command.args(args));
    }

    fn start_munge(&mut self) {
        let mut key = [0_u8; 1024];
        std::fs::File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        std::fs::write(self.folder.join("munge/key"), key).unwrap();
        run(Command::new("chmod").arg("400").arg(self.folder.join("munge/key")));
        let option = |name: &str, file: &str| format!("--{name}={}", self.path(file));
        let options = [
            option("key-file", "munge/key"),
            option("socket", "munge/sock"),
            option("pid-file", "munge/pid"),
            option("log-file", "munge/log"),
            option("seed-file", "munge/seed"),
        ];
        self.spawn("munged", Command::new("munged").args(["--foreground", "--force"]).args(options));
        let socket = self.folder.join("munge/sock");
        wait_until("munged answers", || socket.exists());
    }

    fn start_database(&mut self) {
        let (data, socket) = (format!("--datadir={}", self.path("db")), self.path("db/s"));
        // MariaDB removes temporary tables as it starts, also those of others that use the same folder.
        let temporary = format!("--tmpdir={}", self.path("db-temporary"));
        run(Command::new("mariadb-install-db")
            .args(["--no-defaults", "--user=root"])
            .args([&data, &temporary])
            .arg("--auth-root-authentication-method=normal"));
        let options = ["--no-defaults", "--user=root", "--skip-networking", "--innodb-buffer-pool-size=32M"];
        let place = [data, temporary, format!("--socket={socket}"), format!("--pid-file={}", self.path("db/pid"))];
        self.spawn("mariadbd", Command::new("mariadbd").args(options).args(place));
        let ping = || {
            Command::new("mariadb-admin")
                .args(["--no-defaults", "-S", &socket, "ping"])
                .output()
                .unwrap()
                .status
                .success()
        };
        wait_until("MariaDB answers", ping);
    }

    fn write_configuration(&self, lines: &str, node_cpus: u32) {
        let [controller, database, first, second] = free_ports();
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap().to_owned();
        let folder = self.folder.display();
        let database_file = format!(
            "AuthType=auth/munge\nAuthInfo=socket={folder}/munge/sock\nDbdHost={host}\nDbdAddr=127.0.0.1\nDbdPort={database}\n\
             SlurmUser=root\nStorageType=accounting_storage/mysql\nStorageHost=localhost\nStorageUser=root\n\
             StorageLoc=slurm_acct_db\nPidFile={folder}/slurmdbd.pid\nLogFile={folder}/log/slurmdbd\n"
        );
        std::fs::write(self.folder.join("slurmdbd.conf"), database_file).unwrap();
        run(Command::new("chmod").arg("600").arg(self.folder.join("slurmdbd.conf")));
        let file = format!(
            "ClusterName=rig\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge/sock\nCredType=cred/munge\nSlurmctldPort={controller}\n\
             StateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool/%n\nSlurmctldPidFile={folder}/slurmctld.pid\n\
             SlurmdPidFile={folder}/slurmd-%n.pid\nSlurmctldLogFile={folder}/log/slurmctld\n\
             SlurmdLogFile={folder}/log/slurmd-%n\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
             SlurmdParameters=config_overrides\nSwitchType=switch/none\nMpiDefault=none\nReturnToService=2\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nPriorityType=priority/multifactor\n\
             PriorityWeightAge=1000\nPriorityWeightQOS=1000\nAccountingStorageType=accounting_storage/slurmdbd\n\
             AccountingStorageHost=127.0.0.1\nAccountingStoragePort={database}\n\
             AccountingStoragePass={folder}/munge/sock\nAccountingStorageEnforce=associations,limits,qos\n\
             JobAcctGatherType=jobacct_gather/none\nSchedulerParameters=sched_interval=1,bf_interval=1\nMailProg=/bin/true\n\
             KillWait=1\nCompleteWait=0\n\
             NodeName=n1 NodeAddr=127.0.0.1 NodeHostname={host} Port={first} CPUs={node_cpus} RealMemory=4000\n\
             NodeName=n2 NodeAddr=127.0.0.1 NodeHostname={host} Port={second} CPUs={node_cpus} RealMemory=4000\n\
             PartitionName=main Nodes=n1,n2 Default=YES MaxTime=1-0 State=UP PriorityTier=1\n\
             PartitionName=high Nodes=n1 MaxTime=1-0 State=UP PriorityTier=10\n{lines}"
        );
        std::fs::write(self.folder.join("slurm.conf"), file).unwrap();
    }

    /// Ends the controller, which saves its state, and starts it again with more lines in its configuration. It computes
    /// fair shares as it starts, and otherwise only every few minutes.
    pub fn restart_controller(&mut self, lines: &str) {
        stop(&mut self.daemons[self.controller]);
        let file = self.folder.join("slurm.conf");
        let configuration = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{configuration}{lines}")).unwrap();
        self.daemons[self.controller].wait().unwrap();
        self.start_controller();
        wait_until("the controller knows the shares", || self.probe("sshare", &["-h"]));
    }

    /// Ends the controller by SIGKILL, so that it saves nothing.
    pub fn kill_controller(&mut self) {
        self.daemons[self.controller].kill().unwrap();
        self.daemons[self.controller].wait().unwrap();
    }

    /// Stops slurmdbd, which then answers nothing, until it is resumed.
    pub fn pause_accounting(&self) {
        self.signal_accounting("-STOP");
    }

    pub fn resume_accounting(&self) {
        self.signal_accounting("-CONT");
    }

    fn signal_accounting(&self, signal: &str) {
        run(Command::new("kill").arg(signal).arg(self.daemons[self.accounting].id().to_string()));
    }

    /// Starts a controller that was ended, from the state that it has saved.
    pub fn start_controller(&mut self) {
        self.daemon("slurmctld", &["-D"]);
        let started = self.daemons.pop().unwrap();
        self.daemons[self.controller] = started;
        wait_until("the controller answers", || self.probe("sinfo", &["-h"]));
    }

    fn probe(&self, program: &str, args: &[&str]) -> bool {
        // Programs of Slurm try for minutes by themselves to reach a daemon.
        let mut command = Command::new("timeout");
        command.args(["2", program]).args(args).env("SLURM_CONF", self.path("slurm.conf")).stdin(Stdio::null());
        command.output().unwrap().status.success()
    }

    /// The output of a program of Slurm that succeeds.
    #[track_caller]
    pub fn slurm(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{program} {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
        text
    }

    /// Runs a program of Slurm that may fail.
    pub fn attempt(&self, program: &str, args: &[&str]) {
        self.command(program).args(args).output().unwrap();
    }

    /// Submits a job of a user, which sleeps for so long; its id.
    #[track_caller]
    pub fn submit(&self, user: &str, seconds: u32, args: &[&str]) -> u64 {
        let account = USERS.iter().find(|(name, _)| *name == user).unwrap().1;
        self.submit_for((user, account), seconds, args)
    }

    /// [`Self::submit`] for a user in any account.
    #[track_caller]
    pub fn submit_for(&self, (user, account): (&str, &str), seconds: u32, args: &[&str]) -> u64 {
        let (user, account) = (format!("--uid={user}"), format!("--account={account}"));
        let wrap = format!("--wrap=sleep {seconds}");
        let own = [&*user, &account, "--parsable", "--chdir=/", "--output=/dev/null", "--mem=1", "--time=60", &wrap];
        let args: Vec<&str> = own.into_iter().chain(args.iter().copied()).collect();
        self.slurm("sbatch", &args).trim().parse().unwrap()
    }

    /// The jobs that `sprio` lists, in the order in which Slurm starts them: the id and `SITE`.
    pub fn order(&self) -> Vec<(u64, i64)> {
        let text = self.slurm("sprio", &["-h", "-o", "%i %Y %S"]);
        let row = |line: &str| {
            let mut numbers = line.split_whitespace().map(|number| number.parse::<i64>().unwrap());
            [numbers.next().unwrap(), numbers.next().unwrap(), numbers.next().unwrap()]
        };
        let mut rows: Vec<[i64; 3]> = text.lines().map(row).collect();
        rows.sort_by_key(|[id, priority, _]| (std::cmp::Reverse(*priority), *id));
        rows.into_iter().map(|[id, _, site]| (u64::try_from(id).unwrap(), site)).collect()
    }

    /// The state of a job, as squeue shows it; empty once it has gone.
    pub fn state(&self, job: u64) -> String {
        let jobs = self.slurm("squeue", &["-h", "-a", "-o", "%A %T"]);
        let found = jobs.lines().find_map(|line| line.strip_prefix(&format!("{job} ")));
        found.unwrap_or_default().to_owned()
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Cancels all jobs, and waits until they have ended.
    pub fn cancel_all(&self) {
        for state in UNFINISHED {
            self.slurm("scancel", &["-t", state]);
        }
        wait_until("all jobs have ended", || self.slurm("squeue", &["-h", "-a"]).is_empty());
    }
}

impl Drop for SlurmRig {
    fn drop(&mut self) {
        // Jobs end before the daemons, also after a panic: no other process would end them.
        let deadline = Instant::now() + Duration::from_secs(20);
        for state in UNFINISHED {
            let _ = self.command("scancel").args(["-t", state]).output();
        }
        let has_jobs = || self.command("squeue").args(["-h", "-a"]).output().is_ok_and(|jobs| !jobs.stdout.is_empty());
        while has_jobs() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The daemons are stopped in the order of those that use others.
        for daemon in self.daemons.iter_mut().rev() {
            stop(daemon);
        }
    }
}

/// Ends a daemon, and kills it if it does not end.
fn stop(daemon: &mut Child) {
    let _ = Command::new("kill").arg(daemon.id().to_string()).output();
    let deadline = Instant::now() + Duration::from_secs(10);
    while matches!(daemon.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            let _ = daemon.kill();
            let _ = daemon.wait();
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
