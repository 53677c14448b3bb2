//! Slot maps: slot name -> amount or usage. Slot names are data, never an enum (FAIR_SHARE §1).

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock, RwLock};

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use smallvec::SmallVec;
use uuid::Uuid;

use super::decimal::{Amount, Proportion, ScaledUsage, Usage};
use super::maps::{FastMap, FastSet};

/// Slots one map may name.
pub const MAX_SLOTS: usize = 64;
/// New names that one source of input may bring in: each is kept for the life of the process.
pub const MAX_NAMES: usize = 10_000;
const MAX_NAME: usize = 64;

/// An interned slot name: equal names are one pointer, so hot paths compare and copy for free.
#[derive(Clone, Copy)]
pub struct SlotName(&'static str);

/// Where input comes from. The new names of each source are counted by themselves, so that no key can use up those of
/// another key or of another resource group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SlotNameSource {
    pub key: Option<Uuid>,
    /// The resource group that the input is about, if it is one that is there.
    pub group: Option<Arc<str>>,
    /// The input says what agents offer. Kernels can not use up these names.
    pub is_about_agents: bool,
}

#[derive(Default)]
struct KnownNames {
    names: FastSet<&'static str>,
    /// How many of them each source has brought.
    brought: FastMap<SlotNameSource, usize>,
}

static NAMES: LazyLock<RwLock<KnownNames>> = LazyLock::new(RwLock::default);

thread_local! {
    /// The source of the input that this thread reads. Deserialisers have no other way to be given it.
    static SOURCE: RefCell<SlotNameSource> = RefCell::default();
}

/// Does `work` with new slot names counted as those of `source`.
pub fn with_slot_name_source<T>(source: &SlotNameSource, work: impl FnOnce() -> T) -> T {
    struct Restore(SlotNameSource);
    impl Drop for Restore {
        fn drop(&mut self) {
            SOURCE.replace(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(SOURCE.replace(source.clone()));
    work()
}

const MOST_OF_ONE_KEY: &str = "new slot names are the most that one key may bring into a resource group";

/// Why a text is no slot name, as something to be said of the map that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SlotNameError {
    #[error("has a slot name that is not 1 to 64 printable ASCII characters without spaces")]
    Illegal,
    #[error("names a new slot, but {MAX_NAMES} {MOST_OF_ONE_KEY}")]
    TooMany,
}

impl SlotNameError {
    /// The stable name of the error in answers. Deserialisers pass on nothing but the sentence.
    pub fn code_of(message: &str) -> Option<&'static str> {
        message.ends_with(MOST_OF_ONE_KEY).then_some("too_many_slots")
    }
}

impl SlotName {
    /// A name of 1 to 64 printable ASCII characters that the program holds; one that input brings is
    /// [`Self::offered`].
    pub fn new(name: &str) -> Option<Self> {
        Self::stored(name).ok()
    }

    /// A name that the database holds.
    pub fn stored(name: &str) -> Result<Self, SlotNameError> {
        Self::intern(name, None)
    }

    /// A name as input brings it: a new one is refused when its source has brought too many.
    pub fn offered(name: &str) -> Result<Self, SlotNameError> {
        SOURCE.with_borrow(|source| Self::intern(name, Some(source)))
    }

    /// Whether a slot can have the name. Asking does not make the name known.
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

fn read_names() -> std::sync::RwLockReadGuard<'static, KnownNames> {
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

/// Slots that a map holds in place: CPU, memory and one kind of accelerator.
const INLINE: usize = 3;

/// Values by slot, in name order, so that sums over it never depend on insertion.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotMap<V>(SmallVec<[(SlotName, V); INLINE]>);

/// Amounts by slot: what a kernel occupies, what an agent offers.
pub type Amounts = SlotMap<Amount>;
/// Slot-seconds by slot.
pub type Usages = SlotMap<Usage>;

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

    /// The same map without the entries that `keep` refuses.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(V) -> bool) -> Self {
        Self(self.0.iter().copied().filter(|(_, v)| keep(*v)).collect())
    }

    fn merge(&mut self, other: impl Iterator<Item = (SlotName, V)>, add: impl Fn(V, V) -> V) {
        for (at, (name, value)) in other.enumerate() {
            // Maps that are added up mostly name the same slots.
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
    /// The last of several values for one name wins.
    fn from_iter<I: IntoIterator<Item = (SlotName, V)>>(iter: I) -> Self {
        let mut map = Self::default();
        for (name, value) in iter {
            map.set(name, value);
        }
        map
    }
}

impl Amounts {
    /// What these amounts cost when held for `micros` microseconds.
    pub fn for_micros(&self, micros: u64) -> Usages {
        self.map(|amount| amount.for_micros(micros))
    }

    pub fn add(&mut self, other: &Self) {
        self.merge(other.iter(), Amount::saturating_add);
    }

    pub fn subtract(&mut self, other: &Self) {
        self.reduce(other, Amount::saturating_sub);
    }
}

impl Usages {
    /// Zeros are left out here and in `subtract`, so that equal sums are equal maps however they came about.
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

    /// Of what is occupied, as the usage of one second: the largest part of any slot's capacity. A slot without capacity does
    /// not count.
    pub fn dominant_part(&self, capacity: &Amounts) -> f64 {
        let parts = self.iter().filter_map(|(slot, of_one_second)| {
            let offered = capacity.get(slot).filter(|c| !c.is_zero())?;
            Some(of_one_second.to_f64() / offered.to_f64())
        });
        parts.fold(0.0, f64::max)
    }
}

/// A sum of usages that are scaled each by its own factor, rounded once.
#[derive(Clone, Debug, Default)]
pub struct ScaledSum(SlotMap<ScaledUsage>);

impl ScaledSum {
    pub fn add(&mut self, usage: &Usages, factor: f64) {
        let part = Proportion::new(factor);
        self.0.merge(usage.iter().map(|(slot, usage)| (slot, usage.times(part))), std::ops::Add::add);
    }

    pub fn rounded(&self) -> Usages {
        self.0.map(ScaledUsage::rounded).filtered(|usage| !usage.is_zero())
    }
}

impl<V: fmt::Display + Copy> SlotMap<V> {
    /// The stored form: a JSON object of decimal texts in name order.
    pub fn to_json(&self) -> String {
        let mut json = String::with_capacity(self.0.len() * 40 + 2);
        json.push('{');
        for (name, value) in &self.0 {
            if json.len() > 1 {
                json.push(',');
            }
            // Of printable ASCII only these two are escaped; digits and points never are. Writing to
            // a text cannot fail.
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

/// A value of a slot that requests carry.
pub trait SlotValue: Copy {
    /// The form in which requests write the value; it may be wider than the stored form.
    type Written: for<'de> Deserialize<'de> + Into<Self>;
}

impl SlotValue for Usage {
    type Written = Self;
}

impl<V: for<'de> Deserialize<'de> + Copy> SlotMap<V> {
    /// Reads the stored form: what is stored is read however many names there are.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let map = deserializer.deserialize_map(Entries::<V, V>::new(SlotName::stored))?;
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
        deserializer.deserialize_map(Entries::<V, V::Written>::new(SlotName::offered))
    }
}

/// Reads a map whose names `name` makes, and whose values are written as `W`.
struct Entries<V, W> {
    name: fn(&str) -> Result<SlotName, SlotNameError>,
    values: std::marker::PhantomData<(V, W)>,
}

impl<V, W> Entries<V, W> {
    fn new(name: fn(&str) -> Result<SlotName, SlotNameError>) -> Self {
        Self { name, values: std::marker::PhantomData }
    }
}

impl<'de, V: Copy, W: Deserialize<'de> + Into<V>> Visitor<'de> for Entries<V, W> {
    type Value = SlotMap<V>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object of slot names and decimals")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<SlotMap<V>, A::Error> {
        let mut map = SlotMap::default();
        while let Some(key) = access.next_key::<std::borrow::Cow<'de, str>>()? {
            let name = (self.name)(&key).map_err(de::Error::custom)?;
            if map.get(name).is_some() {
                return Err(de::Error::custom(format!("names the slot {name} twice")));
            }
            let value = access.next_value::<W>()?;
            map.set(name, value.into());
            if map.len() > MAX_SLOTS {
                return Err(de::Error::custom(format!("names more than {MAX_SLOTS} slots")));
            }
        }
        Ok(map)
    }
}
