//! A renderer without a GPU: everything that Bevy does for a frame on the CPU, and nothing that a driver does.

use std::sync::Arc;

use bevy::{
    render::{
        renderer::{RenderAdapter, RenderAdapterInfo, RenderDevice, RenderInstance, RenderQueue, WgpuWrapper},
        settings::RenderCreation,
    },
    tasks::block_on,
};

/// What to give to `RenderPlugin` for a device of wgpu's own `noop` backend.
///
/// With it a machine without a GPU and without a driver runs the whole render world: extraction, preparation of meshes,
/// images and materials, so that reveals wait for them as they do in a game, specialisation, batching and command
/// encoding. Buffers and textures cost main memory; nothing is drawn, and what is read back is zero.
///
/// Cameras need a target, `Image::new_target_texture` for instance. Pipelines are validated, but no shader is compiled
/// for a driver.
///
/// # Errors
/// When wgpu was built without the backend: turn its feature `noop` on.
pub fn noop_renderer() -> Result<RenderCreation, String> {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::NOOP;
    descriptor.backend_options.noop.enable = true;
    let instance = wgpu::Instance::new(descriptor);
    let adapter = block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .map_err(|error| format!("{error}; turn wgpu's feature `noop` on"))?;
    // Not the adapter's own limits: they are the largest numbers there are, and Bevy allocates tables of that size.
    let request = wgpu::DeviceDescriptor {
        required_limits: wgpu::Limits::default(),
        ..Default::default()
    };
    let (device, queue) = block_on(adapter.request_device(&request)).map_err(|error| error.to_string())?;
    Ok(RenderCreation::manual(
        RenderDevice::from(device),
        RenderQueue(Arc::new(WgpuWrapper::new(queue))),
        RenderAdapterInfo(WgpuWrapper::new(adapter.get_info())),
        RenderAdapter(Arc::new(WgpuWrapper::new(adapter))),
        RenderInstance(Arc::new(WgpuWrapper::new(instance))),
    ))
}

#[cfg(test)]
mod tests {
    use bevy::{
        app::PluginsState,
        camera::RenderTarget,
        log::LogPlugin,
        pbr::RenderMeshInstances,
        prelude::*,
        render::{
            RenderApp, RenderPlugin, pipelined_rendering::PipelinedRenderingPlugin, render_resource::TextureFormat,
        },
        window::ExitCondition,
        winit::WinitPlugin,
    };
    use bevy_seamless::{SeamlessPlugins, asset::RevealGate, render::GpuGate};

    use super::noop_renderer;

    fn app() -> App {
        let mut app = App::new();
        app.add_plugins(
            DefaultPlugins
                .build()
                .disable::<WinitPlugin>()
                .disable::<LogPlugin>()
                .disable::<PipelinedRenderingPlugin>()
                .set(RenderPlugin {
                    render_creation: noop_renderer().expect("the feature `noop` is on"),
                    ..default()
                })
                .set(WindowPlugin {
                    primary_window: None,
                    exit_condition: ExitCondition::DontExit,
                    ..default()
                }),
        );
        app.add_plugins(SeamlessPlugins);
        while app.plugins_state() == PluginsState::Adding {
            bevy::tasks::tick_global_task_pools_on_main_thread();
        }
        app.finish();
        app.cleanup();
        app
    }

    fn instances(app: &App) -> usize {
        match app.sub_app(RenderApp).world().resource::<RenderMeshInstances>() {
            RenderMeshInstances::CpuBuilding(instances) => instances.len(),
            RenderMeshInstances::GpuBuilding(instances) => instances.len(),
        }
    }

    #[test]
    fn the_render_world_runs_and_the_gate_opens() {
        let mut app = app();
        let world = app.world_mut();
        let target = Image::new_target_texture(64, 64, TextureFormat::Rgba8UnormSrgb, None);
        let target = world.resource_mut::<Assets<Image>>().add(target);
        let camera = Transform::from_xyz(0.0, 2.0, 8.0).looking_at(Vec3::ZERO, Vec3::Y);
        world.spawn((Camera3d::default(), RenderTarget::Image(target.into()), camera));
        world.spawn(DirectionalLight::default());
        let image = world.resource_mut::<Assets<Image>>().add(Image::default());
        let material = StandardMaterial { base_color_texture: Some(image.clone()), ..default() };
        let material = world.resource_mut::<Assets<StandardMaterial>>().add(material);
        let mesh = world.resource_mut::<Assets<Mesh>>().add(Cuboid::default());
        let assets = [image.id().untyped(), material.id().untyped(), mesh.id().untyped()];
        let gate = world.resource::<GpuGate>().clone();
        gate.watch(&assets);
        assert!(!gate.is_open(&assets));
        for _ in 0..10 {
            app.update();
        }
        assert!(gate.is_open(&assets), "everything is prepared");
        let cube = app.world_mut().spawn((Mesh3d(mesh), MeshMaterial3d(material))).id();
        for _ in 0..100 {
            app.update();
            assert_eq!(instances(&app), 1);
        }
        app.world_mut().despawn(cube);
        app.update();
        assert_eq!(instances(&app), 0);
    }
}
