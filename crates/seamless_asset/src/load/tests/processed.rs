//! Packages of a game that is shipped with processed assets, and nothing else.

use bevy_asset::AssetMode;

use super::*;

#[test]
fn packages_are_read_where_the_server_reads_everything_else() {
    let [raw, processed] = [Dir::default(), Dir::default()];
    let reader = |dir: &Dir| {
        let root = dir.clone();
        move || Box::new(MemoryAssetReader { root: root.clone() }) as Box<_>
    };
    for has_processed in [false, true] {
        let source = AssetSourceBuilder::new(reader(&raw)).with_processed_reader(reader(&processed));
        let mode = if has_processed {
            AssetMode::Processed
        } else {
            AssetMode::Unprocessed
        };
        let assets = AssetPlugin {
            mode,
            ..AssetPlugin::default()
        };
        let mut app = app_of(source, assets, SeamlessAssetPlugin::default(), |_| {});
        put(&raw, "a.pkg", chain(&app, "a.pkg", 3, None));
        put(&processed, "a.pkg", chain(&app, "a.pkg", 5, None));
        let id = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
        assert_eq!(level_entities(app.world_mut()), if has_processed { 5 } else { 3 });
    }
    // A source that has none is an error like any other.
    let source = AssetSourceBuilder::new(reader(&raw));
    let assets = AssetPlugin {
        mode: AssetMode::Processed,
        ..AssetPlugin::default()
    };
    let mut app = app_of(source, assets, SeamlessAssetPlugin::default(), |_| {});
    let id = load(&mut app, "a.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    assert!(matches!(error_of(&mut app, id), LoadErrorKind::Io(_)));
}
