use bevy_mesh::Mesh;
use bevy_reflect::FromReflect;

use super::*;

#[test]
fn files_hold_paths() {
    let rock = SoftHandle::<Mesh>::new("rocks.glb#Mesh0");
    let text = ron::to_string(&rock).unwrap();
    assert_eq!(text, r#""rocks.glb#Mesh0""#);
    assert_eq!(ron::from_str::<SoftHandle<Mesh>>(&text).unwrap(), rock);
    assert_eq!(SoftHandle::<Mesh>::from_reflect(&rock), Some(rock));
}
