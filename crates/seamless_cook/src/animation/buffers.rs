//! The buffers of a glTF file that its animations are in.

use std::collections::{BTreeMap, BTreeSet};

use base64::{Engine, prelude::BASE64_STANDARD};
use gltf::{Accessor, Buffer, Gltf, buffer::Source};
use percent_encoding::percent_decode_str;

use super::ClipFileError;

/// Bytes by the index of the buffer.
pub(super) struct Buffers(BTreeMap<usize, Vec<u8>>);

impl Buffers {
    /// Reads what the animations need, and no more: pictures and vertices are often in other files.
    pub fn read<E: std::error::Error + 'static>(
        gltf: &Gltf,
        mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
    ) -> Result<Self, ClipFileError<E>> {
        let needed = needed(gltf);
        let mut buffers = BTreeMap::new();
        for buffer in gltf.buffers().filter(|buffer| needed.contains(&buffer.index())) {
            let index = buffer.index();
            let bytes = match buffer.source() {
                Source::Bin => gltf.blob.clone().ok_or(ClipFileError::NoBinary(index))?,
                Source::Uri(uri) => {
                    let uri = percent_decode_str(uri).decode_utf8();
                    let uri = uri.map_err(|_| ClipFileError::Encoding(index))?;
                    match uri.strip_prefix("data:") {
                        Some(data) => inline(data).ok_or(ClipFileError::Encoding(index))?,
                        None => read(&uri).map_err(|error| ClipFileError::Read {
                            buffer: index,
                            path: uri.into_owned(),
                            error,
                        })?,
                    }
                }
            };
            buffers.insert(index, bytes);
        }
        Ok(Self(buffers))
    }

    /// The bytes of a buffer of this file.
    pub fn get(&self, buffer: &Buffer) -> Option<&[u8]> {
        self.0.get(&buffer.index()).map(Vec::as_slice)
    }
}

/// What follows `data:`, by Bevy's rules.
pub(crate) fn inline(data: &str) -> Option<Vec<u8>> {
    let (kind, data) = data.split_once(',')?;
    match kind.ends_with(";base64") {
        true => BASE64_STANDARD.decode(data).ok(),
        false => Some(data.as_bytes().to_vec()),
    }
}

fn needed(gltf: &Gltf) -> BTreeSet<usize> {
    let samplers = gltf.animations().flat_map(|animation| animation.samplers());
    let accessors = samplers.flat_map(|sampler| [sampler.input(), sampler.output()]);
    accessors.flat_map(|accessor| buffers_of(&accessor)).collect()
}

fn buffers_of(accessor: &Accessor) -> Vec<usize> {
    let sparse = accessor.sparse();
    let sparse = sparse.map(|sparse| [sparse.indices().view(), sparse.values().view()]);
    let views = accessor.view().into_iter().chain(sparse.into_iter().flatten());
    views.map(|view| view.buffer().index()).collect()
}
