//! What a file says is not believed without bound, and what is within it is.

use std::path::Path;

use super::*;

fn chain(nodes: u32) -> String {
    let node = |at: u32| {
        if at + 1 < nodes {
            format!("{{\"children\":[{}]}}", at + 1)
        } else {
            "{}".to_owned()
        }
    };
    let nodes: Vec<String> = (0..nodes).map(node).collect();
    format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"scenes\":[{{\"nodes\":[0]}}],\"nodes\":[{}]}}",
        nodes.join(",")
    )
}

/// Each node but the last is the parent of the next one, twice.
fn doubled(nodes: u32) -> String {
    let chain = chain(nodes);
    (1..nodes).fold(chain, |chain, at| {
        chain.replace(&format!("[{at}]"), &format!("[{at},{at}]"))
    })
}

fn gltf(text: &str) -> Result<(), ClaimError> {
    check(Path::new("a.gltf"), text.as_bytes())
}

#[test]
fn nodes_are_as_deep_as_is_allowed() {
    assert_eq!(gltf(&chain(MAX_NODE_DEPTH)), Ok(()));
    let depth = MAX_NODE_DEPTH + 1;
    assert_eq!(gltf(&chain(depth)), Err(ClaimError::DeepNodes { scene: 0, depth }));
    assert!(matches!(
        gltf(&chain(100_000)),
        Err(ClaimError::DeepNodes { depth: 100_000, .. })
    ));
}

#[test]
fn nodes_with_several_parents_are_counted_once_for_each() {
    assert_eq!(gltf(&doubled(22)), Ok(()));
    let count = (1 << 23) - 1;
    assert_eq!(gltf(&doubled(23)), Err(ClaimError::ManyNodes { scene: 0, count }));
    assert_eq!(
        gltf(&doubled(100)),
        Err(ClaimError::ManyNodes {
            scene: 0,
            count: u64::MAX
        })
    );
}

#[test]
fn circles_are_refused() {
    let circle = chain(3).replace("{}", "{\"children\":[0]}");
    assert_eq!(gltf(&circle), Err(ClaimError::Circle { scene: 0, node: 2 }));
    let own = chain(1).replace("{}", "{\"children\":[0]}");
    assert_eq!(gltf(&own), Err(ClaimError::Circle { scene: 0, node: 0 }));
}

/// A farbfeld file of sixteen bits in four channels.
fn farbfeld(width: u32, height: u32) -> Vec<u8> {
    [b"farbfeld".as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
}

#[test]
fn images_are_as_large_as_is_allowed() {
    let image = |width, height| check(Path::new("a.FF"), &farbfeld(width, height));
    assert_eq!(image(16_384, 16_384), Ok(()));
    let error = image(16_385, 16_384).expect_err("it is too large");
    assert!(
        matches!(
            error,
            ClaimError::HugeImage {
                width: 16_385,
                height: 16_384,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn looking_takes_next_to_no_memory() {
    let (bytes, path) = (farbfeld(u32::MAX, u32::MAX), Path::new("a.ff"));
    let memory = allocation_counter::measure(|| {
        let _ = check(path, &bytes);
    });
    assert!(memory.bytes_max < 1 << 16, "{} bytes", memory.bytes_max);
}

/// One accessor of a mesh, over a view of 24 bytes in a buffer of 24.
fn accessor(fields: &str) -> Result<(), ClaimError> {
    gltf(&format!(
        r#"{{"asset":{{"version":"2.0"}},"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
        "buffers":[{{"byteLength":24,"uri":"data:,{}"}}],
        "bufferViews":[{{"buffer":0,"byteLength":24}},{{"buffer":0,"byteOffset":20,"byteLength":24}}],
        "accessors":[{{{fields},"componentType":5126,"type":"VEC3","min":[0,0,0],"max":[1,1,1]}}]}}"#,
        "x".repeat(24)
    ))
}

#[test]
fn accessors_lie_where_bytes_are() {
    assert_eq!(accessor(r#""bufferView":0,"count":2"#), Ok(()));
    let outside = |needed, there, within: &str| {
        Err(ClaimError::OutOfBounds {
            what: "accessor 0".into(),
            within: within.into(),
            needed,
            there,
        })
    };
    assert_eq!(
        accessor(r#""bufferView":0,"count":3"#),
        outside(36, 24, "buffer view 0")
    );
    assert_eq!(
        accessor(r#""bufferView":0,"byteOffset":4,"count":2"#),
        outside(28, 24, "buffer view 0")
    );
    assert_eq!(accessor(r#""bufferView":1,"count":1"#), outside(44, 24, "buffer 0"));
    let huge = accessor(r#""bufferView":0,"count":18446744073709551615"#);
    assert!(
        matches!(huge, Err(ClaimError::OutOfBounds { needed: u64::MAX, .. })),
        "{huge:?}"
    );
}

#[test]
fn sparse_accessors_are_bounded() {
    let sparse = |count: u64, changed: u64| {
        accessor(&format!(
            r#""count":{count},"sparse":{{"count":{changed},"indices":{{"bufferView":0,"componentType":5123}},"values":{{"bufferView":0}}}}"#
        ))
    };
    assert_eq!(sparse(MAX_SPARSE, 2), Ok(()));
    let count = MAX_SPARSE + 1;
    assert_eq!(sparse(count, 2), Err(ClaimError::HugeSparse { accessor: 0, count }));
    assert!(matches!(sparse(9, 3), Err(ClaimError::OutOfBounds { needed: 36, .. })));
}

#[test]
fn buffers_are_as_long_as_their_bytes() {
    // Twelve bytes, whatever the file says of them.
    let one_point = |buffer: u32, view: u32| {
        gltf(&format!(
            r#"{{"asset":{{"version":"2.0"}},"meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}}}}]}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":1,"type":"VEC3","min":[0,0,0],"max":[0,0,0]}}],
            "bufferViews":[{{"buffer":0,"byteLength":{view}}}],
            "buffers":[{{"byteLength":{buffer},"uri":"data:;base64,AAAAAAAAAAAAAAAA"}}]}}"#
        ))
    };
    for (buffer, view) in [(12, 12), (99, 12), (1, 12)] {
        assert_eq!(one_point(buffer, view), Ok(()), "{buffer}");
    }
    let error = one_point(99, 13).expect_err("there is less");
    assert!(
        matches!(
            error,
            ClaimError::OutOfBounds {
                needed: 13,
                there: 12,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn what_is_unknown_or_broken_is_the_loaders_to_tell() {
    for file in ["a.glb", "a.png", "a.ktx2", "a.dds", "a.hdr", "a.txt", "a"] {
        for bytes in [
            &b""[..],
            b"glTF",
            b"\x89PNG\r\n\x1a\n",
            b"DDS ",
            b"\xabKTX 20\xbb\r\n\x1a\n",
            &[0xff; 99],
        ] {
            assert_eq!(check(Path::new(file), bytes), Ok(()), "{file}: {bytes:?}");
        }
    }
}
