//! The objects of packages, by name.

use std::collections::{BTreeMap, BTreeSet};

use seamless_package::{Bulk, Export, Package, Schema};
use serde::Serialize;

use super::super::folder::{class_name, codec_name, local_path, target_path};
use super::{Change, Sizes};

/// An object that differs.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ObjectDiff {
    /// Its name; of a copy `package#name` of its original.
    pub object: String,
    /// Its type, in the second where it is there; `class` for a class.
    pub class: String,
    /// Stored bytes, payloads in the package's own file included.
    pub bytes: Sizes,
    /// Whether its data is another.
    pub data: bool,
    /// Whether its data is the same, or seems so, and stored otherwise: the codecs before and after.
    pub codec: Option<[String; 2]>,
    /// What it refers to now and did not before.
    pub references_added: Vec<String>,
    /// What it referred to before and does not now.
    pub references_removed: Vec<String>,
    /// Whether it refers to the same objects in another order.
    pub references_order: bool,
    /// The payloads that differ.
    pub bulk: Vec<BulkDiff>,
    /// Who needs it, before and after.
    pub role: Option<[String; 2]>,
    /// Whether it is of use without its payloads, before and after.
    pub marked: Option<[bool; 2]>,
    /// Its type, before and after.
    pub class_change: Option<[String; 2]>,
    /// Of a class: what differs of the schema.
    pub schema: Vec<String>,
    /// Of a copy: that it was made from another cook of its package.
    pub origin: bool,
    /// Whether it lies elsewhere in the file; it shifts with what lies before it.
    pub place: bool,
}

impl ObjectDiff {
    /// What became of it.
    #[must_use]
    pub fn change(&self) -> Change {
        self.bytes.change()
    }

    /// Whether all that differs is where it lies.
    #[must_use]
    pub fn is_place_only(&self) -> bool {
        let place = Self {
            object: self.object.clone(),
            class: self.class.clone(),
            bytes: self.bytes,
            place: true,
            ..Self::default()
        };
        self.change() == Change::Changed && *self == place
    }
}

/// A bulk payload that differs.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BulkDiff {
    /// Which of the object's payloads.
    pub payload: usize,
    /// What became of it.
    pub change: Change,
    /// Stored bytes.
    pub bytes: Sizes,
    /// Whether its bytes are the same, and only lie elsewhere.
    pub place_only: bool,
}

/// The objects that differ, by name; those of one package alone are all added or removed.
pub(super) fn diff(a: Option<&Package>, b: Option<&Package>) -> Vec<ObjectDiff> {
    let names = |package: Option<&Package>| -> BTreeMap<String, usize> {
        let package = package.into_iter();
        package
            .flat_map(|package| (0..package.exports().len()).map(|index| (local_path(package, index), index)))
            .collect()
    };
    let [names_a, names_b] = [names(a), names(b)];
    let all: BTreeSet<&String> = names_a.keys().chain(names_b.keys()).collect();
    let objects = all.into_iter().filter_map(|name| {
        let (before, after) = (side(a, names_a.get(name)), side(b, names_b.get(name)));
        object_diff(name, before.as_ref(), after.as_ref())
    });
    objects.collect()
}

fn side<'p>(package: Option<&'p Package>, index: Option<&usize>) -> Option<Side<'p>> {
    Side::of(package?, *index?)
}

/// An object in its package.
struct Side<'p> {
    package: &'p Package,
    index: usize,
    export: Export,
    bulk: Vec<Bulk>,
}

impl<'p> Side<'p> {
    fn of(package: &'p Package, index: usize) -> Option<Self> {
        Some(Self {
            package,
            index,
            export: package.exports().get(index)?,
            bulk: package.bulk(index).iter().collect(),
        })
    }

    fn bytes(&self) -> u64 {
        if self.package.schema(self.index).is_some() {
            // Classes may be stored all together, in the data of the first.
            return self.export.raw_size;
        }
        let own = self.bulk.iter().filter(|bulk| bulk.origin == 0);
        own.fold(self.export.stored_size, |sum, bulk| {
            sum.saturating_add(bulk.stored_size)
        })
    }

    fn class(&self) -> &'p str {
        class_name(self.package, self.index)
    }

    fn refs(&self) -> Vec<String> {
        let refs = self.package.refs(self.index);
        refs.iter()
            .map(|reference| target_path(self.package, reference.target()).unwrap_or_default())
            .collect()
    }
}

fn object_diff(name: &str, a: Option<&Side>, b: Option<&Side>) -> Option<ObjectDiff> {
    let mut found = ObjectDiff {
        object: name.to_owned(),
        class: b.or(a)?.class().to_owned(),
        bytes: Sizes {
            before: a.map(Side::bytes),
            after: b.map(Side::bytes),
        },
        ..ObjectDiff::default()
    };
    let Some((a, b)) = a.zip(b) else { return Some(found) };
    let same = ObjectDiff {
        bytes: found.bytes,
        object: found.object.clone(),
        class: found.class.clone(),
        ..ObjectDiff::default()
    };
    compare_data(a, b, &mut found);
    compare_refs(a.refs(), b.refs(), &mut found);
    found.bulk = bulk_diffs(&a.bulk, &b.bulk);
    found.role = pair(a.export.role.to_string(), b.export.role.to_string());
    let [was, is] = [a, b].map(|side| side.export.bulk_use.is_marked());
    found.marked = (was != is).then_some([was, is]);
    found.class_change = pair(a.class().to_owned(), b.class().to_owned());
    if let (Some(was), Some(is)) = (a.package.schema(a.index), b.package.schema(b.index)) {
        found.schema = schema_diff(was, is);
    }
    let origin = |side: &Side| side.package.origin_of(side.index).map(|origin| origin.content_hash);
    found.origin = origin(a) != origin(b);
    found.place = a.export.data_offset != b.export.data_offset || a.index != b.index;
    (found != same).then_some(found)
}

fn pair(was: String, is: String) -> Option<[String; 2]> {
    (was != is).then_some([was, is])
}

fn compare_data(a: &Side, b: &Side, found: &mut ObjectDiff) {
    let (was, is) = (&a.export, &b.export);
    if let Some((was, is)) = a.package.schema(a.index).zip(b.package.schema(b.index)) {
        found.data = was != is;
        return;
    }
    if was.codec != is.codec && was.raw_size == is.raw_size {
        found.codec = Some([was.codec, is.codec].map(|codec| codec_name(codec).to_owned()));
    } else {
        found.data = (was.checksum, was.stored_size, was.raw_size) != (is.checksum, is.stored_size, is.raw_size);
    }
}

fn compare_refs(was: Vec<String>, is: Vec<String>, found: &mut ObjectDiff) {
    let [before, after]: [BTreeSet<&String>; 2] = [&was, &is].map(|refs| refs.iter().collect());
    found.references_added = after.difference(&before).map(|name| (*name).clone()).collect();
    found.references_removed = before.difference(&after).map(|name| (*name).clone()).collect();
    found.references_order = before == after && was != is;
}

fn bulk_diffs(was: &[Bulk], is: &[Bulk]) -> Vec<BulkDiff> {
    let content = |bulk: &Bulk| (bulk.checksum, bulk.stored_size, bulk.raw_size, bulk.codec);
    let place = |bulk: &Bulk| (bulk.offset, bulk.origin);
    let diffs = (0..was.len().max(is.len())).filter_map(|payload| {
        let (before, after) = (was.get(payload), is.get(payload));
        let bytes = Sizes {
            before: before.map(|bulk| bulk.stored_size),
            after: after.map(|bulk| bulk.stored_size),
        };
        let pair = before.zip(after);
        let place_only = pair.is_some_and(|(was, is)| content(was) == content(is));
        if place_only && pair.is_some_and(|(was, is)| place(was) == place(is)) {
            return None;
        }
        Some(BulkDiff {
            payload,
            change: bytes.change(),
            bytes,
            place_only,
        })
    });
    diffs.collect()
}

/// What differs of a schema; of a layout, the lines.
fn schema_diff(was: &Schema, is: &Schema) -> Vec<String> {
    let mut what = Vec::new();
    if was.encoding != is.encoding {
        what.push(format!("encoding {} -> {}", was.encoding, is.encoding));
    }
    if was.version != is.version {
        what.push(format!("version {} -> {}", was.version, is.version));
    }
    if was.immutable != is.immutable {
        what.push(format!("immutable {} -> {}", was.immutable, is.immutable));
    }
    let [before, after]: [BTreeSet<&str>; 2] = [was, is].map(|schema| schema.description.lines().collect());
    what.extend(before.difference(&after).map(|line| format!("- {line}")));
    what.extend(after.difference(&before).map(|line| format!("+ {line}")));
    if what.is_empty() && was.description != is.description {
        what.push("order of the parts".to_owned());
    }
    what
}
