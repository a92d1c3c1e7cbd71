//! Writes KTX2 files, as sound or as odd as a test wants them.

use ktx2::{Format, Header, Index, LevelIndex, SupercompressionScheme};

/// A file to be written.
#[derive(Clone)]
pub struct Ktx2 {
    /// `None`: its texels are to be made into others.
    pub format: Option<Format>,
    /// Width, height, and depth, which is 0 where it is no volume.
    pub size: [u32; 3],
    /// 0 where it is no array.
    pub layers: u32,
    pub faces: u32,
    /// The largest first.
    pub levels: Vec<Vec<u8>>,
    pub scheme: Option<SupercompressionScheme>,
}

impl Ktx2 {
    /// A picture with these mips, each as it is.
    pub fn new(format: Format, width: u32, height: u32, levels: Vec<Vec<u8>>) -> Self {
        Self {
            format: Some(format),
            size: [width, height, 0],
            layers: 0,
            faces: 1,
            levels,
            scheme: None,
        }
    }

    /// The same with each mip as a frame.
    pub fn zstd(mut self) -> Self {
        self.scheme = Some(SupercompressionScheme::Zstandard);
        self
    }

    /// The bytes of the file: the smallest mip comes first.
    pub fn bytes(&self) -> Vec<u8> {
        let pack = |level: &Vec<u8>| match self.scheme {
            Some(SupercompressionScheme::Zstandard) => zstd::encode_all(&**level, 3).unwrap(),
            _ => level.clone(),
        };
        let stored: Vec<Vec<u8>> = self.levels.iter().map(pack).collect();
        let dfd = dfd();
        let dfd_offset = Header::LENGTH + LevelIndex::LENGTH * stored.len();
        let header = Header {
            format: self.format,
            type_size: 1,
            pixel_width: self.size[0],
            pixel_height: self.size[1],
            pixel_depth: self.size[2],
            layer_count: self.layers,
            face_count: self.faces,
            level_count: stored.len() as u32,
            supercompression_scheme: self.scheme,
            index: Index {
                dfd_byte_offset: dfd_offset as u32,
                dfd_byte_length: dfd.len() as u32,
                kvd_byte_offset: 0,
                kvd_byte_length: 0,
                sgd_byte_offset: 0,
                sgd_byte_length: 0,
            },
        };
        let mut body = dfd;
        let mut index = Vec::new();
        for (level, raw) in stored.iter().zip(&self.levels).rev() {
            body.resize((dfd_offset + body.len()).next_multiple_of(16) - dfd_offset, 0);
            index.push(LevelIndex {
                byte_offset: (dfd_offset + body.len()) as u64,
                byte_length: level.len() as u64,
                uncompressed_byte_length: raw.len() as u64,
            });
            body.extend(level);
        }
        let index = index.iter().rev().flat_map(LevelIndex::as_bytes);
        header.as_bytes().into_iter().chain(index).chain(body).collect()
    }
}

/// A data format descriptor that says nothing of its samples.
fn dfd() -> Vec<u8> {
    let mut dfd = 28_u32.to_le_bytes().to_vec();
    dfd.extend(0_u32.to_le_bytes());
    dfd.extend(2_u16.to_le_bytes());
    dfd.extend(24_u16.to_le_bytes());
    dfd.extend([1, 1, 1, 0]);
    dfd.extend([0; 4]);
    dfd.extend([4, 0, 0, 0, 0, 0, 0, 0]);
    dfd
}

/// All mips of a picture; each has bytes of its own.
pub fn mips(width: u32, height: u32, block: u32, block_bytes: u32) -> Vec<Vec<u8>> {
    let mips = 0..=width.max(height).ilog2();
    let bytes = |mip: u32| {
        let blocks = |side: u32| (side >> mip).max(1).div_ceil(block);
        let bytes = blocks(width) * blocks(height) * block_bytes;
        (0..bytes).map(|at| (at / 61 + at % 7 * 31 + mip * 17) as u8).collect()
    };
    mips.map(bytes).collect()
}
