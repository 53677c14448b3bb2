//! A connector that runs and serves its metrics.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::slurm_rig::wait_until;

/// The value of a line of metrics.
pub fn metric(text: &str, name: &str) -> f64 {
    find_metric(text, name).unwrap_or_else(|| panic!("{name} is not in\n{text}"))
}

fn find_metric(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(|value| value.parse().unwrap())
}

/// A connector that serves its metrics. Its process is killed when the value is dropped.
pub struct WatchedConnector {
    child: Child,
    log: PathBuf,
    address: String,
}

impl WatchedConnector {
    /// Starts `command`, whose settings have `metrics_listen` with the port 0, and writes its log into a file.
    pub fn start(command: &mut Command, log: &Path) -> Self {
        let file = File::create(log).unwrap();
        command.env("FAIRSHARED_LOG", "info").stdout(Stdio::null()).stderr(file);
        let mut started = Self { child: command.spawn().unwrap(), log: log.to_owned(), address: String::new() };
        let address = |log: String| Some(log.lines().find(|line| line.ends_with("/readyz"))?.to_owned());
        wait_until("the connector listens", || address(started.log()).is_some());
        let line = address(started.log()).unwrap();
        line.rsplit(' ').next().unwrap().trim_end_matches("/readyz").clone_into(&mut started.address);
        started
    }

    /// The log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    pub fn get(&self, path: &str) -> (u16, String) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let answer = reqwest::get(format!("{}{path}", self.address)).await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        })
    }

    pub fn metrics(&self) -> String {
        let (status, text) = self.get("/metrics");
        assert_eq!(status, 200, "{text}");
        text
    }

    /// The value of a family without labels or of a line with them; 0 before it is there.
    pub fn value(&self, name: &str) -> f64 {
        find_metric(&self.metrics(), &format!("fairshared_connector_{name}")).unwrap_or_default()
    }

    /// The rounds that have ended.
    pub fn rounds(&self) -> f64 {
        self.value("rounds_total{outcome=\"ok\"}") + self.value("rounds_total{outcome=\"failed\"}")
    }

    /// Waits until a round has begun and ended after this call.
    pub fn wait_for_whole_round(&self) {
        let before = self.rounds();
        wait_until("two rounds have ended", || self.rounds() >= before + 2.0);
    }

    pub fn is_ready(&self) -> bool {
        self.get("/readyz").0 == 200
    }

    /// The most memory that it had so far, in KiB.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Ends it by SIGTERM; its exit code.
    pub fn stop(mut self) -> Option<i32> {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for WatchedConnector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
