//! Bevy's own shaders are not read where nothing is drawn. See [`ShadersUnread`].

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use bevy::asset::io::{
    AssetReader, AssetReaderError, AssetSourceBuilder, AssetSourceBuilders, AssetSourceId, AssetSources,
    ErasedAssetReader, PathStream, Reader, VecReader,
};
use bevy::asset::{AssetMetaCheck, AssetServerMode, LoadedFolder, LoadedUntypedAsset, UnapprovedPathMode};
use bevy::prelude::*;

/// Sources may refer to files beside the root; the author runs this on their own files.
pub(crate) const UNAPPROVED_PATHS: UnapprovedPathMode = UnapprovedPathMode::Allow;
/// The source of what is compiled into the program.
const EMBEDDED: &str = "embedded";
/// What Bevy's own crates, and only those, begin with there.
const OF_BEVY: &str = "bevy_";

/// Gives Bevy's shaders as empty files. Bevy asks for all of them when it starts, and looks through each for imports; that takes longer than
/// most of what is cooked again after an edit. It goes right behind `AssetPlugin`, whose server it replaces by one that differs in nothing else.
pub(crate) struct ShadersUnread;

impl Plugin for ShadersUnread {
    fn build(&self, app: &mut App) {
        let world = app.world_mut();
        let Some(mut builders) = world.get_resource_mut::<AssetSourceBuilders>() else {
            return;
        };
        let sources = Arc::new(builders.build_sources(false, false));
        let mut seen = AssetSourceBuilders::default();
        for id in sources.ids() {
            seen.insert(id.clone(), through(sources.clone(), id));
        }
        let server = AssetServer::new_with_meta_check(
            Arc::new(seen.build_sources(false, false)),
            AssetServerMode::Unprocessed,
            AssetMetaCheck::Always,
            false,
            UNAPPROVED_PATHS,
        );
        // What `AssetPlugin` has added by now.
        server.register_asset(world.resource::<Assets<LoadedFolder>>());
        server.register_asset(world.resource::<Assets<LoadedUntypedAsset>>());
        server.register_asset(world.resource::<Assets<()>>());
        world.insert_resource(server);
    }
}

fn through(sources: Arc<AssetSources>, id: AssetSourceId<'static>) -> AssetSourceBuilder {
    let is_embedded = id.as_str() == Some(EMBEDDED);
    AssetSourceBuilder::new(move || {
        Box::new(Through {
            sources: sources.clone(),
            id: id.clone(),
            is_embedded,
        })
    })
}

/// A source as it is, but for Bevy's shaders.
struct Through {
    sources: Arc<AssetSources>,
    id: AssetSourceId<'static>,
    is_embedded: bool,
}

impl Through {
    fn reader(&self) -> Result<&dyn ErasedAssetReader, AssetReaderError> {
        let source = self.sources.get(self.id.clone());
        source
            .map(|source| source.reader())
            .map_err(|error| std::io::Error::other(error).into())
    }

    fn is_unread(&self, path: &Path) -> bool {
        let first = path.components().next().and_then(|first| first.as_os_str().to_str());
        let is_bevys = first.is_some_and(|first| first.starts_with(OF_BEVY));
        self.is_embedded && is_bevys && path.extension().is_some_and(|extension| extension == "wgsl")
    }
}

impl AssetReader for Through {
    async fn read<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        let empty = || -> Box<dyn Reader + 'a> { Box::new(VecReader::new(Vec::new())) };
        match self.is_unread(path) {
            true => Ok(empty()),
            false => self.reader()?.read(path).await,
        }
    }

    async fn read_meta<'a>(&'a self, path: &'a Path) -> Result<impl Reader + 'a, AssetReaderError> {
        self.reader()?.read_meta(path).await
    }

    async fn read_directory<'a>(&'a self, path: &'a Path) -> Result<Box<PathStream>, AssetReaderError> {
        self.reader()?.read_directory(path).await
    }

    async fn is_directory<'a>(&'a self, path: &'a Path) -> Result<bool, AssetReaderError> {
        self.reader()?.is_directory(path).await
    }
}
