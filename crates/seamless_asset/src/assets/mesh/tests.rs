use bevy_ecs::entity::EntityHashMap;
use bevy_reflect::TypeRegistry;

use super::*;

/// One attribute of every format that vertices can have.
fn of_all_formats() -> (Vec<MeshVertexAttribute>, Mesh) {
    let mut mesh = Mesh::new(PrimitiveTopology::LineStrip, RenderAssetUsages::all());
    let mut attributes = Vec::new();
    macro_rules! add {
        ($($format:ident),* $(,)?) => {$({
            let attribute = MeshVertexAttribute::new(stringify!($format), 1000 + attributes.len() as u64, VertexFormat::$format);
            let bytes = |vertex: u8| (0..attribute.format.size() as u8).map(move |byte| byte.wrapping_mul(37) ^ (vertex * 91));
            let bytes: Vec<u8> = (0..3).flat_map(bytes).collect();
            mesh.insert_attribute(attribute, VertexAttributeValues::$format(bytemuck::pod_collect_to_vec(&bytes)));
            attributes.push(attribute);
        })*};
    }
    with_formats!(add);
    mesh.insert_indices(Indices::U32(vec![2, u32::MAX, 0]));
    (attributes, mesh)
}

fn with_context<T>(mesh_attributes: &[MeshVertexAttribute], decode: impl FnOnce(&DecodeContext) -> T) -> T {
    decode(&DecodeContext {
        registry: &TypeRegistry::default(),
        entities: &[],
        handles: &[],
        mesh_attributes,
        object: None,
    })
}

fn encoded(mesh: &Mesh) -> Vec<u8> {
    let (registry, rows) = (TypeRegistry::default(), EntityHashMap::default());
    let encoded = MeshCodec::encode(mesh, &mut EncodeContext::new(&registry, &rows));
    encoded.unwrap().data
}

fn assert_same(found: &Mesh, mesh: &Mesh) {
    assert_eq!(found.attributes().count(), mesh.attributes().count());
    for (attribute, values) in mesh.attributes() {
        let found = found.attribute(attribute.id).unwrap();
        assert_eq!(VertexFormat::from(found), attribute.format);
        assert_eq!(found.get_bytes(), values.get_bytes(), "{}", attribute.name);
    }
    assert_eq!(found.indices(), mesh.indices());
}

#[test]
fn vertices_of_all_formats_are_kept() {
    let (attributes, mesh) = of_all_formats();
    let data = encoded(&mesh);
    let decoded = with_context(&attributes, |context| MeshCodec::decode(&data, vec![], context));
    assert_same(&decoded.unwrap(), &mesh);
}

#[test]
fn the_first_version_has_arrays_as_in_memory() {
    let (attributes, mesh) = of_all_formats();
    let latest = encoded(&mesh);
    let header = 4 + u32::from_le_bytes([latest[0], latest[1], latest[2], latest[3]]) as usize;
    let mut data = latest[..header].to_vec();
    for (_, values) in mesh.attributes() {
        data.extend_from_slice(values.get_bytes());
    }
    for index in [2, u32::MAX, 0] {
        data.extend_from_slice(&index.to_le_bytes());
    }
    assert_eq!(data.len(), latest.len());
    let read = |version| {
        with_context(&attributes, |context| {
            MeshCodec::decode_version(version, &data, vec![], context)
        })
    };
    assert_same(&read(1).unwrap(), &mesh);
    assert!(matches!(read(0), Err(DecodeError::SchemaChanged { .. })));
}

/// A triangle with morph targets and indices of 16 bits.
fn morphed() -> Mesh {
    let morph = |step: f32| MorphAttributes {
        position: Vec3::splat(step),
        normal: Vec3::new(0.0, step, 0.0),
        ..MorphAttributes::default()
    };
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::all())
        .with_inserted_attribute(
            Mesh::ATTRIBUTE_POSITION,
            vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        )
        .with_inserted_indices(Indices::U16(vec![0, 1, 2]))
        .with_morph_targets((0..6).map(|step| morph(step as f32)).collect())
}

fn decoded(data: &[u8]) -> Result<Mesh, DecodeError> {
    with_context(&[], |context| MeshCodec::decode(data, vec![], context))
}

#[test]
fn morph_targets_are_kept() {
    let mesh = morphed();
    let found = decoded(&encoded(&mesh)).unwrap();
    assert_same(&found, &mesh);
    assert_eq!(found.get_morph_targets(), mesh.get_morph_targets());
}

#[test]
fn forged_meshes_are_refused() {
    let data = encoded(&morphed());
    let refused = |data: &[u8], why: &str| match decoded(data) {
        Err(DecodeError::Malformed(message)) => assert!(message.contains(why), "{message}"),
        other => panic!("{:?}", other.err()),
    };
    refused(&data[..data.len() - 1], "an array needs 288 bytes, 287 are left");
    refused(&[&data[..], &[0]].concat(), "1 bytes too many");
    // The first index becomes 3, which goes through all of them: 3, 4, 5. Its lowest byte lies in front of the morph targets.
    let mut wild = data.clone();
    let first = data.len() - 6 * size_of::<MorphAttributes>() - 6;
    assert_eq!(wild[first..first + 6], [0, 2, 2, 0, 0, 0]);
    wild[first] = 6;
    refused(&wild, "index 3 of 3 vertices");
}
