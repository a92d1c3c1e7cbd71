//! Packages whose textures stream by Bevy's server. See [`TexturePackage`].

use bevy_asset::{
    Asset, AssetLoader, AssetPath, Handle, LoadContext,
    io::{Reader, VecReader},
};
use bevy_image::Image;
use bevy_reflect::TypePath;
use seamless_asset::{
    PACKAGE_EXTENSION,
    assets::{ImageApart, ImageCodec},
    codec::{AssetCodec, DecodeError},
    package::{Limits, Package, SUMMARY_SIZE, Summary},
};

use super::{Arrivals, StreamedImageError, read::Parts};
use crate::mip::textures::{Comer, MipParts};

/// The textures of a cooked package, for a game that loads no level of it: `asset_server.load::<Image>("walls.pkg#walls.glb/Texture0")` is an image for
/// any material, and streams if `seamless cook` has given it mips. `seamless inspect` tells the names.
///
/// All textures of the package itself come with their tails, those that were not marked to stream as they are; nothing else of it does. They are images of their own: who
/// loads the same package's level or objects as well has these textures twice. Copies of other packages' textures are not among them.
#[derive(Asset, TypePath, Clone, Debug, Default)]
#[type_path = "seamless_render::mip"]
pub struct TexturePackage {
    names: Vec<String>,
    #[dependency]
    images: Vec<Handle<Image>>,
}

impl TexturePackage {
    /// All of them by name, in the order of the package.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Handle<Image>)> {
        self.names.iter().map(String::as_str).zip(&self.images)
    }

    /// The image of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Handle<Image>> {
        self.iter().find(|(known, _)| *known == name).map(|(_, image)| image)
    }
}

/// Loads a package as a [`TexturePackage`].
#[derive(TypePath, Clone)]
#[type_path = "seamless_render::mip"]
pub struct TexturePackageLoader {
    pub(in crate::mip) limits: Limits,
    pub(in crate::mip) arrivals: Arrivals,
}

impl AssetLoader for TexturePackageLoader {
    type Asset = TexturePackage;
    type Settings = ();
    type Error = StreamedImageError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        load_context: &mut LoadContext<'_>,
    ) -> Result<TexturePackage, StreamedImageError> {
        let path = load_context.path().clone().without_label().into_owned();
        let mut in_memory = VecReader::new(Vec::new());
        let mut file = Parts::open(reader, &mut in_memory, &path).await?;
        let mut header = file.read(0..SUMMARY_SIZE as u64, "its summary").await?;
        let length = Summary::parse(&header, &self.limits)?.header_len();
        header.extend(file.read(SUMMARY_SIZE as u64..length, "its tables").await?);
        let package = Package::parse(header, &self.limits)?;
        let mut textures = TexturePackage::default();
        for index in images(&package) {
            let name = package.export_name(index).unwrap_or_default().to_owned();
            let image = self.image(&package, index, &name, &mut file, &path).await?;
            textures
                .images
                .push(load_context.add_labeled_asset(name.clone(), image));
            textures.names.push(name);
        }
        Ok(textures)
    }

    fn extensions(&self) -> &[&str] {
        &[PACKAGE_EXTENSION]
    }
}

/// The package's own images.
fn images(package: &Package) -> impl Iterator<Item = usize> {
    let is_image = |index: &usize| {
        let class = package.class_of(*index);
        class.is_some_and(|class| class.type_path == Image::type_path()) && package.origin_of(*index).is_none()
    };
    (0..package.exports().len()).filter(is_image)
}

impl TexturePackageLoader {
    async fn image(
        &self,
        package: &Package,
        index: usize,
        name: &str,
        file: &mut Parts<'_>,
        path: &AssetPath<'static>,
    ) -> Result<Image, StreamedImageError> {
        let wrong = |error| {
            let (name, error) = (name.to_owned(), Box::new(error));
            StreamedImageError::Object { name, error }
        };
        let version = package.class_of(index).map_or(0, |class| class.version);
        if !(1..=ImageCodec::VERSION).contains(&version) {
            let error = DecodeError::version(Image::type_path(), version, ImageCodec::VERSION);
            return Err(wrong(error));
        }
        let range = package.export_range(index).unwrap_or_default();
        let start = range.start;
        let stored = file.read(range, "an image").await?;
        let data = package.export_data(index, &stored, start)?;
        let is_marked = package
            .exports()
            .get(index)
            .is_some_and(|export| export.bulk_use.is_marked());
        if is_marked && let Some(apart) = ImageApart::read(&data).map_err(wrong)? {
            let parts = MipParts::Package {
                apart: Box::new(apart),
                path: format!("{path}#{name}"),
            };
            return Ok(self.arrivals.stands_in(Comer::new(parts), path));
        }
        let mut payloads = Vec::new();
        for payload in 0..package.bulk(index).len() {
            let Some(location) = package.bulk_location(index, payload) else {
                continue;
            };
            let stored = file.read(location.range.clone(), "the pixels of an image").await?;
            payloads.push(location.unpack(&stored)?.into_owned());
        }
        ImageCodec::read(&data, payloads).map_err(wrong)
    }
}
