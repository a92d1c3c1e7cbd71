//! What an object's codec and its post-loads may know of it, and leave to be done. See [`DecodedObject`].

use core::{cell::RefCell, fmt};

use bevy_asset::UntypedAssetId;
use bevy_ecs::world::World;
use seamless_package::ObjectId;

use super::DecodedAsset;
use crate::linker::Linker;

/// What is done when a value is in its [`Assets`](bevy_asset::Assets): with the world, and the asset's id.
pub type WhenInserted = Box<dyn FnOnce(&mut World, UntypedAssetId) + Send + Sync>;

/// Where an object is, for who reads its payloads later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DecodedPlace {
    /// Its object path, as a [`BulkRequest`](crate::BulkRequest) takes it: that of the package that it was decoded from, of which it may be a
    /// copy of another package's object.
    pub path: String,
    /// How large its payloads are, in bytes when decompressed, whether they were read with it or not.
    pub payloads: Vec<u64>,
}

impl DecodedPlace {
    /// That of an object of a package; one that is not in its file has no payloads.
    pub(crate) fn of(linker: &Linker, id: ObjectId, name: &str) -> Self {
        let (package, file) = (linker.package(), linker.path());
        let index = package.find(id);
        let origin = index.and_then(|index| package.origin_of(index));
        let payloads = index.map(|index| package.bulk(index));
        Self {
            path: match origin {
                Some(origin) => format!("{file}#{}#{name}", origin.package),
                None => format!("{file}#{name}"),
            },
            payloads: payloads.into_iter().flatten().map(|payload| payload.raw_size).collect(),
        }
    }
}

/// The object that is decoded, as [`DecodeContext`](super::DecodeContext) has it.
pub struct DecodedObject<'a> {
    linker: &'a Linker,
    id: ObjectId,
    name: &'a str,
    then: RefCell<Vec<WhenInserted>>,
}

impl<'a> DecodedObject<'a> {
    pub(crate) fn new(linker: &'a Linker, id: ObjectId, name: &'a str) -> Self {
        Self {
            linker,
            id,
            name,
            then: RefCell::default(),
        }
    }

    pub(super) fn place(&self) -> DecodedPlace {
        DecodedPlace::of(self.linker, self.id, self.name)
    }

    pub(super) fn when_inserted(&self, then: WhenInserted) {
        self.then.borrow_mut().push(then);
    }

    /// Gives the value what its codec left to be done.
    pub(crate) fn finish(self, value: &mut dyn DecodedAsset) {
        for then in self.then.into_inner() {
            value.when_inserted(then);
        }
    }
}

impl fmt::Debug for DecodedObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("DecodedObject").field(&self.name).finish()
    }
}
