use bevy_asset::uuid::Uuid;
use smallvec::smallvec;

use super::*;

fn image(number: u128) -> AssetId<Image> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    }
}

/// A texture of 1024 texels and one of 256, by one layer, and one of 512 by another.
fn draw(number: u32) -> TruthDraw {
    let texture = |number: u128, mips: u8, layer: u8, offset: f32| TruthUse {
        image: image(number),
        mips,
        top: 1,
        layer,
        offset,
    };
    let layer = |number: u32, side: f32| TruthLayer {
        number,
        channel: 0,
        side,
        predicted: -7.0,
    };
    TruthDraw {
        entity: Entity::from_raw_u32(number).expect("it is a number"),
        layers: smallvec![layer(2 * number, 10.0), layer(2 * number + 1, 9.0)],
        uses: smallvec![texture(1, 11, 0, 0.0), texture(2, 9, 0, -2.0), texture(3, 10, 1, 0.0)],
    }
}

fn pixel(draw: u32, mips: [f32; 2]) -> [u32; 2] {
    let [first, second] = mips.map(|mip| (mip * PARTS) as u32);
    [draw, first | second << 16]
}

fn picture(pixels: Vec<[u32; 2]>) -> TruthPicture {
    TruthPicture {
        camera: Entity::PLACEHOLDER,
        width: 2,
        height: 2,
        scale: 4,
        draws: vec![draw(0), draw(1), draw(2)],
        unknown: HashSet::from_iter([4]),
        pixels,
    }
}

#[test]
fn each_pixel_tells_all_its_textures() {
    let picture = picture(vec![
        [0, 0],
        pixel(1, [3.5, 0.5]),
        pixel(2, [0.0, 8.0]),
        pixel(9, [0.0, 0.0]),
    ]);
    assert!(picture.at(0, 0).is_none(), "the sky");
    assert!(picture.at(1, 1).is_none(), "a draw that is none");
    assert!(picture.at(2, 0).is_none() && picture.at(0, 2).is_none(), "outside");
    let (entity, uses) = picture.at(1, 0).expect("it is there");
    assert_eq!(entity, Entity::from_raw_u32(0).expect("it is a number"));
    let mips: Vec<f32> = uses.map(|(_, mip)| mip).collect();
    assert_eq!(mips, [3.5, 1.5, 0.5]);
    let (_, uses) = picture.at(0, 1).expect("it is there");
    let mips: Vec<f32> = uses.map(|(_, mip)| mip).collect();
    assert_eq!(mips, [0.0, 0.0, 8.0], "none is finer than the finest");
}

#[test]
fn a_pixel_lacks_what_is_finer_than_the_finest() {
    let near = TRUTH_TOLERANCE / 2.0;
    let picture = picture(vec![
        pixel(1, [3.0, 1.0]),
        // Of the smaller texture.
        pixel(1, [2.5, 1.0]),
        // The GPU is no more exact.
        pixel(2, [3.0 - near, 1.0 - near]),
        [0, 0],
    ]);
    assert_eq!(picture.accuracy(), TruthAccuracy { pixels: 3, lacking: 1 });
    let needed = picture.needed();
    assert_eq!((needed[&image(1)], needed[&image(2)], needed[&image(3)]), (2, 0, 1));
}

#[test]
fn layers_tell_the_finest_and_how_much_is_seen() {
    let picture = picture(vec![
        pixel(1, [3.0, 1.0]),
        pixel(1, [2.0, 1.5]),
        [0, 0],
        pixel(3, [1.0, 1.0]),
    ]);
    let layers = picture.layers();
    let area = 2.0 * 16.0;
    assert_eq!(
        layers[&0],
        LayerTruth {
            lod: -8.0,
            predicted: -7.0,
            area
        }
    );
    assert_eq!(
        layers[&1],
        LayerTruth {
            lod: -8.0,
            predicted: -7.0,
            area
        }
    );
    assert_eq!(
        (layers[&2].lod, layers[&2].area),
        (f32::INFINITY, 0.0),
        "drawn, and not seen"
    );
    assert!(
        !layers.contains_key(&4),
        "something else shows it that is not in the picture"
    );
    assert_eq!(layers[&5].lod, -8.0);
}

#[test]
fn colours_tell_what_lacks_most() {
    // The finest mip that is there is 1: of each pixel, the texture that lacks most decides.
    let of = |first: f32, second: f32| picture(vec![pixel(1, [first, second]); 4]).colours();
    let first = |colours: Vec<u8>| [colours[0], colours[1], colours[2]];
    assert_eq!(of(3.0, 1.0).len(), 16);
    assert_eq!(first(of(3.0, 1.0)), [60, 170, 80], "as fine as sampled");
    assert_eq!(first(of(5.0, 0.5)), [235, 200, 60], "a mip is lacking");
    assert_eq!(first(of(4.0, 2.0)), [80, 150, 200], "a mip more than is needed");
    assert_eq!(first(of(7.0, 8.0)), [60, 80, 200]);
    assert_eq!(picture(vec![[0, 0]]).colours(), [0, 0, 0, 255]);
}
