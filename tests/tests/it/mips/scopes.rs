//! What wgpu is built with.

use std::sync::mpsc;

use bevy::render::{RenderApp, renderer::RenderDevice};
use seamless_tests::picture::has_driver;
use wgpu::ErrorFilter;

use super::stage::Stage;

/// Bevy opens scopes around pipelines on its own threads while textures are made on others; wgpu without `std` ends the program then.
#[test]
fn error_scopes_are_those_of_one_thread() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut stage = Stage::new(dir.path(), |_| {});
    let device = stage.app.sub_app(RenderApp).world().resource::<RenderDevice>().clone();
    let (opened, is_open) = mpsc::channel();
    let (closed, is_closed) = mpsc::channel();
    let other = device.clone();
    let thread = std::thread::spawn(move || {
        let scope = other.wgpu_device().push_error_scope(ErrorFilter::Validation);
        opened.send(()).expect("it is waited for");
        is_closed.recv().expect("the other scope is closed");
        drop(scope.pop());
    });
    let scope = device.wgpu_device().push_error_scope(ErrorFilter::Validation);
    is_open.recv().expect("the other scope is opened");
    drop(scope.pop());
    closed.send(()).expect("it is waited for");
    thread.join().expect("each scope is closed where it was opened");
    let _ = stage.frame();
}
