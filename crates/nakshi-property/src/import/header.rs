//! Roles of the columns of a table, by their names.
//!
//! The names follow Neo4j's typed headers (`name:type`, `:ID`, `:START_ID`, `:END_ID`, `:TYPE`,
//! `:LABEL`, `:IGNORE`, with id spaces as in `:ID(Person)`). Without such headers, well-known names
//! have roles. LDBC's columns of ends (`Person.id`) name a space too.

use super::super::temporal::Temporal;
use super::super::value::{PropertyType, Scalar};

/// Kind of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableKind {
    Nodes,
    Edges,
}

/// Role of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// External id of the node, or of an end of the edge; in a space, if it has a name.
    Id {
        space: Option<String>,
    },
    Source {
        space: Option<String>,
    },
    Target {
        space: Option<String>,
    },
    /// Type of the edge.
    Type,
    /// Labels of the node, separated by `;`.
    Labels,
    /// Time of the edge.
    Time,
    /// A property of this type; without a type, one that is inferred from the values.
    Property {
        name: String,
        ty: Option<PropertyType>,
    },
    Ignored,
}

/// The property that labels are kept as.
pub(crate) use super::super::spec::LABELS;

/// The column with the time of an edge.
pub(crate) const TIME: &str = "timestamp";

/// The type of [`LABELS`].
pub(super) const fn labels() -> PropertyType {
    PropertyType::list_of(Scalar::String)
}

/// The types by their names in headers, for messages.
pub(super) const TYPES: &str = "string, int, float, boolean, date, datetime, localdatetime, time, \
     duration, timestamp, bytes, or a list of these such as int[]";

/// Roles that a column of a table has by a typed header; well-known names do not take them then.
#[derive(Clone, Copy, Debug, Default)]
struct TypedRoles {
    id: bool,
    source: bool,
    target: bool,
    ty: bool,
}

impl TypedRoles {
    fn of(names: &[String]) -> Self {
        let word = |name: &String| {
            let (_, suffix) = name.rsplit_once(':')?;
            Some(suffix.split('(').next().unwrap_or(suffix).to_ascii_uppercase())
        };
        let words: Vec<String> = names.iter().filter_map(word).collect();
        let has = |wanted: &str| words.iter().any(|word| word == wanted);
        TypedRoles {
            id: has("ID"),
            source: has("START_ID"),
            target: has("END_ID"),
            ty: has("TYPE"),
        }
    }
}

/// Finds the roles of the columns of a table.
///
/// # Errors
/// A message that says what is missing or unknown.
pub(super) fn roles(kind: TableKind, names: &[String]) -> Result<Vec<Role>, String> {
    let mut roles: Vec<Role> = Vec::with_capacity(names.len());
    let typed = TypedRoles::of(names);
    for name in names {
        let role = role(kind, name, &roles, typed)?;
        if let Role::Property { name, .. } = &role
            && roles
                .iter()
                .any(|r| matches!(r, Role::Property { name: other, .. } if other == name))
        {
            return Err(format!("two columns are called '{name}'; rename one of them"));
        }
        roles.push(role);
    }
    let has = |wanted: fn(&Role) -> bool| roles.iter().filter(|role| wanted(role)).count();
    let ids: &[(&str, usize)] = match kind {
        TableKind::Nodes => &[(":ID", has(|role| matches!(role, Role::Id { .. })))],
        TableKind::Edges => &[
            (":START_ID", has(|role| matches!(role, Role::Source { .. }))),
            (":END_ID", has(|role| matches!(role, Role::Target { .. }))),
        ],
    };
    match ids.iter().find(|(_, count)| *count != 1) {
        Some((wanted, 0)) => Err(format!(
            "no column is {wanted}; the columns are: {}; name it, columns={{'COLUMN': '{wanted}'}} \
             (--columns COLUMN={wanted})",
            names.join(", ")
        )),
        Some((wanted, _)) => Err(format!("more than one column is {wanted}")),
        None => Ok(roles),
    }
}

fn role(kind: TableKind, header: &str, before: &[Role], typed: TypedRoles) -> Result<Role, String> {
    let (name, suffix) = match header.rsplit_once(':') {
        Some((name, suffix)) => (name, Some(suffix)),
        None => (header, None),
    };
    let Some(suffix) = suffix else { return Ok(well_known(kind, header, before, typed)) };
    let (word, space) = match suffix.split_once('(') {
        Some((word, rest)) => (word, rest.strip_suffix(')').map(str::to_owned)),
        None => (suffix, None),
    };
    let space = space.filter(|space| !space.is_empty());
    Ok(match (kind, word.to_ascii_uppercase().as_str()) {
        (TableKind::Nodes, "ID") => Role::Id { space },
        (TableKind::Nodes, "LABEL") => Role::Labels,
        (TableKind::Edges, "START_ID") => Role::Source { space },
        (TableKind::Edges, "END_ID") => Role::Target { space },
        (TableKind::Edges, "TYPE") => Role::Type,
        (_, "IGNORE") => Role::Ignored,
        _ => {
            let ty = property_type(word).ok_or_else(|| {
                format!("the column '{header}' has the unknown type '{word}'; choose {TYPES}")
            })?;
            // Only the first such column is the end: edges may have a property of this name as
            // well.
            if kind == TableKind::Edges
                && name.eq_ignore_ascii_case(TIME)
                && !ty.list
                && !before.contains(&Role::Time)
            {
                return Ok(Role::Time);
            }
            if name.is_empty() {
                return Err(format!("the column '{header}' has a type and no name"));
            }
            Role::Property { name: name.to_owned(), ty: Some(ty) }
        }
    })
}

fn well_known(kind: TableKind, name: &str, before: &[Role], typed: TypedRoles) -> Role {
    let has = |wanted: fn(&Role) -> bool| before.iter().any(wanted);
    let source = typed.source || has(|role| matches!(role, Role::Source { .. }));
    let target = typed.target || has(|role| matches!(role, Role::Target { .. }));
    let id = typed.id || has(|role| matches!(role, Role::Id { .. }));
    let ty = typed.ty || has(|role| *role == Role::Type);
    let lower = name.to_ascii_lowercase();
    if kind == TableKind::Edges
        && !typed.source
        && !typed.target
        && (!source || !target)
        && let Some(space) = name.strip_suffix(".id")
    {
        let space = Some(space.to_owned());
        return if source { Role::Target { space } } else { Role::Source { space } };
    }
    match (kind, lower.as_str()) {
        (TableKind::Nodes, "id") if !id => Role::Id { space: None },
        (TableKind::Edges, "source" | "src" | "from" | "start") if !source => {
            Role::Source { space: None }
        }
        (TableKind::Edges, "target" | "dst" | "to" | "end" | "destination") if !target => {
            Role::Target { space: None }
        }
        (TableKind::Edges, "type") if !ty => Role::Type,
        (TableKind::Edges, TIME) if !has(|role| *role == Role::Time) => Role::Time,
        _ => Role::Property { name: name.to_owned(), ty: None },
    }
}

/// Parses the name of a type, as Neo4j or as Nakshi spells it.
fn property_type(name: &str) -> Option<PropertyType> {
    let lower = name.to_ascii_lowercase();
    let (word, list) = match lower.strip_suffix("[]") {
        Some(word) => (word, true),
        None => (lower.as_str(), false),
    };
    let scalar = match word {
        "string" | "char" => Scalar::String,
        "bytes" => Scalar::Bytes,
        "int" | "long" | "short" | "byte" => Scalar::Int,
        "float" | "double" => Scalar::Float,
        "bool" | "boolean" => Scalar::Bool,
        "timestamp" => Scalar::Timestamp,
        "date" => Scalar::Temporal(Temporal::Date),
        "datetime" => Scalar::Temporal(Temporal::DateTime),
        "localdatetime" => Scalar::Temporal(Temporal::LocalDateTime),
        "time" | "localtime" => Scalar::Temporal(Temporal::Time),
        "duration" => Scalar::Temporal(Temporal::Duration),
        _ => return None,
    };
    Some(PropertyType { scalar, list })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: TableKind, names: &str) -> Result<Vec<Role>, String> {
        roles(kind, &names.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    fn property(name: &str, ty: Option<PropertyType>) -> Role {
        Role::Property { name: name.into(), ty }
    }

    #[test]
    fn typed_headers_and_well_known_names() {
        let person = || Some("Person".to_owned());
        assert_eq!(
            of(TableKind::Nodes, "personId:ID(Person),name,age:int,tags:string[],:LABEL,x:IGNORE"),
            Ok(vec![
                Role::Id { space: person() },
                property("name", None),
                property("age", Some(PropertyType::of(Scalar::Int))),
                property("tags", Some(PropertyType::list_of(Scalar::String))),
                Role::Labels,
                Role::Ignored,
            ])
        );
        assert_eq!(
            of(TableKind::Edges, ":START_ID(Person),:END_ID,:TYPE,timestamp:long,weight:double"),
            Ok(vec![
                Role::Source { space: person() },
                Role::Target { space: None },
                Role::Type,
                Role::Time,
                property("weight", Some(PropertyType::of(Scalar::Float))),
            ])
        );
        let ends = vec![Role::Source { space: person() }, Role::Target { space: person() }];
        assert_eq!(of(TableKind::Edges, "Person.id,Person.id"), Ok(ends));
        assert_eq!(
            of(TableKind::Edges, "Source,target,type,position"),
            Ok(vec![
                Role::Source { space: None },
                Role::Target { space: None },
                Role::Type,
                property("position", None),
            ])
        );
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (kind, names, mention) in [
            (TableKind::Nodes, "name,age", ":ID"),
            (TableKind::Edges, "source,type", ":END_ID"),
            (TableKind::Nodes, ":ID,:ID", "more than one"),
            (TableKind::Nodes, "id,place:point", "point"),
            (TableKind::Nodes, "id,a,a", "two columns"),
            (TableKind::Nodes, "id,:int", "no name"),
        ] {
            let error = of(kind, names).unwrap_err();
            assert!(error.contains(mention), "{error}");
        }
    }
}
