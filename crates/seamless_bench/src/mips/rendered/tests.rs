use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy_seamless::render::mip::MipChain;

use super::{accuracy::least, memory::is_booked};

#[test]
fn what_wgpu_has_allocated_is_in_the_books_at_each_look() {
    const MB: u64 = 1_000_000;
    assert!(is_booked(100 * MB, 1, 100 * MB) && is_booked(105 * MB, 1, 100 * MB));
    assert!(!is_booked(106 * MB, 1, 100 * MB));
    // Many small ones take whole pages.
    assert!(is_booked(409_600, 100, 200_000) && !is_booked(409_600, 10, 200_000));
    assert!(is_booked(0, 0, 0));
    assert!(!is_booked(0, 0, 100 * MB), "an empty list is none");
}

#[test]
fn the_least_of_a_texture_is_what_is_sampled_or_its_floor() {
    let size = Extent3d {
        width: 1024,
        height: 1024,
        depth_or_array_layers: 1,
    };
    let chain = MipChain::new(size, TextureDimension::D2, 1, TextureFormat::R8Unorm, 11, 4).expect("it streams");
    assert_eq!(least(&chain, Some(1)), chain.bytes(1));
    assert_eq!(least(&chain, Some(9)), chain.bytes(4), "it has its floor in any case");
    assert_eq!(least(&chain, None), chain.bytes(4));
}
