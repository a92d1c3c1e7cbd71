use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{
    stage::{StageError, check, padded},
    whole::tail_alone,
};
use crate::mip::{MipChain, textures::tests::apart};

fn chain(width: u32, height: u32, layers: u32, format: TextureFormat) -> MipChain {
    let size = Extent3d {
        width,
        height,
        depth_or_array_layers: layers,
    };
    let mips = width.max(height).ilog2() + 1;
    MipChain::new(size, TextureDimension::D2, 1, format, mips, 2).unwrap()
}

#[test]
fn rows_begin_where_copies_need_them() {
    for (chain, row) in [
        (chain(300, 5, 3, TextureFormat::R8Unorm), 300),
        (chain(256, 64, 1, TextureFormat::Rgba8Unorm), 1024),
        (chain(48, 16, 2, TextureFormat::Bc7RgbaUnorm), 192),
    ] {
        let bytes = chain.payload_bytes(0) as usize;
        let payload: Vec<u8> = (0..bytes).map(|byte| 1 + (byte % 255) as u8).collect();
        let (padded, layout) = (padded(&chain, 0, &payload), chain.staging(0));
        assert_eq!(padded.len() as u64, layout.bytes);
        let rows = padded.chunks(layout.bytes_per_row as usize);
        for (place, found) in rows.enumerate() {
            assert_eq!(found[..row], payload[place * row..][..row], "row {place}");
            assert!(found[row..].iter().all(|byte| *byte == 0));
        }
    }
}

#[test]
fn payloads_that_are_not_the_mips_are_named() {
    let chain = chain(64, 64, 1, TextureFormat::R8Unorm);
    let (fine, coarse) = (vec![0; 64 * 64], vec![0; 32 * 32]);
    assert_eq!(check(&chain, 0..2, &[&fine, &coarse]), Ok(()));
    assert_eq!(check(&chain, 1..2, &[&coarse]), Ok(()));
    let wrong = |mip, found, needed| Err(StageError::Size { mip, found, needed });
    assert_eq!(check(&chain, 0..2, &[&fine, &fine]), wrong(1, 4096, 1024));
    assert_eq!(check(&chain, 0..2, &[&fine]), wrong(1, 0, 1024));
    assert_eq!(check(&chain, 0..1, &[&fine[1..]]), wrong(0, 4095, 4096));
}

#[test]
fn what_cannot_be_read_is_drawn_with_its_tail() {
    // The tail of the first begins with 62 texels, of which the blocks are not whole; its last mip that might be a base is a payload.
    for (width, height, expected) in [
        (1000, 1000, (4, 4, 1, 9)),
        (1024, 4, (4, 4, 1, 10)),
        (512, 512, (64, 64, 7, 3)),
    ] {
        let apart = apart(width, height, TextureFormat::Bc7RgbaUnorm);
        let image = tail_alone(&apart);
        let texture = &image.texture_descriptor;
        let data = image.data.as_ref().unwrap();
        let found = (
            texture.size.width,
            texture.size.height,
            texture.mip_level_count,
            data[0],
        );
        assert_eq!(found, expected);
        let blocks = |mip: u32| u64::from((texture.size.width >> mip).max(1).div_ceil(4)).pow(2);
        let needed: u64 = (0..texture.mip_level_count).map(|mip| blocks(mip) * 16).sum();
        assert_eq!(data.len() as u64, needed);
    }
}
