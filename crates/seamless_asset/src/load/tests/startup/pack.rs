//! Startup packages as the cooker writes them. See [`Pack`].

use core::any::type_name;

use bevy_platform::collections::HashMap;
use bevy_reflect::TypePath;

use super::*;
use crate::{
    STARTUP_EXPORT, StartupIndex, StartupIndexCodec, StartupTable,
    load::tests::{bulk::film_class, objects::recipe_object},
};

/// A type with a kilobyte of data each, which notes how far the file was read when it is decoded.
#[derive(Asset, TypePath, Clone, Debug, PartialEq)]
pub(super) struct Pantry(pub Vec<u8>);

/// Writes a startup package.
pub(super) struct Pack<'a> {
    app: &'a App,
    writer: PackageWriter,
    refs: HashMap<String, ObjectRef>,
    entries: Vec<(&'static str, String, ObjectRef)>,
    on_demand: Vec<String>,
}

impl<'a> Pack<'a> {
    pub fn new(app: &'a App) -> Self {
        Self {
            app,
            writer: new_package(app, "startup.pkg"),
            refs: HashMap::default(),
            entries: Vec::new(),
            on_demand: Vec::new(),
        }
    }

    pub fn recipe(mut self, name: &str, before: &[&str]) -> Self {
        let recipe = recipe_object(&mut self.writer, self.app, name, before, &self.refs);
        self.refs.insert(name.to_owned(), recipe);
        self
    }

    /// A film with payloads of 5 000 and 200 000 bytes.
    pub fn film(self, name: &str, seed: u8) -> Self {
        self.film_of(name, seed, Role::ALL)
    }

    pub fn film_of(mut self, name: &str, seed: u8, role: Role) -> Self {
        let class = film_class(self.app, &mut self.writer);
        let film = NewExport {
            bulk: vec![frames(seed, 5_000).into(), frames(seed + 100, 200_000).into()],
            role,
            ..new_export(name, class, name.as_bytes().to_vec(), vec![])
        };
        let film = self.writer.export(film).unwrap();
        self.refs.insert(name.to_owned(), film);
        self
    }

    pub fn mesh(mut self) -> Self {
        let mesh = mesh_object(&mut self.writer, self.app, None);
        self.refs.insert("Mesh".to_owned(), mesh);
        self
    }

    pub fn pantry(mut self, name: &str, bytes: usize) -> Self {
        let class = schema(Pantry::type_path(), Encoding::Asset, 1, "codec");
        let class = self.writer.class(&class).unwrap();
        let pantry = new_export(name, class, frames(7, bytes), vec![]);
        let pantry = self.writer.export(pantry).unwrap();
        self.refs.insert(name.to_owned(), pantry);
        self
    }

    /// What leads to an object.
    pub fn reference(&self, object: &str) -> ObjectRef {
        self.refs[object]
    }

    /// Types whose payloads are not loaded.
    pub fn on_demand<A: TypePath>(mut self) -> Self {
        self.on_demand.push(A::type_path().to_owned());
        self
    }

    /// Says that `P` registered `path`, which was cooked to `object`.
    pub fn entry<P>(mut self, path: &str, object: &str) -> Self {
        let entry = (type_name::<P>(), path.to_owned(), self.refs[object]);
        self.entries.push(entry);
        self
    }

    pub fn finish(self) -> Vec<u8> {
        let entries = self.entries.iter().map(|(owner, path, _)| (*owner, path.as_str()));
        let table = StartupTable::new(entries, self.on_demand.clone());
        let refs = self.entries.iter().map(|(_, _, reference)| *reference).collect();
        self.index(table.to_bytes().unwrap(), refs)
    }

    /// With these bytes as its index.
    pub fn index(mut self, data: Vec<u8>, refs: Vec<ObjectRef>) -> Vec<u8> {
        let class = schema(
            StartupIndex::type_path(),
            Encoding::Asset,
            StartupIndexCodec::VERSION,
            "codec",
        );
        let class = self.writer.class(&class).unwrap();
        self.writer
            .export(new_export(STARTUP_EXPORT, class, data, refs))
            .unwrap();
        self.writer.finish().unwrap()
    }
}
