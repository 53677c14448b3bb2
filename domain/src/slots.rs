//! Slot maps: slot name -> amount or usage. Slot names are data, never an enum (FAIR_SHARE §1).

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock, RwLock};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use smallvec::SmallVec;
use uuid::Uuid;

use super::decimal::{Amount, ExactFactor, ScaledUsage, Usage};
use super::fault::escape_key;
use super::maps::{FastMap, FastSet};
use super::mebibytes::{MEBIBYTES_KEY, MEMORY_SLOT, MemoryInMebibytes};

/// The largest number of slots in one map of a request. Sums may have more.
pub const MAX_SLOTS: usize = 64;
/// The largest number of new names from one source of input. Each name stays in memory as long as the process runs.
pub const MAX_NAMES: usize = 10_000;
const MAX_NAME: usize = 64;

/// An interned slot name. Equal names are the same pointer, so comparing and copying them is fast.
#[derive(Clone, Copy)]
pub struct SlotName(&'static str);

/// The source of input. New names are counted by source, so that one client cannot use up the names of another client or of
/// another resource group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlotNameSource {
    /// The client that sends the input; `None` for the service itself.
    pub client: Option<Uuid>,
    /// The resource group that the input is about, if it exists.
    pub group: Option<Arc<str>>,
    /// True if the input describes agents. Their names are counted apart, so that kernels cannot use them up.
    pub is_about_agents: bool,
}

#[derive(Default)]
struct KnownSlotNames {
    names: FastSet<&'static str>,
    /// The number of names that each source has added.
    brought: FastMap<SlotNameSource, usize>,
}

static NAMES: LazyLock<RwLock<KnownSlotNames>> = LazyLock::new(RwLock::default);

thread_local! {
    /// The source of the input that this thread parses. Deserialisers cannot get it in another way.
    static SOURCE: RefCell<SlotNameSource> = RefCell::default();
}

/// Runs `work`; new slot names count for `source`.
pub fn with_slot_name_source<T>(source: &SlotNameSource, work: impl FnOnce() -> T) -> T {
    struct RestoreSource(SlotNameSource);
    impl Drop for RestoreSource {
        fn drop(&mut self) {
            SOURCE.replace(std::mem::take(&mut self.0));
        }
    }
    let _restore = RestoreSource(SOURCE.replace(source.clone()));
    work()
}

const TOO_MANY_OF_KEY: &str = "new slot names are the most that one key may bring into a resource group";

/// The reason why a text is not a slot name, as a sentence about the map that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotNameError {
    #[error("has a slot name that is not 1 to 64 printable ASCII characters without spaces")]
    Illegal,
    #[error("names a new slot, but {MAX_NAMES} {TOO_MANY_OF_KEY}")]
    TooMany,
}

impl SlotNameError {
    /// The code of the error in answers. It is derived from the sentence, because deserialisers pass on nothing else.
    pub fn code_of(message: &str) -> Option<&'static str> {
        message.ends_with(TOO_MANY_OF_KEY).then_some("too_many_slots")
    }
}

impl SlotName {
    /// A name of 1 to 64 printable ASCII characters that is part of the program. For names from input use
    /// [`Self::offered`].
    pub fn new(name: &str) -> Option<Self> {
        Self::stored(name).ok()
    }

    /// A name from the database, which is not counted.
    pub fn stored(name: &str) -> Result<Self, SlotNameError> {
        Self::intern(name, None)
    }

    /// A name from input. A new name is refused if its source has added too many.
    pub fn offered(name: &str) -> Result<Self, SlotNameError> {
        SOURCE.with_borrow(|source| Self::intern(name, Some(source)))
    }

    /// True if the text is a legal slot name. The check does not add the name.
    pub fn is_legal(name: &str) -> bool {
        !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(|b| b.is_ascii_graphic())
    }

    fn intern(name: &str, source: Option<&SlotNameSource>) -> Result<Self, SlotNameError> {
        if let Some(known) = read_names().names.get(name) {
            return Ok(Self(known));
        }
        if !Self::is_legal(name) {
            return Err(SlotNameError::Illegal);
        }
        let mut known_names = NAMES.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = known_names.names.get(name) {
            return Ok(Self(known));
        }
        if let Some(source) = source {
            let brought = known_names.brought.entry(source.clone()).or_default();
            if *brought >= MAX_NAMES {
                return Err(SlotNameError::TooMany);
            }
            *brought += 1;
        }
        let leaked: &'static str = Box::leak(name.to_owned().into_boxed_str());
        known_names.names.insert(leaked);
        Ok(Self(leaked))
    }

    pub fn as_str(self) -> &'static str {
        self.0
    }
}

fn read_names() -> std::sync::RwLockReadGuard<'static, KnownSlotNames> {
    NAMES.read().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl PartialEq for SlotName {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
impl Eq for SlotName {}
impl PartialOrd for SlotName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for SlotName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if self == other { std::cmp::Ordering::Equal } else { self.0.cmp(other.0) }
    }
}
impl std::hash::Hash for SlotName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
impl fmt::Debug for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}
impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The number of slots that a map holds without a heap allocation: CPU, memory and one kind of accelerator.
const INLINE_SLOTS: usize = 3;

/// Values by slot, ordered by name, so that sums never depend on the order of insertion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotMap<V>(SmallVec<[(SlotName, V); INLINE_SLOTS]>);

/// Amounts by slot, such as those that a kernel holds or an agent offers.
pub type SlotAmounts = SlotMap<Amount>;
/// Slot-seconds by slot.
pub type SlotUsages = SlotMap<Usage>;

impl<V> Default for SlotMap<V> {
    fn default() -> Self {
        Self(SmallVec::new())
    }
}

impl<V: Copy> SlotMap<V> {
    pub fn get(&self, name: SlotName) -> Option<V> {
        self.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (SlotName, V)> + '_ {
        self.0.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn set(&mut self, name: SlotName, value: V) {
        match self.0.binary_search_by(|(n, _)| n.cmp(&name)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    pub fn map<W>(&self, f: impl Fn(V) -> W) -> SlotMap<W> {
        SlotMap(self.0.iter().map(|(n, v)| (*n, f(*v))).collect())
    }

    /// The map without the entries for which `keep` returns false.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(V) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|(_, v)| keep(*v)).collect())
    }

    fn merge(&mut self, other: impl Iterator<Item = (SlotName, V)>, add: impl Fn(V, V) -> V) {
        for (at, (name, value)) in other.enumerate() {
            // Maps that are added to each other mostly contain the same slots.
            if let Some((_, mine)) = self.0.get_mut(at).filter(|(n, _)| *n == name) {
                *mine = add(*mine, value);
                continue;
            }
            match self.0.iter_mut().find(|(n, _)| *n == name) {
                Some((_, mine)) => *mine = add(*mine, value),
                None => self.set(name, value),
            }
        }
    }

    fn reduce(&mut self, other: &Self, subtract: impl Fn(V, V) -> V) {
        for (name, value) in other.iter() {
            if let Some((_, mine)) = self.0.iter_mut().find(|(n, _)| *n == name) {
                *mine = subtract(*mine, value);
            }
        }
    }
}

impl<V: Copy> FromIterator<(SlotName, V)> for SlotMap<V> {
    /// If a name occurs several times, its last value counts.
    fn from_iter<I: IntoIterator<Item = (SlotName, V)>>(iter: I) -> Self {
        let mut map = Self::default();
        for (name, value) in iter {
            map.set(name, value);
        }
        map
    }
}

impl SlotAmounts {
    /// The usage of these amounts held for `micros` microseconds.
    pub fn for_micros(&self, micros: u64) -> SlotUsages {
        self.map(|amount| amount.for_micros(micros))
    }

    pub fn add(&mut self, other: &Self) {
        self.merge(other.iter(), Amount::saturating_add);
    }

    pub fn subtract(&mut self, other: &Self) {
        self.reduce(other, Amount::saturating_sub);
    }
}

impl SlotUsages {
    /// Adds usage. Zeros are left out here and in `subtract`, so that equal sums are equal maps.
    pub fn add(&mut self, other: &Self) {
        self.merge(other.iter().filter(|(_, usage)| !usage.is_zero()), std::ops::Add::add);
    }

    pub fn subtract(&mut self, other: &Self) {
        self.reduce(other, Usage::saturating_sub);
        self.0.retain(|(_, usage)| !usage.is_zero());
    }

    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|(_, v)| v.is_zero())
    }

    /// The dominant share of usage of one second: the largest part of the capacity of any slot. Slots without capacity
    /// do not count.
    pub fn dominant_part(&self, capacity: &SlotAmounts) -> f64 {
        let parts = self.iter().filter_map(|(slot, of_one_second)| {
            let offered = capacity.get(slot).filter(|c| !c.is_zero())?;
            Some(of_one_second.to_f64() / offered.to_f64())
        });
        parts.fold(0.0, f64::max)
    }
}

/// The sum of usages that are each multiplied by a factor. It is rounded once.
#[derive(Clone, Debug, Default)]
pub struct ScaledSum(SlotMap<ScaledUsage>);

impl ScaledSum {
    pub fn add(&mut self, usage: &SlotUsages, factor: f64) {
        let part = ExactFactor::new(factor);
        self.0.merge(usage.iter().map(|(slot, usage)| (slot, usage.times(part))), std::ops::Add::add);
    }

    pub fn rounded(&self) -> SlotUsages {
        self.0.map(ScaledUsage::rounded).filtered(|usage| !usage.is_zero())
    }
}

impl<V: fmt::Display + Copy> SlotMap<V> {
    /// The stored form: a JSON object of decimal texts in the order of names.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.0.len() * 40 + 2);
        json.push('{');
        for (name, value) in &self.0 {
            if json.len() > 1 {
                json.push(',');
            }
            // In printable ASCII only `"` and `\` need an escape; digits and points do not. Writing to a text cannot
            // fail.
            json.push('"');
            for c in name.0.chars() {
                if matches!(c, '"' | '\\') {
                    json.push('\\');
                }
                json.push(c);
            }
            let _ = write!(json, "\":\"{value}\"");
        }
        json.push('}');
        json
    }
}

/// A type of value that requests contain for a slot.
pub trait SlotValue: Copy {
    /// The form of the value in requests. It may allow more than the stored form.
    type Written: for<'de> Deserialize<'de> + Into<Self>;
}

impl SlotValue for Usage {
    type Written = Self;
}

impl<V: for<'de> Deserialize<'de> + Copy> SlotMap<V> {
    /// Parses the stored form, without limits: names are not counted, and a sum has the slots of all that it sums.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let entries = SlotEntries::<V, V>::new(SlotName::stored);
        let map = deserializer.deserialize_map(SlotEntries { most: usize::MAX, ..entries })?;
        deserializer.end()?;
        Ok(map)
    }
}

impl<V: Serialize> Serialize for SlotMap<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name.as_str(), value)?;
        }
        map.end()
    }
}

impl<'de, V: SlotValue> Deserialize<'de> for SlotMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SlotEntries::<V, V::Written>::new(SlotName::offered))
    }
}

/// Reads the slots of a kernel, a workload or an agent. They may give memory in MiB, as [`MEBIBYTES_KEY`].
pub fn resource_slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SlotAmounts, D::Error> {
    let entries = SlotEntries::<Amount, <Amount as SlotValue>::Written>::new(SlotName::offered);
    deserializer.deserialize_map(SlotEntries { of_mebibytes: Some(|mebibytes| mebibytes.bytes), ..entries })
}

/// Reads [`resource_slots`], or nothing.
pub fn optional_resource_slots<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<SlotAmounts>>, D::Error> {
    struct ResourceSlots(SlotAmounts);
    impl<'de> Deserialize<'de> for ResourceSlots {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            resource_slots(deserializer).map(Self)
        }
    }
    Ok(Option::<ResourceSlots>::deserialize(deserializer)?.map(|slots| Box::new(slots.0)))
}

/// The JSON pointer to a slot of the map at `map`. A request may have written memory under another key, so the pointer to
/// memory is that of the map.
pub fn slot_pointer(map: &str, slot: SlotName) -> String {
    if slot.as_str() == MEMORY_SLOT { map.to_owned() } else { format!("{map}/{}", escape_key(slot.as_str())) }
}

/// Parses a map. `name` creates slot names, and values are written as `W`.
struct SlotEntries<V, W> {
    name: fn(&str) -> Result<SlotName, SlotNameError>,
    /// The value of memory that is given in MiB; `None` if [`MEBIBYTES_KEY`] is a slot like any other.
    of_mebibytes: Option<fn(MemoryInMebibytes) -> V>,
    /// The largest number of slots.
    most: usize,
    values: std::marker::PhantomData<W>,
}

impl<V, W> SlotEntries<V, W> {
    fn new(name: fn(&str) -> Result<SlotName, SlotNameError>) -> Self {
        Self { name, of_mebibytes: None, most: MAX_SLOTS, values: std::marker::PhantomData }
    }
}

impl<'de, V: Copy, W: Deserialize<'de> + Into<V>> Visitor<'de> for SlotEntries<V, W> {
    type Value = SlotMap<V>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of slot names and decimals")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<SlotMap<V>, A::Error> {
        let mut map = SlotMap::default();
        let mut has_mebibytes = false;
        while let Some(key) = access.next_key::<std::borrow::Cow<'de, str>>()? {
            let of_mebibytes = self.of_mebibytes.filter(|_| key == MEBIBYTES_KEY);
            let name = (self.name)(if of_mebibytes.is_some() { MEMORY_SLOT } else { &key });
            let name = name.map_err(de::Error::custom)?;
            if map.get(name).is_some() {
                let is_both = name.as_str() == MEMORY_SLOT && of_mebibytes.is_some() != has_mebibytes;
                return Err(de::Error::custom(if is_both {
                    format!("gives both `{MEMORY_SLOT}` and `{MEBIBYTES_KEY}`; give one of them")
                } else {
                    format!("names the slot {name} twice")
                }));
            }
            has_mebibytes |= of_mebibytes.is_some();
            let value = match of_mebibytes {
                Some(convert) => convert(access.next_value()?),
                None => access.next_value::<W>()?.into(),
            };
            map.set(name, value);
            if map.len() > self.most {
                return Err(de::Error::custom(format!("names more than {} slots", self.most)));
            }
        }
        Ok(map)
    }
}
