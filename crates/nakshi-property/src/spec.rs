//! The declaration of a property.

use serde::{Deserialize, Serialize};

use super::value::{PropertyType, Scalar};

/// The property that labels of nodes are kept as.
pub const LABELS: &str = "labels";

/// Beginning of the names of properties that Nakshi keeps for itself.
pub(crate) const RESERVED: &str = "nakshi:";
/// Beginning of the names of the columns that hold values of a property that its typed column cannot
/// hold: bytes that describe themselves.
pub(crate) const ANY: &str = "nakshi:any:";
/// The property of edges with their number, which tells edges with the same ends and type apart.
pub(crate) const EDGE_NUMBER: &str = "nakshi:number";

/// Name and type of a property, and how the property is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertySpec {
    /// Name, unique among nodes or among edges.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub ty: PropertyType,
    /// True if the columns of the property are compressed text in which substrings are found
    /// without reading all values; for strings and bytes only. In
    /// [`PropertyLayout::Zipg`](crate::PropertyLayout::Zipg) all properties are such text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub searchable: bool,
}

impl PropertySpec {
    /// A property that is not searchable.
    pub fn new(name: impl Into<String>, ty: PropertyType) -> Self {
        Self { name: name.into(), ty, searchable: false }
    }

    /// Returns true for a property that Nakshi keeps for itself, and no query returns.
    pub(crate) fn is_hidden(&self) -> bool {
        self.name.starts_with(RESERVED)
    }

    /// The property whose values of any type this column has; `None` for a column of one type.
    pub fn any_of(&self) -> Option<&str> {
        self.name.strip_prefix(ANY)
    }

    /// The name of the column with the values of any type of a property. They are bytes.
    pub fn any_column(property: &str) -> String {
        format!("{ANY}{property}")
    }

    /// Returns true if each value is one number that can be a weight.
    pub fn is_number(&self) -> bool {
        let number = matches!(self.ty.scalar, Scalar::Int | Scalar::Float);
        number && !self.ty.list && !self.is_hidden()
    }
}
