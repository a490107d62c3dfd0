//! Named sections of the manifest, which the crates above this one own and read.
//!
//! The store keeps a section exactly as it is in the file, with keys and files in their order, and
//! knows the files that it names. [`check`](crate::check()), [`backup`](crate::backup()) and the
//! content hash therefore cover the files of every section, even if this version has no owner for
//! it.

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One file of a store, under the store's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// File name.
    pub name: String,
    /// Number that salts its checksums; unique in the store.
    pub id: u32,
    /// Length in bytes, without padding.
    pub len: u64,
    /// CRC-32C of its checksum table.
    pub sums: u32,
    /// CRC-64 of its content, unsalted, as 16 hexadecimal digits.
    pub hash: String,
}

/// A section of the manifest: a value that its owner interprets, and the files that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    value: Json,
    files: Vec<FileEntry>,
}

/// A JSON value whose objects keep the order of their keys.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Json {
    /// Null, a Boolean, a number or a string.
    Scalar(serde_json::Value),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Section {
    /// Makes the section that holds `value`.
    ///
    /// # Errors
    /// The errors of serialising the value.
    pub fn new<T: Serialize>(value: &T) -> serde_json::Result<Self> {
        serde_json::from_slice(&serde_json::to_vec(value)?)
    }

    /// Parses the value for its owner.
    ///
    /// # Errors
    /// The errors of parsing: the section has another content.
    pub fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_slice(&serde_json::to_vec(&self.value)?)
    }

    /// Returns the files that the section names, in their order: every object in it that has the
    /// fields of a [`FileEntry`].
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// The format of the store that the section needs, where it names one in a field `format`.
    pub(crate) fn format(&self) -> Option<u32> {
        let Json::Object(fields) = &self.value else { return None };
        fields.iter().find_map(|(name, value)| match value {
            Json::Scalar(number) if name == "format" => u32::try_from(number.as_u64()?).ok(),
            _ => None,
        })
    }

    /// Returns true if the section is null, as if it were absent.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Json::Scalar(serde_json::Value::Null))
    }
}

impl Json {
    fn collect(&self, files: &mut Vec<FileEntry>) {
        match self {
            Json::Scalar(_) => {}
            Json::List(items) => items.iter().for_each(|item| item.collect(files)),
            Json::Object(fields) => match file(fields) {
                Some(file) => files.push(file),
                None => fields.iter().for_each(|(_, value)| value.collect(files)),
            },
        }
    }
}

/// Returns the entry of a file, if an object has the fields of one.
fn file(fields: &[(String, Json)]) -> Option<FileEntry> {
    let field = |name: &str| {
        fields.iter().find_map(|(key, value)| match value {
            Json::Scalar(scalar) if key == name => Some(scalar),
            _ => None,
        })
    };
    let number = |name: &str| u32::try_from(field(name)?.as_u64()?).ok();
    Some(FileEntry {
        name: field("name")?.as_str()?.to_owned(),
        id: number("id")?,
        len: field("len")?.as_u64()?,
        sums: number("sums")?,
        hash: field("hash")?.as_str()?.to_owned(),
    })
}

impl Serialize for Section {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (value, mut files) = (Json::deserialize(deserializer)?, Vec::new());
        value.collect(&mut files);
        Ok(Section { value, files })
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Scalar(scalar) => scalar.serialize(serializer),
            Json::List(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(item))?;
                list.end()
            }
            Json::Object(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(key, value)| object.serialize_entry(key, value))?;
                object.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

/// A visitor that accepts any JSON value.
struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Scalar(serde_json::Value::Null))
    }

    fn visit_none<E>(self) -> Result<Json, E> {
        Ok(Json::Scalar(serde_json::Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        Json::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Json::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = object.next_entry()? {
            fields.push(field);
        }
        Ok(Json::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"zebra":1,"apple":[true,null,-2,0.5,"text"],
        "file":{"name":"b-1.x","id":7,"len":9,"sums":3,"hash":"00"},
        "parts":[{"name":"a-1.x","id":8,"len":10,"sums":4,"hash":"01","later":{}},
                 {"name":"not a file","type":"int"},{"name":"c","id":-1,"len":1,"sums":1,"hash":""}]}"#;

    #[test]
    fn keys_and_files_keep_their_order() {
        let section: Section = serde_json::from_str(TEXT).unwrap();
        let plain: String = TEXT.split_whitespace().collect();
        let written = serde_json::to_string(&section).unwrap();
        assert_eq!(written, plain.replace("notafile", "not a file"));
        let names: Vec<_> = section.files().iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["b-1.x", "a-1.x"]);
        assert_eq!(section.files()[1].len, 10);
        assert_eq!(Section::new(&section).unwrap(), section);
    }

    #[test]
    fn owners_read_their_type() {
        let section = Section::new(&vec![3, 4]).unwrap();
        assert_eq!(section.read::<Vec<u8>>().unwrap(), [3, 4]);
        assert!(section.read::<String>().is_err());
        assert!(serde_json::from_str::<Section>("null").unwrap().is_null());
    }
}
