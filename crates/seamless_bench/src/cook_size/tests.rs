//! What counts, and files that Bevy reads.

use bevy_asset::RenderAssetUsages;
use bevy_image::{CompressedImageFormats, ImageSampler, ImageType};
use bevy_mesh::PrimitiveTopology;
use wgpu_types::{Extent3d, TextureDimension, TextureFormat};

use super::*;
use crate::project::{Project, TextureRole};

#[test]
fn packages_and_manifest_count_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, size: usize| fs::write(folder.path().join(name), vec![0; size]).unwrap();
    write("a.pkg", 10);
    write("w.seamless", 5);
    write("cooked.stamp", 100);
    fs::create_dir(folder.path().join(".cook")).unwrap();
    write(".cook/b.pkg", 1000);
    assert_eq!(cooked_bytes(folder.path()), 15);
}

/// A texture with every mip, of bytes that repeat.
fn image(format: TextureFormat, side: u32) -> Image {
    let mut image = Image {
        asset_usage: RenderAssetUsages::MAIN_WORLD,
        ..Image::default()
    };
    image.texture_descriptor.format = format;
    image.texture_descriptor.size = Extent3d {
        width: side,
        height: side,
        depth_or_array_layers: 1,
    };
    let mips = side.ilog2() + 1;
    image.texture_descriptor.mip_level_count = mips;
    let (block, texels) = (format.block_copy_size(None).unwrap(), format.block_dimensions().0);
    let blocks: u32 = (0..mips).map(|mip| (side >> mip).div_ceil(texels).pow(2)).sum();
    image.data = Some((0..blocks * block).map(|byte| (byte / 3 % 7) as u8).collect());
    image
}

const FORMATS: [TextureFormat; 10] = [
    TextureFormat::Rgba8Unorm,
    TextureFormat::Rgba8UnormSrgb,
    TextureFormat::Bc1RgbaUnorm,
    TextureFormat::Bc1RgbaUnormSrgb,
    TextureFormat::Bc3RgbaUnorm,
    TextureFormat::Bc3RgbaUnormSrgb,
    TextureFormat::Bc4RUnorm,
    TextureFormat::Bc5RgUnorm,
    TextureFormat::Bc7RgbaUnorm,
    TextureFormat::Bc7RgbaUnormSrgb,
];

#[test]
fn bevy_reads_the_ktx2_files_with_the_same_texels() {
    for format in FORMATS {
        for is_packed in [false, true] {
            let was = image(format, 16);
            let file = ktx2::file(&was, is_packed).unwrap();
            let read = Image::from_buffer(
                &file,
                ImageType::Extension("ktx2"),
                CompressedImageFormats::BC,
                format.is_srgb(),
                ImageSampler::Default,
                RenderAssetUsages::MAIN_WORLD,
            );
            let read = read.unwrap_or_else(|error| panic!("{format:?}: {error}"));
            assert_eq!(read.texture_descriptor.format, format);
            assert_eq!(read.texture_descriptor.size, was.texture_descriptor.size);
            assert_eq!(read.texture_descriptor.mip_level_count, 5);
            assert_eq!(read.data, was.data, "{format:?}");
        }
    }
}

#[test]
fn a_texture_is_compressed_where_that_makes_it_smaller() {
    let large = image(TextureFormat::Bc7RgbaUnorm, 256);
    let packed = ktx2::smallest(&large).unwrap();
    assert_eq!(packed, ktx2::file(&large, true).unwrap());
    assert!(packed.len() * 4 < large.data.as_ref().unwrap().len());
    let tiny = image(TextureFormat::Bc7RgbaUnorm, 4);
    assert_eq!(ktx2::smallest(&tiny), ktx2::file(&tiny, false));
}

#[test]
fn textures_of_other_kinds_are_told() {
    let mut sizes = Sizes::default();
    let mut volume = image(TextureFormat::Rgba8Unorm, 4);
    volume.texture_descriptor.dimension = TextureDimension::D3;
    add_image(&mut sizes, &volume);
    add_image(&mut sizes, &image(TextureFormat::R16Float, 4));
    assert_eq!((sizes.left_out, sizes.textures), (2, 0));
    assert!(note(1, &Stored::default(), &sizes).contains("2 textures"));
}

#[test]
fn a_mesh_is_its_vertices_and_indices() {
    let mesh = crate::app::grid(1);
    // Four vertices with position, normal and one pair of texture coordinates; six indices.
    assert_eq!(buffers(&mesh).len(), 4 * 32 + 6 * 4);
    let bare = Mesh::new(PrimitiveTopology::PointList, RenderAssetUsages::MAIN_WORLD);
    assert_eq!(buffers(&bare).len(), 0);
}

/// So many levels that show the same texture, and what the peer has of them.
fn peer_of(levels: usize) -> Sizes {
    let project = Project::new(&vec![vec![("a.ppm".to_owned(), TextureRole::Color)]; levels]);
    let mut picture = b"P6\n64 64\n255\n".to_vec();
    picture.extend((0..64 * 64 * 3_u32).map(|byte| (byte * 7 % 251) as u8));
    project.write("a.ppm", picture);
    let (_, report) = project.cook(Profile::Dev, 1);
    let (stored, sizes) = measure(&project.out());
    assert_eq!(sizes.entities, report.entities);
    assert_eq!(stored.total(), report.bytes);
    assert!(
        stored.textures > 0 && stored.meshes > 0 && stored.levels > 0,
        "{stored:?}"
    );
    sizes
}

#[test]
fn the_peer_has_every_level_and_mesh_and_each_texture_once() {
    let (one, two) = (peer_of(1), peer_of(2));
    assert!(one.textures > 0 && one.left_out == 0, "{one:?}");
    // Three vertices with a position each, and the normal that Bevy's loader gives them.
    assert!(one.meshes > 0 && one.meshes <= 3 * 24, "{one:?}");
    assert!(
        one.lean_levels < one.levels && one.levels < one.text && one.entities > 0,
        "{one:?}"
    );
    assert_eq!((two.textures, two.left_out), (one.textures, 0));
    assert_eq!((two.meshes, two.entities), (2 * one.meshes, 2 * one.entities));
    assert!(two.levels > one.levels, "{two:?}");
}

#[test]
fn a_level_is_text_with_the_paths_of_what_it_shows() {
    let project = Project::new(&[vec![("a.ppm".to_owned(), TextureRole::Color)]]);
    project.write("a.ppm", b"P6\n1 1\n255\n\x01\x02\x03");
    project.cook(Profile::Dev, 1);
    let bytes = fs::read(project.out().join("l0.pkg")).unwrap();
    let package = Package::verify_whole(&bytes, &Limits::default()).unwrap();
    let texts = Levels::new(&project.out()).texts(&package).unwrap();
    for text in [&texts.whole, &texts.lean] {
        assert!(
            text.contains("l0.glb#Mesh0/Primitive0") && text.contains("l0.glb#Material0"),
            "{text}"
        );
        assert!(text.contains("transform::Transform"), "{text}");
    }
    assert!(texts.whole.contains("GlobalTransform") && !texts.lean.contains("GlobalTransform"));
}

#[test]
fn what_does_not_compress_stays_as_it_is() {
    assert_eq!(packed(b"abc"), 3);
    assert!(packed(&[7; 4096]) < 100);
}

#[test]
fn a_note_has_the_lean_peer() {
    let sizes = Sizes {
        textures: 100,
        meshes: 50,
        levels: 80,
        lean_levels: 50,
        entities: 3,
        text: 900,
        ..Sizes::default()
    };
    assert_eq!(sizes.total(), 230);
    let stored = Stored {
        textures: 40,
        meshes: 20,
        levels: 20,
        rest: 15,
    };
    // Five bytes are the manifest's.
    let text = note(100, &stored, &sizes);
    assert!(text.contains("and the rest 20"), "{text}");
    assert!(
        text.contains("the peer 200: 2.00×") && !text.contains("ours alone"),
        "{text}"
    );
}
