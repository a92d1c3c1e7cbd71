//! Bevy's own asset processor. See [`Processor`].

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    AssetApp, AssetMode, AssetPlugin, RenderAssetUsages,
    processor::{AssetProcessor, FileTransactionLogFactory},
};
use bevy_image::{CompressedImageFormats, Image, ImageFormat, ImageLoader, ImagePlugin, ImageSampler, ImageType};
use bevy_tasks::block_on;
use cpu_time::ProcessTime;
use tempfile::TempDir;

use super::{
    mean,
    quality::{angle_degrees, psnr_db},
};
use crate::{open_world::Picture, project::TextureRole};

/// A folder of pictures that Bevy processes.
pub struct Processor {
    directory: TempDir,
}

impl Processor {
    /// The pictures in a folder of their own. Those with normals get the `.meta` of an author who knows that they are no colours.
    pub fn new(pictures: &[Picture]) -> Self {
        let directory = tempfile::tempdir().expect("a folder for temporary files");
        let processor = Self { directory };
        fs::create_dir_all(processor.sources()).expect("the folder can be written to");
        for picture in pictures {
            fs::copy(&picture.path, processor.sources().join(&picture.file)).expect("the picture can be copied");
        }
        let app = processor.app();
        for picture in pictures.iter().filter(|picture| picture.role == TextureRole::Normal) {
            processor.write_linear_meta(&app, &picture.file);
        }
        processor
    }

    fn sources(&self) -> PathBuf {
        self.directory.path().join("assets")
    }

    /// Everything that Bevy makes is below this.
    fn imported(&self) -> PathBuf {
        self.directory.path().join("imported_assets")
    }

    fn processed(&self) -> PathBuf {
        self.imported().join("Default")
    }

    fn app(&self) -> App {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let assets = AssetPlugin {
            file_path: text(self.sources()),
            processed_file_path: text(self.processed()),
            mode: AssetMode::Processed,
            use_asset_processor_override: Some(true),
            watch_for_changes_override: Some(false),
            ..AssetPlugin::default()
        };
        let mut app = App::new();
        app.add_plugins((TaskPoolPlugin::default(), assets, ImagePlugin::default()))
            // Bevy's renderer does this.
            .register_asset_loader(ImageLoader::new(CompressedImageFormats::NONE));
        let log = FileTransactionLogFactory {
            file_path: self.imported().join("log"),
        };
        let processor = app.world().resource::<AssetProcessor>();
        let set = processor.data().set_log_factory(Box::new(log));
        assert!(set.is_ok(), "the processor has not started");
        app
    }

    fn write_linear_meta(&self, app: &App, file: &str) {
        let processor = app.world().resource::<AssetProcessor>();
        block_on(processor.write_default_meta_file_for_path(file.to_owned())).expect("there is none yet");
        let path = self.sources().join(format!("{file}.meta"));
        let meta = fs::read_to_string(&path).expect("it was written a moment ago");
        let linear = meta.replace("is_srgb: true", "is_srgb: false");
        assert_ne!(linear, meta, "Bevy takes PNGs for colours");
        fs::write(&path, linear).expect("the folder can be written to");
    }

    /// Processes all pictures from nothing; wall and CPU time in seconds.
    pub fn run(&self) -> (f64, f64) {
        if self.imported().exists() {
            fs::remove_dir_all(self.imported()).expect("the folder can be removed");
        }
        let (start, cpu) = (Instant::now(), ProcessTime::now());
        let mut app = self.app();
        app.finish();
        app.cleanup();
        app.update();
        let processor = app.world().resource::<AssetProcessor>().clone();
        block_on(processor.data().wait_until_finished());
        (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64())
    }

    /// Size and quality of what [`run`](Self::run) made. Fails where a picture was not processed.
    pub fn quality(&self, pictures: &[Picture]) -> String {
        let (mut bytes, mut colors, mut normals) = (0, Vec::new(), Vec::new());
        for picture in pictures {
            let path = self.processed().join(&picture.file);
            bytes += fs::metadata(&path).expect("every picture was processed").len();
            let (was, is) = (texels(&picture.path, None), texels(&path, Some(ImageFormat::Basis)));
            // The first mip.
            let is = &is[..was.len()];
            match picture.role {
                TextureRole::Color => colors.push(psnr_db(&was, is)),
                TextureRole::Normal => normals.push(angle_degrees(&was, is)),
            }
        }
        format!(
            "UASTC, {bytes} bytes of files; colours {:.1} dB, normals {:.2}° off, of the first mip, before a GPU's format is made of it",
            mean(colors.into_iter()),
            mean(normals.into_iter())
        )
    }
}

/// The texels of a file, four bytes each.
fn texels(path: &Path, format: Option<ImageFormat>) -> Vec<u8> {
    let bytes = fs::read(path).expect("the file is there");
    let kind = format.map_or(ImageType::Extension("png"), ImageType::Format);
    let image = Image::from_buffer(
        &bytes,
        kind,
        CompressedImageFormats::NONE,
        true,
        ImageSampler::Default,
        RenderAssetUsages::MAIN_WORLD,
    );
    image.expect("Bevy made it").data.expect("it has pixels")
}
