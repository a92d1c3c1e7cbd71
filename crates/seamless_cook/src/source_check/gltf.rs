//! Sizes that a glTF file speaks of: its buffers, accessors, images and scenes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use bevy::image::ImageFormat;
use gltf::accessor::{DataType, sparse::IndexType};
use gltf::image::Source as ImageSource;
use gltf::{Accessor, Gltf, Node, Scene, buffer::Source, buffer::View};
use percent_encoding::percent_decode_str;

use super::{ClaimError, MAX_NODE_DEPTH, MAX_SCENE_ENTITIES, MAX_SPARSE};
use crate::animation::inline;

/// Checks the file at `path`, and the lengths of the buffers beside it.
pub(super) fn check(path: &Path, bytes: &[u8]) -> Result<(), ClaimError> {
    // What is no glTF is refused by Bevy's loader.
    let Ok(gltf) = Gltf::from_slice(bytes) else {
        return Ok(());
    };
    let mut known = vec![None; gltf.nodes().len()];
    gltf.scenes().try_for_each(|scene| scene_size(&scene, &mut known))?;
    let file = File::new(&gltf, path.parent().unwrap_or(Path::new("")));
    let mut accessors = used_accessors(&gltf).into_values();
    accessors.try_for_each(|accessor| file.accessor(&accessor))?;
    // An image that no texture shows is not loaded.
    let shown: BTreeMap<usize, _> = gltf
        .textures()
        .map(|texture| (texture.source().index(), texture.source()))
        .collect();
    shown.values().try_for_each(|image| file.image(image))
}

struct File<'a> {
    folder: &'a Path,
    /// None where a buffer is not there, which Bevy's loader tells.
    buffers: Vec<Option<Bytes<'a>>>,
}

/// The bytes that a buffer really has, whatever the file says.
enum Bytes<'a> {
    Here(Cow<'a, [u8]>),
    /// In a file of their own: so many.
    Beside(u64),
}

impl<'a> File<'a> {
    fn new(gltf: &'a Gltf, folder: &'a Path) -> Self {
        let buffers = gltf.buffers().map(|buffer| match buffer.source() {
            Source::Bin => Some(Bytes::Here(gltf.blob.as_deref()?.into())),
            Source::Uri(uri) => match inside(uri) {
                Some(bytes) => Some(Bytes::Here(bytes.into())),
                None => Some(Bytes::Beside(std::fs::metadata(beside(folder, uri)?).ok()?.len())),
            },
        });
        let buffers = buffers.collect();
        Self { folder, buffers }
    }

    fn image(&self, image: &gltf::Image) -> Result<(), ClaimError> {
        let what = format!("image {}", image.index());
        let (bytes, kind) = match image.source() {
            ImageSource::View { view, mime_type } => {
                self.within_buffer(&what, &view)?;
                let bytes = self.viewed(&view);
                (bytes, mime_type.to_owned())
            }
            ImageSource::Uri { uri, mime_type } => {
                let own = uri.strip_prefix("data:").and_then(|data| data.split([';', ',']).next());
                let kind = mime_type.or(own).unwrap_or_default().to_owned();
                (inside(uri).map(Cow::Owned), kind)
            }
        };
        match bytes.zip(ImageFormat::from_mime_type(&kind)) {
            Some((bytes, format)) => super::image::check(&what, format, &bytes),
            // A file of its own is looked at when it is loaded.
            None => Ok(()),
        }
    }

    fn viewed(&self, view: &View) -> Option<Cow<'_, [u8]>> {
        let range = view.offset()..view.offset().checked_add(view.length())?;
        match (
            self.buffers.get(view.buffer().index())?.as_ref()?,
            view.buffer().source(),
        ) {
            (Bytes::Here(bytes), _) => bytes.get(range).map(Cow::Borrowed),
            (Bytes::Beside(_), Source::Uri(uri)) => {
                let mut file = std::fs::File::open(beside(self.folder, uri)?).ok()?;
                file.seek(SeekFrom::Start(range.start as u64)).ok()?;
                let mut bytes = Vec::new();
                // As long as the view, which was seen to be there.
                file.take(range.len() as u64).read_to_end(&mut bytes).ok()?;
                Some(Cow::Owned(bytes))
            }
            (Bytes::Beside(_), Source::Bin) => None,
        }
    }

    fn accessor(&self, accessor: &Accessor) -> Result<(), ClaimError> {
        let what = format!("accessor {}", accessor.index());
        let count = accessor.count() as u64;
        let size = accessor.size() as u64;
        match accessor.view() {
            Some(view) => {
                let stride = view.stride().map_or(size, |stride| stride as u64);
                self.fits(&what, &view, accessor.offset() as u64, count, stride, size)?;
            }
            None if accessor.sparse().is_some() && count > MAX_SPARSE => {
                let accessor = accessor.index();
                return Err(ClaimError::HugeSparse { accessor, count });
            }
            None => {}
        }
        let Some(sparse) = accessor.sparse() else { return Ok(()) };
        let count = sparse.count() as u64;
        let (indices, values) = (sparse.indices(), sparse.values());
        let index = match indices.index_type() {
            IndexType::U8 => DataType::U8,
            IndexType::U16 => DataType::U16,
            IndexType::U32 => DataType::U32,
        };
        let index = index.size() as u64;
        self.fits(&what, &indices.view(), indices.offset() as u64, count, index, index)?;
        self.fits(&what, &values.view(), values.offset() as u64, count, size, size)
    }

    /// Whether so many elements lie in the view, and the view in its buffer.
    fn fits(&self, what: &str, view: &View, offset: u64, count: u64, stride: u64, size: u64) -> Result<(), ClaimError> {
        let Some(last) = count.checked_sub(1) else {
            return Ok(());
        };
        let needed = last.saturating_mul(stride).saturating_add(size).saturating_add(offset);
        let there = view.length() as u64;
        if needed > there {
            return Err(ClaimError::OutOfBounds {
                what: what.to_owned(),
                within: format!("buffer view {}", view.index()),
                needed,
                there,
            });
        }
        self.within_buffer(what, view)
    }

    fn within_buffer(&self, what: &str, view: &View) -> Result<(), ClaimError> {
        let needed = (view.offset() as u64).saturating_add(view.length() as u64);
        let there = match self.buffers.get(view.buffer().index()) {
            Some(Some(Bytes::Here(bytes))) => Some(bytes.len() as u64),
            Some(Some(Bytes::Beside(length))) => Some(*length),
            Some(None) | None => None,
        };
        let Some(there) = there.filter(|there| needed > *there) else {
            return Ok(());
        };
        Err(ClaimError::OutOfBounds {
            what: what.to_owned(),
            within: format!("buffer {}", view.buffer().index()),
            needed,
            there,
        })
    }
}

/// The file that a URI names.
fn beside(folder: &Path, uri: &str) -> Option<PathBuf> {
    let uri = percent_decode_str(uri).decode_utf8().ok()?;
    Some(folder.join(&*uri))
}

/// The bytes that a URI itself holds, if it does.
fn inside(uri: &str) -> Option<Vec<u8>> {
    let uri = percent_decode_str(uri).decode_utf8().ok()?;
    inline(uri.strip_prefix("data:")?)
}

/// Those that Bevy's loader reads, by index.
fn used_accessors(gltf: &Gltf) -> BTreeMap<usize, Accessor<'_>> {
    let primitives = gltf.meshes().flat_map(|mesh| mesh.primitives());
    let of_meshes = primitives.flat_map(|primitive| {
        let targets = primitive.morph_targets();
        let targets = targets.flat_map(|target| [target.positions(), target.normals(), target.tangents()]);
        let attributes = primitive.attributes().map(|(_, accessor)| accessor);
        let all: Vec<Accessor> = attributes.chain(primitive.indices()).chain(targets.flatten()).collect();
        all
    });
    let samplers = gltf.animations().flat_map(|animation| animation.samplers());
    let of_animations = samplers.flat_map(|sampler| [sampler.input(), sampler.output()]);
    let of_skins = gltf.skins().filter_map(|skin| skin.inverse_bind_matrices());
    let all = of_meshes.chain(of_animations).chain(of_skins);
    all.map(|accessor| (accessor.index(), accessor)).collect()
}

/// What is below a node, itself included.
#[derive(Clone, Copy, Default)]
struct Below {
    depth: u32,
    entities: u64,
}

/// `known` are nodes of other scenes.
fn scene_size(scene: &Scene, known: &mut [Option<Below>]) -> Result<(), ClaimError> {
    let mut all = Below::default();
    for root in scene.nodes() {
        let below = node_size(root, known).map_err(|node| ClaimError::Circle {
            scene: scene.index(),
            node,
        })?;
        all.depth = all.depth.max(below.depth);
        all.entities = all.entities.saturating_add(below.entities);
    }
    let scene = scene.index();
    if all.depth > MAX_NODE_DEPTH {
        let depth = all.depth;
        return Err(ClaimError::DeepNodes { scene, depth });
    }
    if all.entities > MAX_SCENE_ENTITIES {
        let count = all.entities;
        return Err(ClaimError::ManyNodes { scene, count });
    }
    Ok(())
}

/// Without recursion: that is what it is for. A node that is below itself is an error: Bevy's loader looks for one only when it has
/// followed it for a while.
fn node_size(root: Node, known: &mut [Option<Below>]) -> Result<Below, usize> {
    let top = root.index();
    let mut open = vec![(root, false)];
    while let Some((node, is_left)) = open.pop() {
        let index = node.index();
        if is_left {
            let children = node.children().filter_map(|child| known[child.index()]);
            let sum = children.fold(Below { depth: 0, entities: 1 }, |sum, child| Below {
                depth: sum.depth.max(child.depth),
                entities: sum.entities.saturating_add(child.entities),
            });
            known[index] = Some(Below {
                depth: sum.depth.saturating_add(1),
                ..sum
            });
        } else if known[index].is_none() {
            // Entered, and not left.
            known[index] = Some(Below::default());
            let children: Vec<_> = node.children().map(|child| (child, false)).collect();
            let is_above = |child: &Node| known[child.index()].is_some_and(|below| below.depth == 0);
            if children.iter().any(|(child, _)| is_above(child)) {
                return Err(index);
            }
            open.push((node, true));
            open.extend(children);
        }
    }
    Ok(known[top].unwrap_or_default())
}
