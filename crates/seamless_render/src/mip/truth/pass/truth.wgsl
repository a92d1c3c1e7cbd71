// Draws which mip each pixel samples: a texture whose mips hold their own numbers is sampled as the material's is.

struct Draw {
    clip_from_local: mat4x4<f32>,
    // Columns of a matrix from texture coordinates to those of the code.
    codes: array<vec4<f32>, 2>,
    // Its number; by which channel each code is sampled, a bit each; the bits of the bias.
    info: vec4<u32>,
}

@group(0) @binding(0) var<storage, read> draws: array<Draw>;
@group(0) @binding(1) var code: texture_2d<f32>;
@group(1) @binding(0) var code_sampler: sampler;

struct Vertex {
    @builtin(instance_index) draw: u32,
    @location(0) position: vec3<f32>,
#ifdef UV_0
    @location(1) uv_0: vec2<f32>,
#endif
#ifdef UV_1
    @location(2) uv_1: vec2<f32>,
#endif
}

// Pixels beside a triangle, of which derivatives are made as well, need not read buffers: all that they need is here.
struct Varying {
    @builtin(position) position: vec4<f32>,
    @location(0) first: vec2<f32>,
    @location(1) second: vec2<f32>,
    @location(2) @interpolate(flat) number: u32,
    @location(3) @interpolate(flat) bias: f32,
}

fn coded(columns: vec4<f32>, uv: vec2<f32>) -> vec2<f32> {
    return mat2x2(columns.xy, columns.zw) * uv;
}

@vertex
fn vertex(vertex: Vertex) -> Varying {
    var uv_0 = vec2(0.0);
    var uv_1 = vec2(0.0);
#ifdef UV_0
    uv_0 = vertex.uv_0;
#endif
#ifdef UV_1
    uv_1 = vertex.uv_1;
#endif
    let info = draws[vertex.draw].info;
    var out: Varying;
    out.position = draws[vertex.draw].clip_from_local * vec4(vertex.position, 1.0);
    out.first = coded(draws[vertex.draw].codes[0], select(uv_0, uv_1, (info.y & 1u) != 0u));
    out.second = coded(draws[vertex.draw].codes[1], select(uv_0, uv_1, (info.y & 2u) != 0u));
    out.number = info.x;
    out.bias = bitcast<f32>(info.z);
    return out;
}

// 4096ths of a mip.
fn sampled(at: vec2<f32>, bias: f32) -> u32 {
    return u32(round(textureSampleBias(code, code_sampler, at, bias).r * 4096.0));
}

@fragment
fn fragment(in: Varying) -> @location(0) vec2<u32> {
    return vec2(in.number + 1u, sampled(in.first, in.bias) | (sampled(in.second, in.bias) << 16u));
}
