//! Packages as a cooker makes them, out of a fuzzer's bytes.

use super::older::older;
use arbitrary::{Result, Unstructured};
use seamless_package::{
    Bulk, ClassIndex, Codec, ForcedOrigin, Limits, NewBulk, NewData, NewExport, ObjectRef, Package, PackageWriter,
    Packed, PayloadUse, Role, Schema, VersionId, VersionList,
};
use std::sync::LazyLock;

/// A package, and what went into it.
pub struct Made {
    pub file: Vec<u8>,
    pub objects: Vec<Object>,
}

pub struct Object {
    /// Index of its export.
    pub index: usize,
    pub data: NewData,
    pub bulk: Vec<NewBulk>,
    pub bulk_use: PayloadUse,
}

const TYPES: [&str; 3] = ["game::Point", "game::Tree", "ü"];
const NAMES: [&str; 6] = ["A", "B", "Oak", "B/ü~2", "class:game::Tree", ""];
const PACKAGES: [&str; 3] = ["shared/trees.pkg", "shared/rocks.pkg", "levels/made.pkg"];
const CODECS: [Codec; 3] = [Codec::None, Codec::Lz4, Codec::Zstd];
/// Of many objects, one of so many has something.
const EVERY: [u32; 4] = [1, 3, 20, 100];

/// A payload in another file, for copies.
static EXTERNAL: LazyLock<Bulk> = LazyLock::new(|| {
    let mut writer = PackageWriter::new(PACKAGES[0]);
    let class = writer.class(&schema(TYPES[1], String::new())).expect("the first class");
    let export = NewExport {
        bulk: vec![vec![9; 500].into()],
        ..object("Tree", class, Codec::Lz4)
    };
    writer.export(export).expect("the only object");
    let file = writer.finish().expect("a small package");
    let package = Package::parse(&file, &Limits::default()).expect("as it was written");
    package.bulk(1).get(0).unwrap()
});

fn schema(type_path: &str, description: String) -> Schema {
    Schema {
        type_path: type_path.to_owned(),
        encoding: 1,
        immutable: description.len() % 2 == 1,
        version: 3,
        hash: 0x5eed,
        description,
    }
}

pub fn object(name: &str, class: ClassIndex, codec: Codec) -> NewExport<'_> {
    NewExport {
        name,
        class,
        outer: ObjectRef::NONE,
        role: Role::ALL,
        data: Vec::new().into(),
        refs: Vec::new(),
        bulk: Vec::new(),
        bulk_use: PayloadUse::WithObject,
        codec,
    }
}

/// A writer that so far has one class.
pub fn writer() -> (PackageWriter, ClassIndex) {
    let mut writer = PackageWriter::new(PACKAGES[2]);
    let class = writer
        .class(&schema(TYPES[0], "x: f32".into()))
        .expect("the first class");
    (writer, class)
}

struct Maker {
    writer: PackageWriter,
    classes: Vec<ClassIndex>,
    refs: Vec<ObjectRef>,
    objects: Vec<Object>,
}

/// A package with a few of everything, or with many, in any version of the format.
pub fn package(u: &mut Unstructured<'_>) -> Result<Made> {
    let (writer, class) = writer();
    let mut maker = Maker {
        writer,
        classes: vec![class],
        refs: Vec::new(),
        objects: Vec::new(),
    };
    for _ in 0..u.int_in_range(0..=8)? {
        match u.int_in_range(0..=4)? {
            0 => maker.class(u)?,
            1 => maker.import(u)?,
            _ => maker.export(u, None)?,
        }
    }
    if seldom(u)? {
        maker.import_many(u)?;
    }
    if seldom(u)? {
        maker.crowd(u, None)?;
    }
    for _ in 0..u.int_in_range(0..=3)? {
        let from = origin(u)?;
        maker.export(u, Some(from))?;
    }
    if seldom(u)? {
        let from = origin(u)?;
        maker.crowd(u, Some(from))?;
    }
    for _ in 0..u.int_in_range(0..=2)? {
        maker.versions(u)?;
    }
    let kind = u.int_in_range(0..=7)?;
    maker.writer.class_codec(match kind {
        5 => Codec::Lz4,
        4 => Codec::Zstd,
        _ => Codec::None,
    });
    let file = maker.writer.finish().expect("what the writer took, the reader takes");
    let file = match kind {
        7 => older(&file, 2),
        6 => older(&file, 3),
        3 => older(&file, 4),
        2 => older(&file, 5),
        _ => file,
    };
    let objects = maker.objects;
    Ok(Made { file, objects })
}

fn origin(u: &mut Unstructured<'_>) -> Result<ForcedOrigin<'static>> {
    Ok(ForcedOrigin {
        package: u.choose(&PACKAGES)?,
        content_hash: u.int_in_range(0..=1)?,
        index: u.int_in_range(0..=3)?,
    })
}

/// Never when there are no more bytes.
fn seldom(u: &mut Unstructured<'_>) -> Result<bool> {
    Ok(u.int_in_range(0..=5)? == 5)
}

impl Maker {
    fn class(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let description = "x".repeat(u.int_in_range(0..=20)?);
        if let Ok(class) = self.writer.class(&schema(u.choose(&TYPES)?, description)) {
            self.classes.push(class);
            self.refs.push(ObjectRef::export(class.index()).expect("a small index"));
        }
        Ok(())
    }

    fn import(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (package, name, type_path) = (u.choose(&PACKAGES)?, u.choose(&NAMES)?, u.choose(&TYPES)?);
        self.refs
            .extend(self.writer.import(package, name, type_path, role(u)?).ok());
        Ok(())
    }

    /// An object of the package, or a copy.
    fn export(&mut self, u: &mut Unstructured<'_>, forced: Option<ForcedOrigin<'_>>) -> Result<()> {
        let name = name(u)?;
        let mut new = object(&name, *u.choose(&self.classes)?, *u.choose(&CODECS)?);
        new.role = role(u)?;
        new.data = packed_or_not(chunk(u)?, new.codec);
        if u.ratio(1, 4)? && !self.objects.is_empty() {
            let outer = u.choose(&self.objects)?.index;
            new.outer = ObjectRef::export(outer).expect("a small index");
        }
        if !self.refs.is_empty() {
            for _ in 0..u.int_in_range(0..=2)? {
                new.refs.push(*u.choose(&self.refs)?);
            }
        }
        for _ in 0..u.int_in_range(0..=2)? {
            let external = forced.is_some() && u.arbitrary()?;
            new.bulk.push(if external {
                NewBulk::External(EXTERNAL.clone())
            } else {
                chunk(u)?.into()
            });
        }
        new.bulk_use = PayloadUse::marked(new.bulk.len() == 2);
        self.add(forced, new);
        Ok(())
    }

    /// Imports from so many packages that none of them can be remembered for long.
    fn import_many(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let packages = u.int_in_range(1..=40)?;
        for number in 0..u.int_in_range(1..=60)? {
            let package = format!("kit/{}.pkg", number % packages);
            let import = self.writer.import(&package, &format!("{number}"), TYPES[1], Role::ALL);
            self.refs.extend(import.ok());
        }
        Ok(())
    }

    /// So many objects, or copies, that more than one block of a column is looked at. They differ little; from one on they have
    /// another outer, and some refer to something or have a payload.
    fn crowd(&mut self, u: &mut Unstructured<'_>, from: Option<ForcedOrigin<'static>>) -> Result<()> {
        let count = u.int_in_range(1..=80)?;
        let turn = u.int_in_range(0..=count)?;
        let is_chain = u.arbitrary()?;
        let class = *u.choose(&self.classes)?;
        let codec = *u.choose(&[Codec::None, Codec::Lz4])?;
        let len = u.int_in_range(0..=60)?;
        let (with_ref, with_bulk) = (*u.choose(&EVERY)?, *u.choose(&EVERY)?);
        let mut outer = match self.objects.is_empty() {
            false => ObjectRef::export(u.choose(&self.objects)?.index).expect("a small index"),
            true => ObjectRef::NONE,
        };
        let target = match self.refs.is_empty() {
            false => Some(*u.choose(&self.refs)?),
            true => None,
        };
        for number in 0..count {
            let name = format!("crowd/{number}");
            let is_nth = |nth: u32| number % nth == nth - 1;
            let new = NewExport {
                outer: if number < turn { ObjectRef::NONE } else { outer },
                data: vec![number as u8; len].into(),
                refs: target.into_iter().filter(|_| is_nth(with_ref)).collect(),
                bulk: if is_nth(with_bulk) {
                    vec![vec![5; len].into()]
                } else {
                    Vec::new()
                },
                bulk_use: PayloadUse::marked(is_nth(with_bulk) && with_bulk == 3),
                ..object(&name, class, codec)
            };
            let from = from.map(|from| ForcedOrigin {
                index: from.index + number,
                ..from
            });
            let added = self.add(from, new);
            if let (true, Some(added)) = (is_chain, added) {
                outer = added;
            }
        }
        Ok(())
    }

    /// Nothing is added where the writer refuses it.
    fn add(&mut self, forced: Option<ForcedOrigin<'_>>, new: NewExport<'_>) -> Option<ObjectRef> {
        let (data, bulk, bulk_use) = (new.data.clone(), new.bulk.clone(), new.bulk_use);
        let added = match forced {
            None => self.writer.export(new),
            Some(from) => self.writer.forced(from, new),
        };
        let added = added.ok()?;
        self.refs.push(added);
        // Counted from one.
        let index = added.raw() as usize - 1;
        self.objects.push(Object {
            index,
            data,
            bulk,
            bulk_use,
        });
        Some(added)
    }

    fn versions(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let id = *u.choose(&[VersionId::ENGINE, VersionId::GAME, VersionId(*b"weather weather!")])?;
        let entries: Vec<&str> = NAMES.into_iter().take(u.int_in_range(0..=5)?).collect();
        if let Ok(list) = VersionList::new(id, "list", entries) {
            // Refused if it is there already.
            self.writer.versions(&[list]).ok();
        }
        Ok(())
    }
}

/// Seldom the same twice in a package.
fn name(u: &mut Unstructured<'_>) -> Result<String> {
    let name = *u.choose(&NAMES)?;
    let number = u.int_in_range(0..=7)?;
    Ok(if number == 0 {
        name.to_owned()
    } else {
        format!("{name}{number}")
    })
}

fn role(u: &mut Unstructured<'_>) -> Result<Role> {
    Ok(Role::from_bits(u.int_in_range(1..=7)?).unwrap_or(Role::ALL))
}

/// Whoever measures data has it packed.
fn packed_or_not(data: Vec<u8>, codec: Codec) -> NewData {
    match data.len() % 2 {
        0 => NewData::Raw(data),
        _ => NewData::Packed(Packed::new(data, codec)),
    }
}

/// Bytes that compress well, or not.
pub fn chunk(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let len = u.int_in_range(0..=40)?;
    let pattern = u.bytes(len.min(u.len()))?;
    Ok(match u.int_in_range(0..=2)? {
        0 => pattern.to_vec(),
        times => pattern.repeat(usize::from(u.arbitrary::<u8>()?) * times),
    })
}
