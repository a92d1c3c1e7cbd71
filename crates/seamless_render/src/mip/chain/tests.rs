use proptest::prelude::*;

use super::*;

const FORMATS: [TextureFormat; 6] = [
    TextureFormat::Rgba8UnormSrgb,
    TextureFormat::R8Unorm,
    TextureFormat::Rgba16Float,
    TextureFormat::Bc1RgbaUnorm,
    TextureFormat::Bc7RgbaUnormSrgb,
    TextureFormat::Astc {
        block: wgpu_types::AstcBlock::B6x5,
        channel: wgpu_types::AstcChannel::Unorm,
    },
];

fn size(width: u32, height: u32, layers: u32) -> Extent3d {
    Extent3d {
        width,
        height,
        depth_or_array_layers: layers,
    }
}

fn chain(width: u32, height: u32, format: TextureFormat, tail: u32) -> Result<MipChain, NotStreamed> {
    let mips = width.max(height).ilog2() + 1;
    MipChain::new(size(width, height, 1), TextureDimension::D2, 1, format, mips, tail)
}

fn tops(chain: &MipChain) -> Vec<u8> {
    chain.tops().collect()
}

#[test]
fn powers_of_two_begin_anywhere_above_the_tail() {
    let chain = chain(2048, 1024, TextureFormat::Bc7RgbaUnorm, 5).unwrap();
    assert_eq!(tops(&chain), [0, 1, 2, 3, 4, 5]);
    assert_eq!((chain.floor(), chain.side(5), chain.mips()), (5, 64, 12));
    assert_eq!(chain.payload_bytes(0), 2048 * 1024);
    // The last mips are a block each.
    assert_eq!(chain.payload_bytes(11), 16);
    assert_eq!(chain.bytes(12), 0);
    assert_eq!(
        chain.staging(5),
        Layout {
            bytes_per_row: 256,
            rows_per_image: 8,
            bytes: 2048
        }
    );
    assert_eq!(chain.staging_bytes(2, 0), 2048 * 1024 + 1024 * 512);
    assert_eq!(chain.staging_bytes(0, 2), 0);
}

#[test]
fn blocks_decide_what_may_be_a_base() {
    let bc = TextureFormat::Bc1RgbaUnorm;
    assert_eq!(tops(&chain(1000, 1000, bc, 6).unwrap()), [0, 1]);
    assert_eq!(chain(1024, 4, bc, 6), Err(NotStreamed::OneTop));
    assert_eq!(tops(&chain(4096, 16, bc, 9).unwrap()), [0, 1, 2]);
    // 2056, 1028, 514, 257, 128: some between may not.
    let odd = chain(2056, 2056, bc, 6).unwrap();
    assert_eq!(tops(&odd), [0, 1, 4, 5, 6]);
    assert_eq!(
        (odd.coarser(1), odd.coarser(6), odd.coarser(200)),
        (Some(4), None, None)
    );
    assert_eq!(
        [0, 1, 2, 3, 4, 5, 6, 7, 15, 255].map(|mip| odd.top_for(mip)),
        [0, 1, 1, 1, 4, 5, 6, 6, 6, 6]
    );
    assert_eq!(chain(1002, 1000, bc, 6), Err(NotStreamed::BaseMip { block: (4, 4) }));
    assert_eq!(tops(&chain(1002, 1, TextureFormat::R8Unorm, 3).unwrap()), [0, 1, 2, 3]);
}

#[test]
fn what_does_not_stream_says_why() {
    let format = TextureFormat::Rgba8Unorm;
    let d2 = TextureDimension::D2;
    let new =
        |size, dimension, samples, format, mips, tail| MipChain::new(size, dimension, samples, format, mips, tail);
    let square = size(64, 64, 1);
    assert_eq!(
        new(square, TextureDimension::D3, 1, format, 7, 3),
        Err(NotStreamed::Dimension)
    );
    assert_eq!(
        new(square, TextureDimension::D1, 1, format, 7, 3),
        Err(NotStreamed::Dimension)
    );
    assert_eq!(new(square, d2, 4, format, 1, 0), Err(NotStreamed::Multisampled));
    assert_eq!(new(size(0, 64, 1), d2, 1, format, 7, 3), Err(NotStreamed::Size));
    assert_eq!(new(size(64, 65_536, 1), d2, 1, format, 7, 3), Err(NotStreamed::Size));
    assert_eq!(new(size(64, 64, 0), d2, 1, format, 7, 3), Err(NotStreamed::Size));
    assert_eq!(
        new(square, d2, 1, format, 8, 3),
        Err(NotStreamed::Mips { mips: 8, most: 7 })
    );
    assert_eq!(
        new(square, d2, 1, format, 0, 0),
        Err(NotStreamed::Mips { mips: 0, most: 7 })
    );
    for depth in [
        TextureFormat::Depth32Float,
        TextureFormat::Depth24PlusStencil8,
        TextureFormat::NV12,
    ] {
        assert_eq!(new(square, d2, 1, depth, 7, 3), Err(NotStreamed::Format(depth)));
    }
    assert_eq!(new(square, d2, 1, format, 1, 1), Err(NotStreamed::OneTop));
    assert_eq!(
        new(square, d2, 1, format, 7, 0),
        Err(NotStreamed::OneTop),
        "nothing is apart"
    );
    let named = NotStreamed::Mips { mips: 8, most: 7 }.to_string();
    assert!(named.contains("8 mips") && named.contains("cook it again"), "{named}");
}

#[test]
fn the_largest_texture_does_not_overflow() {
    let side = MipChain::MAX_SIDE;
    let size = size(side, side, MipChain::MAX_LAYERS);
    let chain = MipChain::new(size, TextureDimension::D2, 1, TextureFormat::Rgba32Float, 16, 15).unwrap();
    assert_eq!((chain.floor(), chain.top_for(15), chain.coarser(15)), (15, 15, None));
    assert_eq!(chain.bytes(15), 16 * u64::from(MipChain::MAX_LAYERS));
    assert!(chain.bytes(0) > 1 << 46);
    assert_eq!(chain.staging(0).bytes, chain.payload_bytes(0));
}

/// Any texture that streams.
fn any_chain() -> impl Strategy<Value = MipChain> {
    let sides = prop_oneof![
        1..3000_u32,
        (0..13_u32).prop_map(|bits| 1 << bits),
        (1..600_u32).prop_map(|n| n * 4)
    ];
    let shape = (sides.clone(), sides, 1..7_u32, 0..FORMATS.len(), 1..14_u32, 0..14_u32);
    shape.prop_filter_map("it streams", |(width, height, layers, format, mips, tail)| {
        let mips = mips.min(width.max(height).ilog2() + 1);
        MipChain::new(
            size(width, height, layers),
            TextureDimension::D2,
            1,
            FORMATS[format],
            mips,
            tail,
        )
        .ok()
    })
}

proptest! {
    #[test]
    fn finer_takes_more(chain in any_chain()) {
        let tops = tops(&chain);
        prop_assert!(tops.len() >= 2 && tops[0] == 0);
        prop_assert!(tops.windows(2).all(|pair| chain.coarser(pair[0]) == Some(pair[1])));
        prop_assert_eq!(chain.coarser(chain.floor()), None);
        prop_assert_eq!(tops.last(), Some(&chain.floor()));
        for mip in 0..chain.mips() {
            prop_assert!(chain.bytes(mip) > chain.bytes(mip + 1));
            prop_assert!(chain.staging(mip).bytes >= chain.payload_bytes(mip));
            prop_assert!(chain.staging(mip).bytes_per_row.is_multiple_of(256));
            let finest = tops.iter().rev().find(|top| **top <= mip);
            prop_assert_eq!(finest, Some(&chain.top_for(mip)));
        }
    }

    /// The mips of a texture that begins at a top are those of the whole one, in size.
    #[test]
    fn a_top_has_the_mips_of_the_whole(chain in any_chain()) {
        for top in chain.tops() {
            let base = chain.extent(top);
            for mip in top..chain.mips() {
                let half = |side: u32| (side >> (mip - top)).max(1);
                let is = chain.extent(mip);
                prop_assert_eq!((half(base.width), half(base.height)), (is.width, is.height));
            }
            let (width, height) = chain.block;
            prop_assert!(base.width.is_multiple_of(width) && base.height.is_multiple_of(height));
            prop_assert!(u32::from(chain.mips() - top) <= base.width.max(base.height).ilog2() + 1);
        }
    }

    /// What is copied and what is staged are each mip of the new texture, once.
    #[test]
    fn each_mip_comes_once(chain in any_chain(), from in 0..16_usize, to in 0..16_usize) {
        let tops = tops(&chain);
        let (from, to) = (tops[from % tops.len()], tops[to % tops.len()]);
        let mut mips = vec![];
        for copy in chain.copies(from, to) {
            prop_assert_eq!(copy.src_mip + u32::from(from), copy.dst_mip + u32::from(to));
            let (width, height) = chain.block;
            let is = chain.extent(to + copy.dst_mip as u8);
            prop_assert_eq!(copy.extent.width, is.width.next_multiple_of(width));
            prop_assert_eq!(copy.extent.height, is.height.next_multiple_of(height));
            mips.push(copy.dst_mip as u8 + to);
        }
        let staged: Vec<u8> = (to..from).collect();
        let bytes: u64 = staged.iter().map(|mip| chain.staging(*mip).bytes).sum();
        prop_assert_eq!(bytes, chain.staging_bytes(from, to));
        prop_assert_eq!(chain.change_bytes(from, to), bytes + chain.bytes(to));
        mips.extend(staged);
        mips.sort_unstable();
        prop_assert_eq!(mips, (to..chain.mips()).collect::<Vec<_>>());
    }
}
