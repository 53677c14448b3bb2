//! A small proxy between a server and its PostgreSQL, to simulate failures of the network.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Pass,
    /// The port is closed.
    Refuse,
    /// All data is lost. A connection that has lost data never works again.
    Blackhole,
}

/// The moment at which one connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The commit does not reach the database.
    BeforeCommit,
    /// The database has committed, and its answer is lost.
    AfterCommit,
    /// The commit of the transaction that sent this text does not reach the database, and the connection stays open until
    /// one side ends it.
    HeldBeforeCommitOf(&'static str),
    /// The statement with this text does not reach the database, nor does anything after it.
    AndRefuse(&'static str),
}

impl Cut {
    fn text(self) -> &'static str {
        match self {
            Self::BeforeCommit | Self::AfterCommit | Self::HeldBeforeCommitOf(_) => COMMIT,
            Self::AndRefuse(text) => text,
        }
    }
}

const COMMIT: &str = "COMMIT\0";

fn contains(sent: &[u8], text: &str) -> bool {
    sent.windows(text.len()).any(|part| part == text.as_bytes())
}

pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    database: PathBuf,
    mode: watch::Sender<Mode>,
    /// Grows with every cut of all connections.
    cuts: watch::Sender<u64>,
    armed: Mutex<Option<Cut>>,
    done: AtomicU64,
    connections: AtomicU64,
}

impl Proxy {
    /// A proxy in front of the socket of a database.
    pub async fn before(database: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            database,
            mode: watch::Sender::new(Mode::Pass),
            cuts: watch::Sender::new(0),
            armed: Mutex::default(),
            done: AtomicU64::new(0),
            connections: AtomicU64::new(0),
        });
        tokio::spawn(listen(Arc::clone(&shared), listener));
        Self { address, shared }
    }

    /// The address of a database behind the proxy.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}/{database}", self.address)
    }

    pub fn set(&self, mode: Mode) {
        self.shared.mode.send_replace(mode);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.cuts.send_modify(|count| *count += 1);
    }

    /// Cuts the next connection that reaches `moment`.
    pub fn cut_at(&self, moment: Cut) {
        *self.shared.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(moment);
    }

    /// The number of connections so far.
    pub fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// The number of connections that were cut at a moment.
    pub fn cuts_done(&self) -> u64 {
        self.shared.done.load(Ordering::SeqCst)
    }
}

impl Shared {
    /// The armed cut, if `sent` has its text. It is then disarmed. `is_wanted` says for one connection whether its
    /// transaction has sent the text whose commit is held; jobs commit at any moment, too.
    fn take_cut(&self, sent: &[u8], is_wanted: &mut bool) -> Option<Cut> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Cut::HeldBeforeCommitOf(text)) = *armed {
            *is_wanted |= contains(sent, text);
            if contains(sent, COMMIT) && !std::mem::take(is_wanted) {
                return None;
            }
        }
        let moment = armed.filter(|cut| contains(sent, cut.text()))?;
        *armed = None;
        self.done.fetch_add(1, Ordering::SeqCst);
        Some(moment)
    }
}

async fn listen(shared: Arc<Shared>, listener: TcpListener) {
    let address = listener.local_addr().unwrap();
    let mut listener = Some(listener);
    let mut mode = shared.mode.subscribe();
    loop {
        let refuses = *mode.borrow_and_update() == Mode::Refuse;
        if refuses {
            listener = None;
            mode.changed().await.unwrap();
            continue;
        }
        if listener.is_none() {
            listener = Some(TcpListener::bind(address).await.unwrap());
        }
        tokio::select! {
            _ = mode.changed() => {}
            Ok((client, _)) = listener.as_ref().unwrap().accept() => {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(pass(Arc::clone(&shared), client));
            }
        }
    }
}

/// Passes one connection until either side ends it or it is cut.
async fn pass(shared: Arc<Shared>, mut client: TcpStream) {
    let (mut mode, mut cuts) = (shared.mode.subscribe(), shared.cuts.subscribe());
    let Ok(mut database) = UnixStream::connect(&shared.database).await else { return };
    let (mut from_client, mut from_database) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    let mut dead = *mode.borrow_and_update() == Mode::Blackhole;
    let mut is_wanted = false;
    loop {
        tokio::select! {
            biased;
            _ = cuts.changed() => return,
            _ = mode.changed() => {
                match *mode.borrow_and_update() {
                    Mode::Blackhole => dead = true,
                    Mode::Refuse => return,
                    Mode::Pass => {}
                }
            }
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let sent = &from_client[..count];
                if dead {
                    continue;
                }
                let cut = shared.take_cut(sent, &mut is_wanted);
                if let Some(Cut::AndRefuse(_)) = cut {
                    shared.mode.send_replace(Mode::Refuse);
                    return;
                }
                if matches!(cut, Some(Cut::HeldBeforeCommitOf(_))) {
                    dead = true;
                    continue;
                }
                if cut == Some(Cut::BeforeCommit) || database.write_all(sent).await.is_err() {
                    return;
                }
                if cut == Some(Cut::AfterCommit) {
                    let _ = database.read(&mut from_database).await;
                    return;
                }
            }
            read = database.read(&mut from_database) => {
                let Ok(count @ 1..) = read else { return };
                if !dead && client.write_all(&from_database[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
