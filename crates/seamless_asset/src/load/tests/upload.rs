//! What is handed to Bevy for the GPU is paced.

use bevy_image::Image;
use bevy_reflect::TypePath;
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::{build::asset_object, gated::until_all_is_brought, *};
use crate::codec::{AssetCodec, DecodeContext, EncodeError, EncodedAsset};

const LEVELS: usize = 12;

/// Texels across and down an image, and what these take.
const SIDE: u32 = 8;
const PIXELS: u64 = 4 * (SIDE * SIDE) as u64;

/// Much more than all that a renderer takes here.
const NOTES: u64 = 100_000;

/// What no renderer takes anything of.
#[derive(Asset, TypePath)]
struct Score(Vec<u8>);

struct ScoreCodec;

impl AssetCodec for ScoreCodec {
    type Asset = Score;
    const VERSION: u32 = 1;

    fn is_rendered(_: &Score) -> bool {
        false
    }

    fn encode(score: &Score, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        Ok(EncodedAsset {
            data: score.0.clone(),
            bulk: vec![],
        })
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Score, DecodeError> {
        Ok(Score(data.to_vec()))
    }
}

/// An app whose levels wait for nothing but the bytes of their meshes, one each.
fn levels(dir: &Dir) -> (App, Vec<InstanceRequest>) {
    let app = app_with_time(dir);
    let put_level = |index: usize| {
        let name = format!("{index}.pkg");
        put(dir, &name, chain(&app, &name, 3, None));
        request(&name, &[])
    };
    let levels = (0..LEVELS).map(put_level).collect();
    (app, levels)
}

/// One level, with a package that has a mesh, a score and an image, in this order.
fn mixed(dir: &Dir) -> (App, Vec<InstanceRequest>) {
    let mut app = app_with(dir, |app| {
        app.init_asset::<Image>()
            .init_asset::<Score>()
            .add_asset_codec::<ScoreCodec>();
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    let mut writer = new_package(&app, "mixed.pkg");
    mesh_object(&mut writer, &app, None);
    asset_object(&mut writer, &app, "Score", Score(vec![7; NOTES as usize]), vec![]);
    asset_object(&mut writer, &app, "Image", image(), vec![]);
    put(dir, "mixed.pkg", writer.finish().unwrap());
    put(dir, "a.pkg", chain(&app, "a.pkg", 3, Some("mixed.pkg")));
    (app, vec![request("a.pkg", &["mixed.pkg"])])
}

fn image() -> Image {
    let size = Extent3d {
        width: SIDE,
        height: SIDE,
        depth_or_array_layers: 1,
    };
    let pixels = vec![9; PIXELS as usize];
    let format = TextureFormat::Rgba8UnormSrgb;
    Image::new(size, TextureDimension::D2, pixels, format, RenderAssetUsages::default())
}

/// Loads levels with so many bytes a frame. What went in each frame that had any, and in how many frames something waited.
fn uploads((mut app, levels): (App, Vec<InstanceRequest>), most: u64) -> (Vec<u64>, u64) {
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.upload_bytes_per_frame, settings.max_loads_in_flight) = (most, 64);
    let mut streamer = app.world_mut().resource_mut::<Streamer>();
    let ids: Vec<_> = levels.into_iter().map(|level| streamer.load(level)).collect();
    app.update();
    until_all_is_brought(&app);
    let mut each = Vec::new();
    run_until(&mut app, |world| {
        each.push(world.resource::<StreamingStats>().uploaded_last);
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let stats = app.world().resource::<StreamingStats>();
    each.retain(|bytes| *bytes > 0);
    assert_eq!(stats.uploaded_bytes, each.iter().sum::<u64>());
    (each, stats.upload_waits)
}

#[test]
fn no_frame_has_more_than_the_cap() {
    let dir = Dir::default();
    let (each, waits) = uploads(levels(&dir), u64::MAX);
    assert_eq!((each.len(), waits), (1, 0), "nothing holds anything back: {each:?}");
    let all = each[0];
    let one = all / LEVELS as u64;
    assert!(one > 0 && all.is_multiple_of(one), "meshes of one size: {each:?}");
    let (each, waits) = uploads(levels(&dir), 3 * one);
    assert_eq!(each, [3 * one; LEVELS / 3]);
    assert_eq!(waits, each.len() as u64 - 1, "after the last, nothing is left");
}

#[test]
fn what_is_larger_than_the_cap_goes_alone() {
    let dir = Dir::default();
    let (each, waits) = uploads(levels(&dir), 1);
    assert_eq!(each.len(), LEVELS, "{each:?}");
    assert!(each.iter().all(|bytes| *bytes == each[0]));
    assert_eq!(waits, LEVELS as u64 - 1);
}

/// It comes in whichever frame, however full.
#[test]
fn what_no_renderer_takes_is_no_upload() {
    let dir = Dir::default();
    let (each, waits) = uploads(mixed(&dir), u64::MAX);
    assert_eq!((each.len(), waits), (1, 0), "{each:?}");
    let all = each[0];
    assert!((PIXELS..NOTES).contains(&all), "pixels, and no notes: {all}");
    let (each, waits) = uploads(mixed(&dir), 1);
    let [mesh, image] = each[..] else {
        panic!("a frame each for mesh and image: {each:?}")
    };
    assert!(image >= PIXELS, "{image}");
    assert_eq!((mesh + image, waits), (all, 1), "the image has waited");
}
