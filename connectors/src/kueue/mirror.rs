//! The objects of one kind, kept by a list and then by watches.
//!
//! A watch goes on where the last reading ended, and brings each change since, also of objects that have gone. The API server says by a
//! bookmark that nothing is missing until then; it sends one two seconds before the end of a watch, so that a reading takes about a
//! second. A reading therefore ends with all that the API server knew, or it fails: a connection that was cut, or that no bookmark ended,
//! is no reading. The API server forgets changes after a minute or more, and then answers 410, which means to list again.
//!
//! There is no connection between two readings, so that no dead one can pass for a quiet cluster.

use std::collections::BTreeMap;

use futures::TryStreamExt;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::cluster::{API_SERVER_AWAY, KueueCluster, RequestFailure};
use super::objects::{ClusterObject, object_key, objects_by_key};
use crate::fault::RoundFault;

/// The length of a watch in seconds. The API server sends a bookmark two seconds before the end.
const WATCH_SECONDS: u32 = 3;
/// The number of watches that are cut until all is listed again.
const MAX_CUT_WATCHES: u32 = 3;

/// A change of an object, as a reading brings it.
#[derive(Clone, Debug)]
pub enum MirrorChange<K> {
    /// All objects were listed. Changes before the list are not known.
    Listed,
    Seen(K),
    Deleted(K),
}

/// The objects of one kind, by namespace and name.
#[derive(Debug)]
pub struct ResourceMirror<K> {
    pub objects: BTreeMap<String, K>,
    /// The changes that were read and not taken yet.
    changes: Vec<MirrorChange<K>>,
    /// The resource version that the next watch goes on from; `None`: all is listed.
    version: Option<String>,
    /// True once all objects were listed.
    is_listed: bool,
}

impl<K> Default for ResourceMirror<K> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), changes: Vec::new(), version: None, is_listed: false }
    }
}

impl<K> ResourceMirror<K> {
    /// True once all objects were listed.
    pub fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Lets the next reading list all objects, as if nothing had been read.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Takes the changes since the last call, also those of a reading that failed later.
    pub fn take_changes(&mut self) -> Vec<MirrorChange<K>> {
        std::mem::take(&mut self.changes)
    }
}

impl<P, U> ResourceMirror<ClusterObject<P, U>>
where
    P: Clone + Default + DeserializeOwned + std::fmt::Debug,
    U: Clone + DeserializeOwned + std::fmt::Debug,
{
    /// Reads all changes.
    pub async fn refresh(&mut self, cluster: &KueueCluster, api: &Api<ClusterObject<P, U>>) -> Result<(), RoundFault> {
        for _ in 0..MAX_CUT_WATCHES {
            let Some(version) = self.version.clone() else { break };
            // The limit is one of the whole watch, because each event begins that of the next answer.
            let watched = timeout(cluster.whole_limit(), self.watch(cluster, api, &version)).await;
            match watched.unwrap_or(Ok(false)) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // A connection that failed says nothing about the version, from which the next watch goes on.
                Err(RequestFailure::Other(fault)) if fault.code == API_SERVER_AWAY => {}
                Err(RequestFailure::Expired) => self.version = None,
                Err(failure) => {
                    // It is not known what is missing.
                    self.version = None;
                    return Err(failure.into_fault());
                }
            }
        }
        self.list(cluster, api).await
    }

    async fn list(&mut self, cluster: &KueueCluster, api: &Api<ClusterObject<P, U>>) -> Result<(), RoundFault> {
        let listed = match cluster.list(api).await {
            // The pages of a list that takes long may expire as well.
            Err(RequestFailure::Expired) => cluster.list(api).await,
            listed => listed,
        };
        let (objects, version) = listed.map_err(RequestFailure::into_fault)?;
        self.objects = objects_by_key(objects);
        self.version = Some(version).filter(|version| !version.is_empty());
        self.changes.push(MirrorChange::Listed);
        self.is_listed = true;
        Ok(())
    }

    /// Watches until a bookmark. Returns false if the watch ends without one.
    async fn watch(
        &mut self,
        cluster: &KueueCluster,
        api: &Api<ClusterObject<P, U>>,
        version: &str,
    ) -> Result<bool, RequestFailure> {
        let params = WatchParams::default().timeout(WATCH_SECONDS);
        let events = cluster.answer(api.watch(&params, version)).await?;
        tokio::pin!(events);
        while let Some(event) = cluster.answer(events.try_next()).await? {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.version.clone_from(&object.metadata.resource_version);
                    self.objects.insert(object_key(&object.metadata), object.clone());
                    self.changes.push(MirrorChange::Seen(object));
                }
                WatchEvent::Deleted(object) => {
                    self.version.clone_from(&object.metadata.resource_version);
                    self.objects.remove(&object_key(&object.metadata));
                    self.changes.push(MirrorChange::Deleted(object));
                }
                WatchEvent::Bookmark(bookmark) => {
                    self.version = Some(bookmark.metadata.resource_version);
                    return Ok(true);
                }
                WatchEvent::Error(status) => return Err(RequestFailure::of_status(&status)),
            }
        }
        Ok(false)
    }
}
