//! Points in space.

use std::sync::Arc;

use super::entry::{Entry, strict};
use crate::error::{QueryError, Result};
use crate::value::{Map, Point, Value};
use crate::view::View;

/// Radius of the earth in metres, as Neo4j has it.
const EARTH: f64 = 6_378_140.0;

pub(super) static FUNCTIONS: &[Entry] = &[
    strict("point", 1..=1, point),
    strict("distance", 2..=2, distance),
    strict("point.distance", 2..=2, distance),
];

fn point(_: &View, values: &[Value]) -> Result<Value> {
    let [Value::Map(map)] = values else {
        return Err(QueryError::of_type("point() takes a map of coordinates"));
    };
    let srid = match map.get("srid") {
        Some(Value::Int(srid)) => i32::try_from(*srid).ok(),
        _ => match map.get("crs") {
            Some(Value::String(name)) => match &*name.to_lowercase() {
                "wgs-84" => Some(4326),
                "wgs-84-3d" => Some(4979),
                "cartesian" => Some(7203),
                "cartesian-3d" => Some(9157),
                _ => {
                    return Err(QueryError::of_argument(format!(
                        "'{name}' is no system of coordinates"
                    )));
                }
            },
            _ => None,
        },
    };
    let some = |names: [&str; 3]| coordinates(map, names);
    let (found, geographic) =
        match (some(["longitude", "latitude", "height"])?, some(["x", "y", "z"])?) {
            (Some(found), _) => (found, true),
            (None, Some(found)) => (found, matches!(srid, Some(4326 | 4979))),
            (None, None) if map.values().any(Value::is_null) => return Ok(Value::Null),
            (None, None) => {
                let message = "a point has x and y, or longitude and latitude";
                return Err(QueryError::of_argument(message));
            }
        };
    let known = match (geographic, found.len()) {
        (true, 2) => 4326,
        (true, _) => 4979,
        (false, 2) => 7203,
        (false, _) => 9157,
    };
    if srid.is_some_and(|srid| srid != known) {
        return Err(QueryError::of_argument(
            "the coordinates do not fit the system of coordinates",
        ));
    }
    Ok(Value::Point(Arc::new(Point { srid: known, coordinates: found })))
}

fn coordinates(map: &Map, names: [&str; 3]) -> Result<Option<Vec<f64>>> {
    let mut found = Vec::new();
    for (i, name) in names.into_iter().enumerate() {
        match map.get(name) {
            Some(Value::Int(value)) => found.push(*value as f64),
            Some(Value::Float(value)) => found.push(*value),
            None | Some(Value::Null) if i == 2 => {}
            None | Some(Value::Null) => return Ok(None),
            Some(other) => return Err(QueryError::of_type(format!("{other} is no coordinate"))),
        }
    }
    Ok(Some(found))
}

fn distance(_: &View, values: &[Value]) -> Result<Value> {
    let [Value::Point(a), Value::Point(b)] = values else {
        return Err(QueryError::of_type("distance() takes two points"));
    };
    if a.srid != b.srid {
        return Ok(Value::Null);
    }
    let (Some([x1, y1]), Some([x2, y2])) =
        (a.coordinates.first_chunk(), b.coordinates.first_chunk())
    else {
        return Ok(Value::Null);
    };
    if a.srid > 5000 {
        let squares = a.coordinates.iter().zip(&b.coordinates).map(|(a, b)| (a - b).powi(2));
        return Ok(Value::Float(squares.sum::<f64>().sqrt()));
    }
    let half = |a: f64, b: f64| ((b - a).to_radians() / 2.0).sin().powi(2);
    let angle = half(*y1, *y2) + y1.to_radians().cos() * y2.to_radians().cos() * half(*x1, *x2);
    let height = |point: &Point| point.coordinates.get(2).copied().unwrap_or_default();
    let ground = 2.0 * (EARTH + (height(a) + height(b)) / 2.0) * angle.sqrt().min(1.0).asin();
    Ok(Value::Float(ground.hypot(height(a) - height(b))))
}
