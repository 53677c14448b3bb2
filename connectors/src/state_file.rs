//! The memory of a connector between its rounds and its starts.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

const STATE_FILE: &str = "state.json";

/// The memory of a connector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectorState {
    /// The server has everything that the accounting had learned until then.
    pub delivered_until: Option<Timestamp>,
    /// The rows of the last reading of the accounting that could not be read, and those that the server refused.
    pub unreadable_rows: u64,
    pub refused_rows: u64,
    /// The number of last readings in a row that had such rows.
    pub missing_readings: u32,
    /// The last time at which the server answered a request.
    pub server_answered_at: Option<Timestamp>,
    /// The values that the connector has written and not taken back, by the scheduler's id of the job or of the user.
    pub written: BTreeMap<String, i64>,
}

impl ConnectorState {
    /// Reads the state; that of a new connector if there is no file.
    pub fn load(folder: &Path) -> io::Result<Self> {
        read_file(&folder.join(STATE_FILE))
    }

    /// Replaces the file as a whole, so that a process that is killed leaves the old state or the new one.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        replace_file(&folder.join(STATE_FILE), &serde_json::to_vec(self)?)
    }
}

/// Reads a file of JSON; the default if there is none.
pub fn read_file<T: Default + DeserializeOwned>(path: &Path) -> io::Result<T> {
    match std::fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::from),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error),
    }
}

/// Replaces a file as a whole.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = std::fs::File::create(&draft)?;
    file.write_all(content)?;
    file.sync_data()?;
    std::fs::rename(&draft, path)
}
