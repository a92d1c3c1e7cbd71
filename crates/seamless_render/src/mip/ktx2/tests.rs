//! What loaders make of files, by Bevy's server and without a renderer.

mod broken;
mod source;
mod write;

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    AssetApp, AssetPlugin, AssetServer, Assets, Handle, LoadState, RenderAssetUsages, UntypedAssetId, io::memory::Dir,
};
use bevy_image::{
    CompressedImageFormats, Image, ImageLoader, ImageLoaderSettings, ImageSampler, TextureFormatPixelInfo,
};
use ktx2::Format;
use wgpu_types::TextureFormat;

use super::{Arrivals, Ktx2Files, StreamedImage, StreamedImageLoader, StreamedKtx2Loader};
use crate::mip::{
    NotStreamed,
    textures::{Comer, MipParts, MipRecord, is_stand_in},
};
use source::{CountingReader, Reads};
use write::{Ktx2, mips};

/// An app that reads files of memory, and takes nothing into the books.
struct Files {
    app: App,
    dir: Dir,
    arrivals: Arrivals,
    reads: Reads,
}

impl Files {
    fn new() -> Self {
        Self::with(CompressedImageFormats::all(), true)
    }

    fn with(supported: CompressedImageFormats, can_seek: bool) -> Self {
        let (dir, reads, arrivals) = (Dir::default(), Reads::default(), Arrivals::default());
        let mut app = App::new();
        let source = CountingReader::source(&dir, &reads, can_seek);
        app.register_asset_source(bevy_asset::io::AssetSourceId::Default, source)
            .add_plugins((TaskPoolPlugin::default(), AssetPlugin::default()))
            .init_asset::<Image>()
            .init_asset::<StreamedImage>();
        let arrivals_of_loader = arrivals.clone();
        let files = Ktx2Files {
            supported,
            arrivals: arrivals_of_loader,
        };
        app.register_asset_loader(ImageLoader::new(supported))
            .register_asset_loader(StreamedKtx2Loader(files.clone()))
            .register_asset_loader(StreamedImageLoader(files));
        Self {
            app,
            dir,
            arrivals,
            reads,
        }
    }

    fn write(&self, name: &str, bytes: Vec<u8>) {
        self.dir.insert_asset(name.as_ref(), bytes);
    }

    fn server(&self) -> AssetServer {
        self.app.world().resource::<AssetServer>().clone()
    }

    fn wait(&mut self, id: impl Into<UntypedAssetId>) -> Result<(), String> {
        let (server, id) = (self.server(), id.into());
        for _ in 0..1_000_000 {
            match server.load_state(id) {
                LoadState::Loaded => return Ok(()),
                LoadState::Failed(error) => return Err(error.to_string()),
                _ => self.app.update(),
            }
            std::thread::yield_now();
        }
        panic!("it neither loads nor fails");
    }

    /// What `name.stream.ktx2` of these bytes becomes.
    fn load(&mut self, name: &str, bytes: Vec<u8>) -> Result<Image, String> {
        let name = format!("{name}.stream.ktx2");
        self.write(&name, bytes);
        let handle: Handle<Image> = self.server().load(name);
        self.wait(&handle)?;
        Ok(self.image(&handle))
    }

    fn image(&self, handle: &Handle<Image>) -> Image {
        let images = self.app.world().resource::<Assets<Image>>();
        images.get(handle).expect("it is loaded").clone()
    }

    /// Takes the one texture that has come to stream.
    fn record(&self) -> std::sync::Arc<MipRecord> {
        let mut streams = core::mem::take(&mut self.arrivals.lock().streams);
        assert_eq!(streams.len(), 1);
        let Comer::Streamed(record) = streams.remove(0).comer else {
            panic!("it does not stream");
        };
        record
    }

    /// Takes the reason why the one image that has come does not stream.
    fn why(&self) -> NotStreamed {
        let mut waiting = self.arrivals.lock();
        assert!(waiting.streams.is_empty());
        waiting.wholes.pop().expect("it does not stream").why
    }
}

fn rgba(side: u32) -> Ktx2 {
    Ktx2::new(Format::R8G8B8A8_SRGB, side, side, mips(side, side, 1, 4))
}

#[test]
fn only_the_tail_of_a_file_is_read() {
    for file in [rgba(1024), rgba(1024).zstd()] {
        let mut files = Files::new();
        let bytes = file.bytes();
        let (all, tail) = (bytes.len() as u64, file.levels[4..].concat());
        let image = files.load("wall", bytes).unwrap();
        let read = files.reads.take();
        assert!(read < tail.len() as u64 + 1000, "{read} bytes of {all}");
        assert!(is_stand_in(&image) && image.asset_usage == RenderAssetUsages::MAIN_WORLD);
        let record = files.record();
        assert_eq!((record.chain().floor(), record.tail()), (4, &*tail));
        assert_eq!(record.chain().payload_bytes(0), 4 << 20);
        assert_eq!(record.path(), "wall.stream.ktx2");
    }
}

#[test]
fn a_source_that_cannot_seek_gives_the_same() {
    let mut files = Files::with(CompressedImageFormats::all(), false);
    let file = rgba(512);
    files.load("wall", file.bytes()).unwrap();
    assert_eq!(files.record().tail(), file.levels[3..].concat());
}

/// What Bevy's own loader has, but for the pixels.
#[test]
fn a_texture_is_what_bevys_loader_says() {
    let array = Ktx2 {
        layers: 3,
        levels: mips(256, 256, 1, 6),
        ..Ktx2::new(Format::R8G8_UNORM, 256, 256, vec![])
    };
    let cases = [
        ("srgb", rgba(256)),
        ("array", array),
        (
            "half",
            Ktx2::new(Format::R16G16B16A16_SFLOAT, 512, 128, mips(512, 128, 1, 8)),
        ),
        ("red", Ktx2::new(Format::R8_UNORM, 300, 5, mips(300, 5, 1, 1)).zstd()),
        (
            "bc1",
            Ktx2::new(Format::BC1_RGBA_SRGB_BLOCK, 512, 512, mips(512, 512, 4, 8)),
        ),
        // 500 is a base, 250 is none: the tail is all from 500 on.
        (
            "bc7",
            Ktx2::new(Format::BC7_UNORM_BLOCK, 1000, 1000, mips(1000, 1000, 4, 16)).zstd(),
        ),
    ];
    for (name, file) in cases {
        let mut files = Files::new();
        files.write("plain.ktx2", file.bytes());
        files.write("plain.stream.ktx2", file.bytes());
        let settings = |settings: &mut ImageLoaderSettings| {
            settings.sampler = ImageSampler::nearest();
            settings.is_srgb = false;
        };
        let server = files.server();
        let whole: Handle<Image> = server.load_builder().with_settings(settings).load("plain.ktx2");
        let streamed: Handle<Image> = server.load_builder().with_settings(settings).load("plain.stream.ktx2");
        files.wait(&whole).unwrap();
        files.wait(&streamed).unwrap();
        let (whole, streamed) = (files.image(&whole), files.image(&streamed));
        let record = files.record();
        let of_whole = wgpu_types::TextureDescriptor {
            label: streamed.texture_descriptor.label,
            ..whole.texture_descriptor.clone()
        };
        assert_eq!(streamed.texture_descriptor, of_whole, "{name}");
        assert_eq!(
            streamed.texture_view_descriptor, whole.texture_view_descriptor,
            "{name}"
        );
        assert!(matches!(streamed.sampler, ImageSampler::Descriptor(_)), "{name}");
        assert_eq!(streamed.data_order, whole.data_order, "{name}");
        let floor = usize::from(record.chain().floor());
        let payloads = file.levels[..floor].to_vec();
        let joined = record.parts().whole(payloads).unwrap();
        assert_eq!(joined.data, whole.data, "{name}");
    }
}

#[test]
fn a_streamed_image_has_the_image_of_any_name() {
    let mut files = Files::new();
    files.write("wall.ktx2", rgba(256).bytes());
    let server = files.server();
    let streamed: Handle<StreamedImage> = server.load("wall.ktx2");
    files.wait(&streamed).unwrap();
    let image = files.app.world().resource::<Assets<StreamedImage>>().get(&streamed);
    let image = image.unwrap().image.clone();
    assert!(is_stand_in(&files.image(&image)));
    let MipParts::File(file) = files.record().parts().clone() else {
        panic!("it is a file");
    };
    assert_eq!(file.path, "wall.ktx2".into());
    // Bevy's own loader goes on loading what nobody asked to stream.
    let plain: Handle<Image> = server.load("wall.ktx2");
    files.wait(&plain).unwrap();
    assert!(files.image(&plain).data.is_some());
}

#[test]
fn a_meta_file_has_a_file_stream_by_its_own_name() {
    let mut files = Files::new();
    files.write("wall.ktx2", rgba(256).bytes());
    let meta = r#"(
        meta_format_version: "1.0",
        asset: Load(
            loader: "seamless_render::mip::StreamedKtx2Loader",
            settings: (format: FromExtension, is_srgb: true, sampler: Default, asset_usage: ("RENDER_WORLD")),
        ),
    )"#;
    files.dir.insert_meta("wall.ktx2".as_ref(), meta.as_bytes());
    let handle: Handle<Image> = files.server().load("wall.ktx2");
    files.wait(&handle).unwrap();
    assert!(is_stand_in(&files.image(&handle)));
}

#[test]
fn what_does_not_stream_is_whole_and_says_why() {
    let cube = Ktx2 {
        faces: 6,
        levels: mips(256, 256, 1, 24),
        ..rgba(256)
    };
    let volume = Ktx2 {
        size: [256, 256, 2],
        levels: vec![vec![1; 256 * 256 * 2]],
        ..Ktx2::new(Format::R8_UNORM, 256, 256, vec![])
    };
    let one = Ktx2 {
        levels: vec![vec![9; 256 * 256 * 4]],
        ..rgba(256)
    };
    let rgb = Ktx2::new(Format::R8G8B8_UNORM, 256, 256, mips(256, 256, 1, 3));
    let line = Ktx2::new(Format::BC7_UNORM_BLOCK, 1024, 4, mips(1024, 4, 4, 16));
    let large = Ktx2 {
        levels: mips(4096, 4096, 1, 4)[..2].to_vec(),
        ..rgba(4096)
    };
    let bytes = 2048 * 2048 * 4;
    for (file, expected) in [
        (rgba(128), NotStreamed::Small { side: 128, least: 256 }),
        (cube, NotStreamed::Cube),
        (volume, NotStreamed::Dimension),
        (one, NotStreamed::OneTop),
        (rgb.clone(), NotStreamed::Transcoded),
        (rgb.zstd(), NotStreamed::Transcoded),
        (line, NotStreamed::OneTop),
        (large, NotStreamed::Tail { bytes, most: 4 << 20 }),
    ] {
        let mut files = Files::new();
        let image = files.load("wall", file.bytes()).unwrap();
        assert_eq!(files.why(), expected);
        assert!(!is_stand_in(&image), "{expected:?}");
        let data = image.data.as_ref().unwrap();
        let texels = |image: &Image| image.texture_descriptor.format.pixel_size();
        let texel = if expected == NotStreamed::Transcoded {
            texels(&image).unwrap()
        } else {
            1
        };
        let of_file: usize = file.levels.iter().map(Vec::len).sum();
        let factor = if texel == 4 { 4.0 / 3.0 } else { 1.0 };
        assert_eq!(data.len(), (of_file as f64 * factor) as usize, "{expected:?}");
        assert!(!expected.to_string().is_empty());
    }
}

#[test]
fn a_format_that_the_gpu_lacks_is_an_error_with_its_mend() {
    let mut files = Files::with(CompressedImageFormats::NONE, true);
    let file = Ktx2::new(Format::BC7_UNORM_BLOCK, 512, 512, mips(512, 512, 4, 16));
    let error = files.load("wall", file.bytes()).unwrap_err();
    assert!(
        error.contains("Bc7RgbaUnorm") && error.contains("a format that this GPU has"),
        "{error}"
    );
}

#[test]
fn settings_that_change_the_texture_have_it_whole() {
    let mut files = Files::new();
    files.write("wall.stream.ktx2", rgba(256).bytes());
    let settings = |settings: &mut ImageLoaderSettings| {
        settings.texture_format = Some(TextureFormat::Rgba8Unorm);
    };
    let handle: Handle<Image> = files
        .server()
        .load_builder()
        .with_settings(settings)
        .load("wall.stream.ktx2");
    files.wait(&handle).unwrap();
    assert_eq!(files.why(), NotStreamed::Settings);
    assert_eq!(
        files.image(&handle).texture_descriptor.format,
        TextureFormat::Rgba8Unorm
    );
}
