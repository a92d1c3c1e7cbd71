//! `package_open`: from a file in the page cache to checked tables, beside the read alone.
//!
//! The file is the header of a package, which is all that opening reads: summary, tables, schemas. It has 1 000 exports, six of
//! them classes, with the names that a cooked glTF file has; 64 imports from eight packages; two version lists; and two
//! references for each object.
//!
//! * Ours: `std::fs::read` of that file, then `Package::parse` with the default limits: every checksum and every rule is checked.
//! * Limit: `std::fs::read` of the same file.
//!
//! In `package_open` the memory of the sample before is used again, by both. In `package_open/fresh_memory` nothing is freed before
//! the end, so that all memory is new, as it is where a level is loaded that was never there. In `package_open/lz4_classes` and
//! `package_open/zstd_classes` the classes are compressed, as the cooker does it with `dev` and with `ship`; both sides read fewer bytes.

use std::hint::black_box;

use seamless_asset::package::{
    ClassIndex, Codec, Limits, NewExport, ObjectRef, Package, PackageWriter, Role, Schema, VersionId, VersionList,
};

use crate::{
    app::cpu_ns,
    row::{Row, Samples, Targets},
};

const EXPORTS: usize = 1000;
const CLASSES: [&str; 6] = [
    "bevy_mesh::mesh::Mesh",
    "bevy_image::image::Image",
    "bevy_pbr::pbr_material::StandardMaterial",
    "game::items::Stone",
    "game::items::Door",
    "game::sounds::Cue",
];
const IMPORTS: usize = 64;

/// What is opened, and where to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// To memory that was freed a moment ago.
    Used,
    /// To pages that the system has to give.
    Fresh,
    /// A file whose classes are stored by this codec.
    Classes(Codec),
}

/// Measures opening.
pub fn run(variant: Variant, samples: Option<usize>) -> Row {
    let dir = tempfile::tempdir().expect("a folder for temporary files");
    let path = dir.path().join("cell_3_7.pkg");
    let classes = match variant {
        Variant::Classes(codec) => codec,
        Variant::Used | Variant::Fresh => Codec::None,
    };
    std::fs::write(&path, header(classes)).expect("the folder can be written to");
    let read = || std::fs::read(&path).expect("the file can be read");
    let limits = Limits::default();
    let mut result = Samples::default();
    let mut kept = Vec::new();
    for round in 0..samples.unwrap_or(401) + 20 {
        let (ours, opened) = cpu_ns(|| {
            // The package keeps the bytes: its tables are read where they lie.
            Package::parse(read(), &limits).expect("the package is sound")
        });
        let package = &opened;
        assert_eq!((package.exports().len(), package.imports().len()), (EXPORTS, IMPORTS));
        let opened = (variant == Variant::Fresh).then_some(opened);
        let (limit, bytes) = cpu_ns(|| black_box(read()));
        let bytes = (variant == Variant::Fresh).then_some(bytes);
        kept.extend(opened.zip(bytes));
        // The first rounds warm caches and allocator.
        if round >= 20 {
            result.ours.push(ours * 1e-3);
            result.limit.push(limit * 1e-3);
        }
    }
    let targets = Targets {
        of_limit: (classes == Codec::None).then_some(3.0),
        ..Targets::default()
    };
    let name = match variant {
        Variant::Used => "package_open",
        Variant::Fresh => "package_open/fresh_memory",
        Variant::Classes(Codec::Zstd) => "package_open/zstd_classes",
        Variant::Classes(_) => "package_open/lz4_classes",
    };
    let mut row = result.row(name, "µs", None, Some("one read of the bytes"), targets);
    row.note = format!("{EXPORTS} exports, {} bytes", read().len());
    row
}

/// The header of the package.
fn header(classes: Codec) -> Vec<u8> {
    let mut writer = PackageWriter::new("levels/cell_3_7.pkg");
    writer.class_codec(classes);
    writer.versions(&versions()).expect("two lists");
    let classes = CLASSES.map(|type_path| class(&mut writer, type_path));
    let mut objects: Vec<ObjectRef> = (0..IMPORTS).map(|index| import(&mut writer, index)).collect();
    let mut outer = ObjectRef::NONE;
    for index in 0..EXPORTS - CLASSES.len() {
        let name = match index {
            0 => "Scene0".to_owned(),
            _ => format!("Scene0/Node{}~{}", index / 4, index % 4),
        };
        let export = NewExport {
            name: &name,
            class: classes[index % classes.len()],
            outer,
            role: Role::ALL,
            data: vec![index as u8; 24].into(),
            refs: vec![objects[index % objects.len()], objects[objects.len() - 1]],
            bulk: Vec::new(),
            bulk_use: Default::default(),
            codec: Codec::None,
        };
        let object = writer.export(export).expect("a new object");
        objects.push(object);
        if index == 0 {
            outer = object;
        }
    }
    let mut file = writer.finish().expect("the package is within the limits");
    let package = Package::parse(&file, &Limits::default()).expect("it was written a moment ago");
    file.truncate(package.summary().header_len() as usize);
    file
}

fn versions() -> [VersionList; 2] {
    let list = |id, label, count| {
        let entries = (1..=count).map(|number| format!("change {number} of the {label}"));
        VersionList::new(id, label, entries).expect("the names differ")
    };
    [list(VersionId::ENGINE, "engine", 4), list(VersionId::GAME, "game", 24)]
}

fn class(writer: &mut PackageWriter, type_path: &str) -> ClassIndex {
    let schema = Schema {
        type_path: type_path.to_owned(),
        encoding: 6,
        immutable: false,
        version: 1,
        hash: 0x5eed,
        description: "struct{color:[f32;4],weight:f32,kind:u32,label:alloc::string::String}".to_owned(),
    };
    writer.class(&schema).expect("a new class")
}

fn import(writer: &mut PackageWriter, index: usize) -> ObjectRef {
    let package = format!("shared/rocks_{}.pkg", index % 8);
    let object = format!("Mesh{}/Primitive{}", index / 2, index % 2);
    writer
        .import(&package, &object, CLASSES[0], Role::CLIENT)
        .expect("a new import")
}
