use core::time::Duration;

use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{
    MipReads, WholeReads,
    stage::{StageError, bytes, check, padded},
    whole::tail_alone,
};
use crate::mip::{
    MipChain,
    textures::tests::{apart, apart_of, id, parts},
};

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
        let image = tail_alone(&parts(apart));
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

#[test]
fn a_mip_that_failed_is_tried_again_though_coarser_ones_are_read() {
    let (mut reads, at) = (MipReads::default(), Duration::from_secs);
    assert!(reads.fail(3, 0, at(0)));
    reads.succeed(3, 1);
    assert!(reads.take_due(at(0)).is_empty());
    assert_eq!(reads.take_due(at(1)), [3]);
    assert!(!reads.fail(3, 0, at(1)), "it is no news");
    reads.succeed(3, 0);
    assert!(reads.take_due(at(99)).is_empty(), "it was read");
    assert!(reads.fail(3, 0, at(99)), "another trouble");
}

#[test]
fn a_buffer_is_no_larger_than_the_device_has_them() {
    let chain = chain(64, 64, 1, TextureFormat::R8Unorm);
    let needed = chain.staging(0).bytes + chain.staging(1).bytes;
    assert_eq!(bytes(&chain, 0..2, needed), Ok(needed));
    assert_eq!(bytes(&chain, 0..2, needed - 1), Err(StageError::Refused));
}

#[test]
fn the_tail_of_a_volume_is_as_deep_as_its_mips() {
    let size = Extent3d {
        width: 128,
        height: 8,
        depth_or_array_layers: 8,
    };
    let image = tail_alone(&parts(apart_of(size, TextureDimension::D3, TextureFormat::R8Unorm)));
    let half = Extent3d {
        width: 64,
        height: 4,
        depth_or_array_layers: 4,
    };
    assert_eq!(image.texture_descriptor.size, half);
    let data = image.data.unwrap();
    assert_eq!(data.len(), 64 * 4 * 4 + 32 * 2 * 2 + 16 + 8 + 4 + 2 + 1);
    assert_eq!((data[0], data[1023], data[1024]), (1, 1, 2));
}

/// A double that cannot be read twice, then is.
#[test]
fn an_image_that_is_to_be_whole_is_tried_again() {
    let (mut wholes, at) = (WholeReads::default(), Duration::from_secs);
    let image = parts(apart(128, 128, TextureFormat::R8Unorm));
    wholes.ask(id(1), image);
    let bytes = wholes.coming_bytes();
    assert!(bytes > 128 * 128 && bytes < 2 * 128 * 128);
    for (now, is_news, pause) in [(0, true, 1), (1, false, 4)] {
        let of = wholes.take_asked().pop().expect("it is asked for");
        assert_eq!(wholes.fail(&of, at(now)), is_news);
        wholes.try_again(at(now + pause - 1));
        assert!(wholes.take_asked().is_empty(), "not before its time");
        assert!(wholes.is_coming(id(1)));
        wholes.try_again(at(now + pause));
        wholes.try_again(at(now + pause));
    }
    let of = wholes.take_asked();
    assert_eq!(of.len(), 1, "once");
    wholes.succeed(of[0].clone());
    assert_eq!(wholes.mended(), [id(1)]);
    wholes.try_again(at(99));
    assert!(wholes.is_idle() && !wholes.is_coming(id(1)));
    // One that has gone is not tried again.
    wholes.fail(&of[0], at(99));
    wholes.stop(id(1));
    wholes.try_again(at(999));
    assert!(wholes.is_idle());
}

#[test]
fn an_image_that_is_whole_is_read_again_on_another_device() {
    let mut wholes = WholeReads::default();
    wholes.ask(id(1), parts(apart(128, 128, TextureFormat::R8Unorm)));
    let bytes = wholes.coming_bytes();
    let of = wholes.take_asked().pop().expect("it is asked for");
    wholes.succeed(of);
    assert!(!wholes.is_coming(id(1)));
    // Once, however many devices there are.
    (0..2).for_each(|_| wholes.lost());
    assert!(wholes.is_coming(id(1)));
    assert_eq!(
        wholes.coming_bytes(),
        2 * bytes,
        "the first was taken, and is not counted off here"
    );
    wholes.cancel(id(1));
    wholes.lost();
    assert!(wholes.is_idle() && wholes.coming_bytes() == bytes, "it has gone");
}

#[test]
fn few_whole_images_are_read_at_once() {
    let mut wholes = WholeReads::default();
    for number in 0..20 {
        wholes.ask(id(number), parts(apart(128, 128, TextureFormat::R8Unorm)));
    }
    let taken: Vec<_> = wholes.take_asked().into_iter().map(|of| of.id).collect();
    assert_eq!(taken, (0..8).map(id).collect::<Vec<_>>());
    assert!(!wholes.is_idle() && wholes.is_coming(id(19)));
}
