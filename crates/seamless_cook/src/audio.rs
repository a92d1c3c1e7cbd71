//! Sounds: what the feature `audio` adds to the cooker's app, and what is said of sounds without it.

#[cfg(feature = "audio")]
pub(crate) use with_audio::{add_to, without_playback};

#[cfg(feature = "audio")]
mod with_audio {
    use bevy::app::PluginGroupBuilder;
    use bevy::asset::{AssetLoader, LoadContext, io::Reader};
    use bevy::prelude::*;
    use bevy_audio::{AudioLoader, AudioPlugin, AudioSource};
    use seamless_asset::assets::add_audio;

    use super::SOUND_EXTENSIONS;

    /// Leaves out what would open the machine's sound card, in a program whose Bevy has it.
    pub(crate) fn without_playback(plugins: PluginGroupBuilder) -> PluginGroupBuilder {
        match plugins.contains::<AudioPlugin>() {
            true => plugins.disable::<AudioPlugin>(),
            false => plugins,
        }
    }

    /// Adds Bevy's sounds, in all formats: nothing is decoded, so which decoders this program has does not matter.
    pub(crate) fn add_to(app: &mut App) {
        add_audio(app);
        app.init_asset_loader::<AudioLoader>()
            .register_asset_loader(SoundLoader::default());
    }

    /// Bevy's loader, for the formats that it is built without.
    #[derive(TypePath)]
    struct SoundLoader {
        extensions: Vec<&'static str>,
    }

    impl Default for SoundLoader {
        fn default() -> Self {
            let known = AudioLoader.extensions();
            let others = SOUND_EXTENSIONS
                .into_iter()
                .filter(|extension| !known.contains(extension));
            Self {
                extensions: others.collect(),
            }
        }
    }

    impl AssetLoader for SoundLoader {
        type Asset = AudioSource;
        type Settings = ();
        type Error = std::io::Error;

        async fn load(
            &self,
            reader: &mut dyn Reader,
            settings: &(),
            context: &mut LoadContext<'_>,
        ) -> Result<AudioSource, std::io::Error> {
            AudioLoader.load(reader, settings, context).await
        }

        fn extensions(&self) -> &[&str] {
            &self.extensions
        }
    }
}

/// The endings of the files that Bevy's own loader of sounds knows.
const SOUND_EXTENSIONS: [&str; 6] = ["wav", "ogg", "oga", "spx", "mp3", "flac"];

/// How to mend a cooker without sounds.
const MEND: &str = "sounds are cooked with the feature `audio` of `seamless_cook`, which this cook program was built without: turn it on";

/// Adds to what Bevy says of `file` how to mend it, where the reason is that this cooker knows no sounds.
pub(crate) fn with_mend(file: &str, message: String) -> String {
    let extension = file
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    let is_sound = extension.is_some_and(|extension| SOUND_EXTENSIONS.contains(&extension.as_str()));
    // The names of Bevy's types, and what it says of a file that no loader takes.
    let is_unknown = message.contains("bevy_audio::") || is_sound && message.contains("Could not find an asset loader");
    match is_unknown && cfg!(not(feature = "audio")) {
        true => format!("{message}; {MEND}"),
        false => message,
    }
}
