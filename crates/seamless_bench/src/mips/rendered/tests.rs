use bevy::render::render_resource::{Extent3d, TextureDimension, TextureFormat};
use bevy_seamless::render::mip::MipChain;

use super::accuracy::least;

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
