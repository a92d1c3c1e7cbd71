//! Startup packages as the cooker writes them. See [`Pack`].

use core::any::type_name;

use bevy_platform::collections::HashMap;
use bevy_reflect::TypePath;

use super::*;
use crate::{
    STARTUP_EXPORT, StartupIndex, StartupIndexCodec,
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
    entries: Vec<(&'static str, String, UntypedHandle)>,
    handles: HashMap<UntypedAssetId, ObjectRef>,
    on_demand: Vec<String>,
    assets: Assets<Recipe>,
}

impl<'a> Pack<'a> {
    pub fn new(app: &'a App) -> Self {
        Self {
            app,
            writer: new_package(app, "startup.pkg"),
            refs: HashMap::default(),
            entries: Vec::new(),
            handles: HashMap::default(),
            on_demand: Vec::new(),
            assets: Assets::default(),
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
        // Only its id counts here.
        let handle = self.assets.reserve_handle().untyped();
        self.handles.insert(handle.id(), self.refs[object]);
        self.entries.push((type_name::<P>(), path.to_owned(), handle));
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        let entries = core::mem::take(&mut self.entries);
        let entries = entries
            .iter()
            .map(|(owner, path, handle)| (*owner, path.as_str(), handle.clone()));
        let index = StartupIndex::new(entries, core::mem::take(&mut self.on_demand));
        let registry = self.app.world().resource::<AppTypeRegistry>().read();
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&registry, &rows);
        let data = StartupIndexCodec::encode(&index, &mut context).unwrap().data;
        let refs = context.into_references();
        let refs = refs.iter().map(|handle| self.handles[&handle.id()]).collect();
        drop(registry);
        self.index(data, refs)
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
