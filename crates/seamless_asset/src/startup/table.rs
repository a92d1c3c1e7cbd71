//! What a startup package holds, and for whom. See [`StartupIndex`].

use bevy_asset::{Asset, AssetPath, UntypedHandle};
use bevy_reflect::TypePath;
use seamless_package::{Package, RefTarget};
use serde::{Deserialize, Serialize};

use super::written;
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};
use crate::{
    codec::{AssetCodec, DecodeContext, DecodeError},
    error::LoadErrorKind,
};

/// The name of the index in a startup package.
pub const STARTUP_EXPORT: &str = "Startup";

/// The index of a startup package, an object of its own: which sources it was cooked from, for whom, and where they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartupTable {
    entries: Vec<Entry>,
    /// Types of which the payloads are not loaded with the object, by type path.
    on_demand: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    owner: String,
    path: String,
    /// Position in the index's reference list.
    reference: u32,
}

/// One registration of a [`StartupIndex`].
#[derive(Debug, Clone, Copy)]
pub struct StartupEntry<'a> {
    /// Who registered it.
    pub owner: &'a str,
    /// The path of the source.
    pub path: &'a str,
    /// The object's handle; none where the app lacks the object's role.
    pub handle: Option<&'a UntypedHandle>,
}

impl StartupTable {
    /// An index of these registrations, owner and path, each at home in the reference of the same number; `on_demand` are the types of
    /// which the payloads are not loaded with the object.
    pub fn new<'a>(registrations: impl IntoIterator<Item = (&'a str, &'a str)>, on_demand: Vec<String>) -> Self {
        let entry = |(reference, (owner, path)): (u32, (&str, &str))| Entry {
            owner: owner.to_owned(),
            path: written(&AssetPath::parse(path)),
            reference,
        };
        Self {
            entries: (0..).zip(registrations).map(entry).collect(),
            on_demand,
        }
    }

    /// What the index's export holds.
    ///
    /// # Errors
    /// When it is too large for this machine.
    #[cfg(feature = "write")]
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        postcard::to_allocvec(self).map_err(|error| EncodeError::Other(error.to_string()))
    }

    /// The index of `package`, out of a part of its file that starts at the byte `tail_offset`.
    ///
    /// # Errors
    /// [`LoadErrorKind::NoStartupIndex`] when it is no startup package, or what is wrong with its bytes.
    pub fn of(package: &Package, tail: &[u8], tail_offset: u64) -> Result<Self, LoadErrorKind> {
        let index = startup_export(package).ok_or(LoadErrorKind::NoStartupIndex)?;
        let data = package.export_data(index, tail, tail_offset)?;
        Ok(Self::parse(&data, package.refs(index).len())?)
    }

    fn parse(data: &[u8], references: usize) -> Result<Self, DecodeError> {
        let malformed = |error: postcard::Error| DecodeError::Malformed(format!("the startup index: {error}"));
        let (table, rest) = postcard::take_from_bytes::<Self>(data).map_err(malformed)?;
        if !rest.is_empty() {
            let message = format!("{} bytes are left over behind the startup index", rest.len());
            return Err(DecodeError::Malformed(message));
        }
        let outside = table
            .entries
            .iter()
            .find(|entry| entry.reference as usize >= references);
        match outside {
            None => Ok(table),
            Some(entry) => Err(DecodeError::Malformed(format!(
                "the startup index has `{}` at reference {}, of {references}",
                entry.path, entry.reference
            ))),
        }
    }

    /// Whether objects of this type are loaded without their payloads.
    #[must_use]
    pub fn is_on_demand(&self, type_path: &str) -> bool {
        self.on_demand.iter().any(|known| known == type_path)
    }

    /// Owner, path and export of every registration.
    pub(super) fn exports<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = (&'a str, &'a str, usize)> {
        let refs = startup_export(package).map(|index| package.refs(index));
        self.entries.iter().filter_map(move |entry| {
            let export = match refs?.get(entry.reference as usize)?.target() {
                RefTarget::Export(export) => export,
                RefTarget::Import(import) => package.forced_for_import(import)?,
                RefTarget::None => return None,
            };
            Some((entry.owner.as_str(), entry.path.as_str(), export))
        })
    }
}

/// The export that is the index of a startup package.
pub(crate) fn startup_export(package: &Package) -> Option<usize> {
    let index = package.find_name(STARTUP_EXPORT)?;
    let class = package.class_of(index)?;
    (class.type_path == StartupIndex::type_path()).then_some(index)
}

/// The index of a startup package as an asset: it refers to all that was registered.
#[derive(Asset, TypePath, Debug, Clone)]
pub struct StartupIndex {
    table: StartupTable,
    handles: Vec<Option<UntypedHandle>>,
}

impl StartupIndex {
    /// The registrations, as numbers.
    #[must_use]
    pub fn table(&self) -> &StartupTable {
        &self.table
    }

    /// All registrations.
    pub fn entries(&self) -> impl Iterator<Item = StartupEntry<'_>> {
        (0..self.table.entries.len()).filter_map(|place| self.entry(place))
    }

    pub(super) fn entry(&self, place: usize) -> Option<StartupEntry<'_>> {
        let entry = self.table.entries.get(place)?;
        Some(StartupEntry {
            owner: &entry.owner,
            path: &entry.path,
            handle: self.handles.get(entry.reference as usize)?.as_ref(),
        })
    }
}

/// The codec of [`StartupIndex`].
pub struct StartupIndexCodec;

impl AssetCodec for StartupIndexCodec {
    type Asset = StartupIndex;
    const VERSION: u32 = 1;

    fn is_rendered(_: &StartupIndex) -> bool {
        false
    }

    /// The cooker writes the index from its own tables; there is none in a world.
    #[cfg(feature = "write")]
    fn encode(_: &StartupIndex, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        Err(EncodeError::Other(
            "is the index of a startup package; refer to what it holds".into(),
        ))
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<StartupIndex, DecodeError> {
        Ok(StartupIndex {
            table: StartupTable::parse(data, context.handles.len())?,
            handles: context.handles.to_vec(),
        })
    }
}
