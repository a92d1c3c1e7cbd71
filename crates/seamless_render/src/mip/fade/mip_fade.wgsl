#define_import_path seamless_render::mip_fade

// Samples a texture, but no finer than at mip `least`, which counts from the finest that is there; by a sampler without anisotropy, in a view without a mip bias.
fn sample_faded(picture: texture_2d<f32>, picture_sampler: sampler, uv: vec2<f32>, least: f32) -> vec4<f32> {
    let size = vec2<f32>(textureDimensions(picture));
    let right = dpdx(uv);
    let down = dpdy(uv);
    let mip = log2(max(max(length(right * size), length(down * size)), 1e-8));
    // What is sampled as if pixels were farther apart is sampled from a coarser mip.
    let farther = select(1.0, exp2(max(least - mip, 0.0)), least > 0.0);
    return textureSampleGrad(picture, picture_sampler, uv, right * farther, down * farther);
}
