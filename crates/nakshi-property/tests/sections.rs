//! The property section of the manifest has the bytes that version 0.1.0 wrote, and sections that
//! this version does not know are kept, with their files. Seen red with another name of the section.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};

use nakshi_property::{Change, PropertyEntry, PropertyStore, backup, check};
use nakshi_store::import::Hooks;
use nakshi_store::{ExternalId, FileEntry, Manifest, OpenOptions, Section, Store};
use serde_json::json;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/0.1.0").join(name)
}

/// A copy of the fixture store with properties, which a test may change.
fn people(home: &Path) -> PathBuf {
    let path = home.join("people.nakshi");
    fs::create_dir(&path).unwrap();
    for entry in fs::read_dir(fixture("people.nakshi")).unwrap() {
        let file = entry.unwrap();
        fs::copy(file.path(), path.join(file.file_name())).unwrap();
    }
    path
}

fn manifest_of(path: &Path) -> (Vec<u8>, Manifest) {
    let file = path.join("MANIFEST-1");
    let bytes = fs::read(&file).unwrap();
    let manifest = Manifest::parse(&file, &bytes).unwrap();
    (bytes, manifest)
}

/// The hashes are those that version 0.1.0 printed.
#[test]
fn manifests_of_before_are_written_back_byte_by_byte() {
    for (name, hash, files) in
        [("people.nakshi", "208d59f24d236039", 13), ("roads.nakshi", "863bf220292697d8", 14)]
    {
        let (bytes, manifest) = manifest_of(&fixture(name));
        let written = manifest.to_bytes().unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(bytes).unwrap());
        assert_eq!(manifest.content_hash(), hash);
        assert_eq!(manifest.files().count(), files);
    }
    let (_, manifest) = manifest_of(&fixture("people.nakshi"));
    let entry = PropertyEntry::of(&manifest).unwrap().unwrap();
    let again = Section::new(&entry).unwrap();
    assert_eq!(manifest.sections.get(PropertyEntry::SECTION), Some(&again));
    let names: Vec<&str> = again.files().iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["nodes-1.s0.prop", "edges-1.s0.prop", "properties-1.json"]);
}

#[test]
fn a_section_that_does_not_parse_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = people(home.path());
    let (_, mut manifest) = manifest_of(&path);
    let section = Section::new(&json!({ "shards": "many" })).unwrap();
    manifest.sections.insert(PropertyEntry::SECTION.into(), section);
    fs::write(path.join("MANIFEST-1"), manifest.to_bytes().unwrap()).unwrap();
    let error = PropertyStore::open(&path, &OpenOptions::default()).unwrap_err().to_string();
    for mention in ["MANIFEST-1", "property", "many"] {
        assert!(error.contains(mention), "{error}");
    }
    let report = check(&path, &OpenOptions::default(), &mut |_, _| ()).unwrap();
    assert!(report.problems.iter().any(|line| line.contains("MANIFEST-1")), "{report:?}");
}

/// The writer, a backup and a check treat files of an unknown section as files of the store.
#[test]
fn sections_of_nobody_known_are_kept_with_their_files() {
    let home = tempfile::tempdir().unwrap();
    let path = people(home.path());
    let (_, mut manifest) = manifest_of(&path);
    // A file that is named like a file of another generation, with the bytes of another file.
    let PropertyEntry { segments, .. } = PropertyEntry::of(&manifest).unwrap().unwrap();
    let file = FileEntry { name: "nodes-9.s0.prop".into(), ..segments.nodes[0].clone() };
    for end in ["", ".sum"] {
        let [from, to] = ["nodes-1.s0.prop", "nodes-9.s0.prop"].map(|name| format!("{name}{end}"));
        fs::copy(path.join(from), path.join(to)).unwrap();
    }
    let section = json!({ "zebra": 1, "parts": [{ "of": file }], "apple": null });
    manifest.sections.insert("dictionary".into(), Section::new(&section).unwrap());
    let bytes = manifest.to_bytes().unwrap();
    fs::write(path.join("MANIFEST-1"), &bytes).unwrap();
    assert_eq!(manifest_of(&path), (bytes, manifest.clone()));

    // The writer removes files that a crash has left, but none that a section names.
    fs::write(path.join("nodes-8.s0.prop"), "of a compaction that was killed").unwrap();
    let store = PropertyStore::open(&path, &OpenOptions::default()).unwrap();
    let node = Change::AppendNode { id: ExternalId::Text("zoe".into()), properties: Vec::new() };
    store.commit(&[node]).unwrap();
    drop(store);
    assert!(!path.join("nodes-8.s0.prop").exists());
    assert!(path.join("nodes-9.s0.prop").exists());
    assert!(path.join("nodes-9.s0.prop.sum").exists());

    let copy = home.path().join("copy.nakshi");
    let fs_ = nakshi_io::write::default_fs();
    let report = backup(&fs_, &path, &copy, &Hooks::default()).unwrap();
    assert_eq!(report.files, 14);
    assert_eq!(Store::open(&copy, &OpenOptions::default()).unwrap().manifest(), &manifest);

    let damaged = path.join("nodes-9.s0.prop");
    let mut bytes = fs::read(&damaged).unwrap();
    bytes[100] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    let report = check(&path, &OpenOptions::default(), &mut |_, _| ()).unwrap();
    assert!(report.problems.iter().any(|line| line.contains("nodes-9.s0.prop")), "{report:?}");
    assert_eq!(check(&copy, &OpenOptions::default(), &mut |_, _| ()).unwrap().damage, 0);
}
