use bevy_math::{Quat, Vec2, vec3};
use proptest::{collection::vec, prelude::*};

use super::*;

fn view(position: Vec3) -> MipView {
    MipView {
        pixels: 1000.0,
        ..MipView::perspective(0, position, 1.0, 1000.0, 0.1)
    }
}

fn cube(center: Vec3, half: f32) -> Surface {
    Surface {
        center,
        half: Vec3::splat(half),
        world: Affine3A::from_translation(center),
        spheres: None,
    }
}

fn user(metres: f32) -> MipUser {
    MipUser {
        material: 0,
        channel: 0,
        metres,
        object_scale: 1.0,
        uv_scale: 1.0,
    }
}

#[track_caller]
fn assert_near(found: f32, expected: f32) {
    assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
}

#[test]
fn one_texel_a_pixel_is_mip_0() {
    // 100 pixels a metre at 10 m, and 4 metres a unit: 400 pixels. A texture of 1024 texels has 2.56 a pixel.
    let found = footprint(&view(Vec3::ZERO), &cube(Vec3::X * 11.0, 1.0), &user(4.0));
    assert_near(1024_f32.log2() + found.lod, (1024.0_f32 / 400.0).log2());
    let wide = MipView::perspective(0, Vec3::ZERO, core::f32::consts::FRAC_PI_2, 1080.0, 0.1);
    assert_near(wide.pixels, 540.0);
    let map = MipView::orthographic(0, Vec3::Y * 9000.0, 20.0, 1000.0);
    assert_near(footprint(&map, &cube(Vec3::ZERO, 1.0), &user(4.0)).lod, -200_f32.log2());
    assert!(footprint(&map, &cube(Vec3::ZERO, 1.0), &user(4.0)).slack > 1e9);
}

#[test]
fn material_and_object_scale_count() {
    let surface = cube(Vec3::X * 50.0, 0.5);
    let of = |user| footprint(&view(Vec3::ZERO), &surface, &user).lod;
    let plain = of(user(2.0));
    let repeated = MipUser {
        uv_scale: 4.0,
        ..user(2.0)
    };
    assert_near(of(repeated), plain + 2.0);
    let large = MipUser {
        object_scale: 8.0,
        ..user(2.0)
    };
    assert_near(of(large), plain - 3.0);
    let biased = MipView {
        bias: -1.5,
        ..view(Vec3::ZERO)
    };
    assert_near(footprint(&biased, &surface, &user(2.0)).lod, plain - 1.5);
}

#[test]
fn scales_of_texture_coordinates() {
    let of = |x: f32, y: f32| Mat2::from_scale_angle(Vec2::new(x, y), 0.7);
    assert_near(uv_scale(of(3.0, 3.0), false), 3.0);
    assert_near(uv_scale(of(3.0, 3.0), true), 3.0);
    assert_near(uv_scale(of(4.0, 1.0), false), 8.5_f32.sqrt());
    assert_near(uv_scale(of(4.0, 1.0), true), 1.0);
    assert_near(uv_scale(of(4.0, 0.0), true), 0.0);
    assert_near(uv_scale(Mat2::ZERO, true), 0.0);
}

#[test]
fn what_is_no_number_is_the_coarsest() {
    let surface = cube(Vec3::X * 5.0, 1.0);
    let nan = f32::NAN;
    for user in [
        user(nan),
        user(0.0),
        user(-1.0),
        MipUser {
            uv_scale: nan,
            ..user(1.0)
        },
    ] {
        assert_eq!(
            footprint(&view(Vec3::ZERO), &surface, &user).lod,
            COARSEST_LOD,
            "{user:?}"
        );
    }
    for view in [
        view(Vec3::NAN),
        MipView {
            pixels: nan,
            ..view(Vec3::ZERO)
        },
        MipView {
            pixels: 0.0,
            ..view(Vec3::ZERO)
        },
    ] {
        let found = footprint(&view, &surface, &user(1.0));
        assert_eq!(found.lod, COARSEST_LOD, "{view:?}");
        assert!(found.slack >= 0.0 && found.area >= 0.0, "{found:?}");
    }
    let nowhere = cube(Vec3::NAN, 1.0);
    assert_eq!(footprint(&view(Vec3::ZERO), &nowhere, &user(1.0)).lod, COARSEST_LOD);
}

#[test]
fn within_a_large_box_the_surface_decides() {
    // A floor of 64 by 64 metres, far below a box that hangs high.
    let floor: [[f32; 3]; 4] = [
        [-32.0, 0.0, -32.0],
        [32.0, 0.0, -32.0],
        [-32.0, 0.0, 32.0],
        [32.0, 30.0, 32.0],
    ];
    let uvs = floor.map(|[x, _, z]| [x / 2.0, z / 2.0]);
    let spheres = surface_spheres(&floor, [&uvs, &[]], [[0, 1, 2]].into_iter());
    assert!(spheres.len() > 20 && spheres.len() <= 32, "{}", spheres.len());
    let surface = Surface {
        center: vec3(0.0, 15.0, 0.0),
        half: vec3(32.0, 15.0, 32.0),
        world: Affine3A::IDENTITY,
        spheres: Some(spheres.into()),
    };
    let above = view(vec3(-10.0, 29.0, -10.0));
    let found = footprint(&above, &surface, &user(2.0)).lod;
    let boxed = footprint(
        &above,
        &Surface {
            spheres: None,
            ..surface.clone()
        },
        &user(2.0),
    )
    .lod;
    let exact = (29.0_f32 / 2000.0).log2();
    assert!(found <= exact && found > exact - 0.6, "{found}, and {exact} is right");
    assert!(boxed < exact - 8.0, "inside the box it would be all");
}

#[test]
fn small_meshes_and_nonsense_have_no_spheres() {
    let tiny = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    let uvs = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    assert!(surface_spheres(&tiny, [&uvs, &[]], [[0, 1, 2]].into_iter()).is_empty());
    assert!(surface_spheres(&[], [&[], &[]], core::iter::empty()).is_empty());
    let bad = [
        [0.0, 0.0, 0.0],
        [f32::INFINITY, 0.0, 0.0],
        [0.0, 9.0, 0.0],
        [9.0, 0.0, 0.0],
    ];
    assert!(surface_spheres(&bad, [&uvs, &[]], [[0, 1, 2], [0, 1, 9]].into_iter()).is_empty());
    let one = surface_spheres(&bad, [&uvs, &[]], [[0, 1, 2], [0, 2, 3]].into_iter());
    assert!(!one.is_empty());
    assert!(
        one.iter().all(|sphere| sphere.metres == [0.0, 0.0]),
        "the fourth corner has no coordinates"
    );
}

#[test]
fn coordinates_that_cover_nothing_do_not_count() {
    let wall = [[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 8.0, 0.0]];
    let metres = |uvs: [[f32; 2]; 3]| {
        let spheres = surface_spheres(&wall, [&uvs, &uvs], [[0, 1, 2]].into_iter());
        spheres.iter().map(|sphere| sphere.metres[1]).fold(0.0, f32::max)
    };
    assert_near(metres([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]), 4.0);
    assert_near(metres([[0.5, 0.5]; 3]), 0.0);
    assert_near(metres([[f32::NAN, 0.5]; 3]), 0.0);
    // A line of the texture: its one derivative decides, which lies across the pixels at worst.
    assert_near(metres([[0.0, 0.0], [2.0, 0.0], [0.0, 0.0]]), 4.0 * 2_f32.sqrt());
}

/// A triangle somewhere, with texture coordinates.
fn any_triangle() -> impl Strategy<Value = [([f32; 3], [f32; 2]); 3]> {
    let corner = (
        proptest::array::uniform3(-20.0..20.0_f32),
        proptest::array::uniform2(-9.0..9.0_f32),
    );
    proptest::array::uniform3(corner)
}

/// The lod that the picture has at a point of a triangle, if pixels lie there in the worst way.
fn lod_at(view: &MipView, point: Vec3, metres: f32) -> f32 {
    (point.distance(view.position).max(view.near) / (view.pixels * metres)).log2()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// 200 meshes of 50 triangles: no point of any needs a finer mip than is said, from anywhere, however it is placed.
    #[test]
    fn never_coarser_than_any_point(
        triangles in vec(any_triangle(), 50),
        from in proptest::array::uniform3(-60.0..60.0_f32),
        weights in proptest::array::uniform3(0.01..1.0_f32),
        turn in proptest::array::uniform3(-3.0..3.0_f32),
        scale in 0.2..4.0_f32,
    ) {
        let positions: Vec<[f32; 3]> = triangles.iter().flatten().map(|corner| corner.0).collect();
        let uvs: Vec<[f32; 2]> = triangles.iter().flatten().map(|corner| corner.1).collect();
        let indices = || (0..50).map(|n| [n * 3, n * 3 + 1, n * 3 + 2]);
        let spheres = surface_spheres(&positions, [&uvs, &[]], indices());
        prop_assert!(spheres.len() <= 32 && !spheres.is_empty());
        let world = Affine3A::from_scale_rotation_translation(
            Vec3::splat(scale),
            Quat::from_euler(bevy_math::EulerRot::XYZ, turn[0], turn[1], turn[2]),
            vec3(3.0, -8.0, 5.0),
        );
        let corner = |n: u32| world.transform_point3(positions[n as usize].into());
        let corners = || (0..150).map(corner);
        let low = corners().fold(Vec3::INFINITY, Vec3::min);
        let high = corners().fold(Vec3::NEG_INFINITY, Vec3::max);
        let uv = |n: u32| Vec2::from(uvs[n as usize]);
        let edge = |from: u32, to: u32| Vec3::from(positions[to as usize]) - Vec3::from(positions[from as usize]);
        let metres = |[a, b, c]: [u32; 3]| derivative(edge(a, b), edge(a, c), uv(b) - uv(a), uv(c) - uv(a));
        let view = view(from.into());
        let most = indices().map(metres).fold(0.0, f32::max);
        let user = MipUser { object_scale: scale, ..user(most) };
        let surface = Surface {
            center: low.midpoint(high),
            half: (high - low) / 2.0,
            world,
            spheres: Some(spheres.into()),
        };
        let found = footprint(&view, &surface, &user).lod;
        let boxed = footprint(&view, &Surface { spheres: None, ..surface.clone() }, &user).lod;
        let sum = weights.iter().sum::<f32>();
        for [a, b, c] in indices() {
            let point = (corner(a) * weights[0] + corner(b) * weights[1] + corner(c) * weights[2]) / sum;
            let right = lod_at(&view, point, metres([a, b, c]) * scale).clamp(FINEST_LOD, COARSEST_LOD);
            prop_assert!(found <= right + 1e-2, "{found} is coarser than {right}");
            prop_assert!(boxed <= right + 1e-2, "{boxed} is coarser than {right}");
        }
    }

    /// Farther, smaller, more repeated, fewer pixels: never finer.
    #[test]
    fn it_is_monotonic(
        from in proptest::array::uniform3(-90.0..90.0_f32),
        half in 0.1..20.0_f32,
        metres in 0.01..100.0_f32,
        more in 1.0..8.0_f32,
    ) {
        let surface = cube(Vec3::ZERO, half);
        let view = view(from.into());
        let lod = |view: &MipView, user: MipUser| footprint(view, &surface, &user).lod;
        let user = user(metres);
        let is = lod(&view, user);
        let farther = MipView { position: view.position * more, ..view };
        let sharper = MipView { pixels: view.pixels * more, ..view };
        let coarser = MipUser { metres: metres * more, ..user };
        let larger = MipUser { object_scale: more, ..user };
        let repeated = MipUser { uv_scale: more, ..user };
        prop_assert!(lod(&farther, user) >= is);
        prop_assert!(lod(&sharper, user) <= is);
        prop_assert!(lod(&view, coarser) <= is);
        prop_assert!(lod(&view, larger) <= is);
        prop_assert!(lod(&view, repeated) >= is);
    }

    /// While a view travels the slack, the lod is the same but for 1/32, and stays beyond the limit.
    #[test]
    fn the_slack_holds(
        from in proptest::array::uniform3(-60.0..60.0_f32),
        way in proptest::array::uniform3(-1.0..1.0_f32),
        part in 0.0..1.0_f32,
        half in 0.1..20.0_f32,
        metres in 0.01..100.0_f32,
        limit in -16.0..2.0_f32,
        spheres in vec((proptest::array::uniform3(-20.0..20.0_f32), 0.1..9.0_f32, 0.0..50.0_f32), 0..9),
    ) {
        let sphere = |(center, radius, metres): ([f32; 3], f32, f32)| SurfaceSphere {
            center: center.into(), radius, metres: [metres, 0.0],
        };
        let spheres: Vec<SurfaceSphere> = spheres.into_iter().map(sphere).collect();
        let outline = Outline::new(
            &Surface { spheres: Some(spheres.into()), ..cube(Vec3::ZERO, half) },
            &user(metres),
        );
        let view = view(from.into());
        let here = outline.look(&view, limit);
        let step = Vec3::from(way).normalize_or_zero() * (here.slack * part).min(1e6);
        let there = outline.look(&MipView { position: view.position + step, ..view }, limit);
        prop_assert!((here.lod - there.lod).abs() <= SLACK_MIPS + 2e-3, "{here:?}, {there:?}");
    }
}

/// Metres per unit of a triangle by its edges: from the derivative of its coordinates.
fn derivative(e: Vec3, f: Vec3, u: Vec2, v: Vec2) -> f32 {
    let normal = e.cross(f);
    let square = normal.length_squared();
    // The reciprocal basis of the two edges.
    let (along, across) = (f.cross(normal) / square, normal.cross(e) / square);
    let gradient = |u: f32, v: f32| along * u + across * v;
    let squares = gradient(u.x, v.x).length_squared() + gradient(u.y, v.y).length_squared();
    (2.0 / squares).sqrt()
}
