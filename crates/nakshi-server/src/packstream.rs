//! Values of queries in PackStream, and back.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use boltr::packstream::encode::{
    encode_bool, encode_bytes, encode_float, encode_int, encode_null, encode_string,
    encode_struct_header,
};
use boltr::packstream::{decode_value, marker};
use boltr::types::{BoltDict, BoltNode, BoltPath, BoltValue, tag};
use bytes::{BufMut, BytesMut};
use chrono::{DateTime as UtcTime, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike};
use nakshi_query::{
    DateTime, Duration, Map, Node, Path, Point, Relationship, Row, Time, Value, Zone,
};
use nakshi_store::ExternalId;

use crate::error::{Error, ErrorKind};
use crate::failure::Failure;

/// Structure of a point in time with an offset, counted in local seconds, as before version 5.
const LOCAL_DATE_TIME_OFFSET: u8 = 0x46;
/// Structure of a point in time with the name of a zone, counted in local seconds, as before version 5.
const LOCAL_DATE_TIME_ZONE: u8 = 0x66;
/// Letters before the ids of nodes that tell their types.
const NUMBER: char = 'n';
const BIG: char = 'i';
const TEXT: char = 't';
const BYTES: char = 'b';
/// Nanoseconds of a second.
const NANOS: i64 = 1_000_000_000;

/// How values are written for a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encoder {
    /// True if nodes and edges have ids of text beside those of numbers.
    element_ids: bool,
    /// True if points in time are counted in UTC.
    pub(crate) utc: bool,
    /// True if a letter before the ids of nodes tells their type.
    typed: bool,
}

/// Markers of a list or a dictionary by its length: up to 15, 8, 16 and 32 bits.
fn header(out: &mut BytesMut, length: usize, [nibble, short, middle, long]: [u8; 4]) {
    match length {
        // Each length fits what its arm has.
        0..16 => out.put_u8(nibble | length as u8),
        16..256 => {
            out.put_u8(short);
            out.put_u8(length as u8);
        }
        256..65536 => {
            out.put_u8(middle);
            out.put_u16(length as u16);
        }
        // No message is so long that this fails: its bytes are in memory.
        _ => {
            out.put_u8(long);
            out.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }
}

const LIST: [u8; 4] = [marker::TINY_LIST_NIBBLE, marker::LIST_8, marker::LIST_16, marker::LIST_32];
const DICT: [u8; 4] = [marker::TINY_DICT_NIBBLE, marker::DICT_8, marker::DICT_16, marker::DICT_32];

fn nanos(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight()) * NANOS + i64::from(time.nanosecond())
}

impl Encoder {
    /// As clients of Neo4j read values: from version 5 on with ids of text.
    pub(crate) fn for_drivers(element_ids: bool) -> Self {
        Encoder { element_ids, utc: element_ids, typed: false }
    }

    /// As [`rows`] reads values.
    pub(crate) fn for_rows() -> Self {
        Encoder { element_ids: true, utc: true, typed: true }
    }

    /// The id of a node, which is `text` for drivers.
    fn id(self, out: &mut BytesMut, text: &str, external: Option<&ExternalId>) {
        let letter = match external {
            Some(ExternalId::U64(_) | ExternalId::I64(_)) => NUMBER,
            Some(ExternalId::Big(_)) => BIG,
            Some(ExternalId::Bytes(_)) => BYTES,
            Some(ExternalId::Text(_)) | None => TEXT,
        };
        match external {
            _ if !self.typed => encode_string(out, text),
            Some(ExternalId::Bytes(bytes)) => {
                encode_string(out, &format!("{letter}{}", BASE64_STANDARD.encode(bytes)));
            }
            _ => encode_string(out, &format!("{letter}{text}")),
        }
    }

    pub(crate) fn list(self, out: &mut BytesMut, items: &[Value]) {
        header(out, items.len(), LIST);
        items.iter().for_each(|item| self.value(out, item));
    }

    /// Rows, as a list of lists.
    pub(crate) fn rows(self, out: &mut BytesMut, rows: &[Row]) {
        header(out, rows.len(), LIST);
        rows.iter().for_each(|row| self.list(out, row));
    }

    /// A dictionary.
    pub(crate) fn map(self, out: &mut BytesMut, map: &Map) {
        header(out, map.len(), DICT);
        for (name, value) in map {
            encode_string(out, name);
            self.value(out, value);
        }
    }

    pub(crate) fn value(self, out: &mut BytesMut, value: &Value) {
        match value {
            Value::Null => encode_null(out),
            Value::Bool(value) => encode_bool(out, *value),
            Value::Int(value) => encode_int(out, *value),
            Value::Float(value) => encode_float(out, *value),
            Value::String(text) => encode_string(out, text),
            Value::Bytes(bytes) => encode_bytes(out, bytes),
            Value::List(items) => self.list(out, items),
            Value::Map(map) => self.map(out, map),
            Value::Node(node) => self.node(out, node),
            Value::Relationship(edge) => self.edge(out, edge),
            Value::Path(path) => self.path(out, path),
            Value::Date(date) => {
                encode_struct_header(out, tag::DATE, 1);
                encode_int(out, days(*date));
            }
            Value::LocalTime(time) => {
                encode_struct_header(out, tag::LOCAL_TIME, 1);
                encode_int(out, nanos(*time));
            }
            Value::Time(time) => {
                encode_struct_header(out, tag::TIME, 2);
                encode_int(out, nanos(time.time));
                encode_int(out, time.offset.into());
            }
            Value::LocalDateTime(time) => {
                encode_struct_header(out, tag::LOCAL_DATE_TIME, 2);
                encode_int(out, time.and_utc().timestamp());
                encode_int(out, time.nanosecond().into());
            }
            Value::DateTime(time) => self.date_time(out, time),
            Value::Duration(duration) => {
                encode_struct_header(out, tag::DURATION, 4);
                encode_int(out, duration.months);
                encode_int(out, duration.days);
                encode_int(out, duration.seconds);
                encode_int(out, duration.nanos.into());
            }
            Value::Point(point) => {
                let tag = if point.coordinates.len() > 2 { tag::POINT_3D } else { tag::POINT_2D };
                encode_struct_header(out, tag, 1 + point.coordinates.len());
                encode_int(out, point.srid.into());
                point.coordinates.iter().for_each(|&x| encode_float(out, x));
            }
        }
    }

    fn node(self, out: &mut BytesMut, node: &Node) {
        encode_struct_header(out, tag::NODE, if self.element_ids { 4 } else { 3 });
        encode_int(out, node.id());
        header(out, node.labels().len(), LIST);
        node.labels().iter().for_each(|label| encode_string(out, label));
        self.map(out, node.properties());
        if self.element_ids {
            self.id(out, node.element_id(), node.external_id());
        }
    }

    fn edge(self, out: &mut BytesMut, edge: &Relationship) {
        encode_struct_header(out, tag::RELATIONSHIP, if self.element_ids { 8 } else { 5 });
        encode_int(out, edge.id());
        encode_int(out, edge.start().0);
        encode_int(out, edge.end().0);
        encode_string(out, edge.edge_type());
        self.map(out, edge.properties());
        if self.element_ids {
            encode_string(out, edge.element_id());
            let [start, end] = edge.external_ends().map_or([None; 2], |ends| ends.map(Some));
            self.id(out, edge.start().1, start);
            self.id(out, edge.end().1, end);
        }
    }

    /// A path: its nodes, its edges, and in turn the place of an edge, counted from 1 and negative if it is
    /// passed against its direction, and that of the node after it.
    fn path<'p>(self, out: &mut BytesMut, path: &'p Path) {
        let (mut nodes, mut edges): (Vec<&'p Node>, Vec<&Relationship>) = (Vec::new(), Vec::new());
        let mut place_of = |node: &'p Node| {
            let found =
                nodes.iter().position(|known: &&Node| known.element_id() == node.element_id());
            found.unwrap_or_else(|| {
                nodes.push(node);
                nodes.len() - 1
            })
        };
        let mut places = Vec::with_capacity(2 * path.edges.len());
        for (i, node) in path.nodes.iter().enumerate() {
            let node_place = place_of(node);
            let Some(edge) = i.checked_sub(1).and_then(|before| path.edges.get(before)) else {
                continue;
            };
            let found = edges.iter().position(|known| known.element_id() == edge.element_id());
            let edge_place = found.unwrap_or_else(|| {
                edges.push(edge);
                edges.len() - 1
            });
            // Lossless: places in memory.
            let place = edge_place as i64 + 1;
            places.push(if edge.end().0 == node.id() { place } else { -place });
            places.push(node_place as i64);
        }
        encode_struct_header(out, tag::PATH, 3);
        header(out, nodes.len(), LIST);
        nodes.into_iter().for_each(|node| self.node(out, node));
        header(out, edges.len(), LIST);
        for edge in edges {
            encode_struct_header(
                out,
                tag::UNBOUND_RELATIONSHIP,
                if self.element_ids { 4 } else { 3 },
            );
            encode_int(out, edge.id());
            encode_string(out, edge.edge_type());
            self.map(out, edge.properties());
            if self.element_ids {
                encode_string(out, edge.element_id());
            }
        }
        header(out, places.len(), LIST);
        places.into_iter().for_each(|place| encode_int(out, place));
    }

    fn date_time(self, out: &mut BytesMut, time: &DateTime) {
        let (local, offset) = (time.local(), time.offset());
        let seconds = local.and_utc().timestamp();
        let seconds = if self.utc { seconds - i64::from(offset) } else { seconds };
        let [of_offset, of_zone] = match self.utc {
            true => [tag::DATE_TIME, tag::DATE_TIME_ZONE_ID],
            false => [LOCAL_DATE_TIME_OFFSET, LOCAL_DATE_TIME_ZONE],
        };
        let tag = if matches!(time.zone(), Zone::Offset(_)) { of_offset } else { of_zone };
        encode_struct_header(out, tag, 3);
        encode_int(out, seconds);
        encode_int(out, local.nanosecond().into());
        match time.zone() {
            Zone::Offset(offset) => encode_int(out, offset.into()),
            Zone::Named(zone) => encode_string(out, zone.name()),
        }
    }
}

/// The rows that [`Encoder::for_rows`] has written as a list of lists.
///
/// # Errors
/// Bytes that it did not write.
pub(crate) fn rows(bytes: Vec<u8>) -> Result<Vec<Row>, Error> {
    let broken = || Error::new(ErrorKind::Internal, "internal error: the server told no rows");
    let mut bytes = BytesMut::from(bytes.as_slice());
    let Ok(BoltValue::List(rows)) = decode_value(&mut bytes) else { return Err(broken()) };
    let row = |row: BoltValue| match row {
        BoltValue::List(values) => values.into_iter().map(shown).collect::<Option<Row>>(),
        _ => None,
    };
    rows.into_iter().map(row).collect::<Option<_>>().ok_or_else(broken)
}

/// A value of a result; `None` for what is none.
fn shown(value: BoltValue) -> Option<Value> {
    Some(match value {
        BoltValue::List(items) => Value::list(items.into_iter().map(shown).collect::<Option<_>>()?),
        BoltValue::Dict(entries) => Value::of_map(shown_map(entries)?),
        BoltValue::Node(node) => Value::Node(shown_node(node)?),
        BoltValue::Relationship(edge) => {
            let ends = [
                (edge.start_node_id, external_of(&edge.start_element_id)?),
                (edge.end_node_id, external_of(&edge.end_element_id)?),
            ];
            let properties = shown_map(edge.properties)?;
            Value::Relationship(Relationship::shown(
                (edge.id, edge.element_id),
                edge.rel_type.into(),
                ends,
                properties,
            ))
        }
        BoltValue::Path(path) => shown_path(path)?,
        other => decode(other).ok()?,
    })
}

fn shown_map(entries: BoltDict) -> Option<Map> {
    entries.into_iter().map(|(name, value)| Some((name.into(), shown(value)?))).collect()
}

fn shown_node(node: BoltNode) -> Option<Node> {
    let labels = node.labels.into_iter().map(Arc::from).collect();
    let external = external_of(&node.element_id)?;
    Some(Node::shown(node.id, external, labels, shown_map(node.properties)?))
}

fn shown_path(path: BoltPath) -> Option<Value> {
    let nodes = path.nodes.into_iter().map(shown_node).collect::<Option<Vec<Node>>>()?;
    let mut passed = vec![nodes.first()?.clone()];
    let mut edges = Vec::new();
    for step in path.indices.chunks(2) {
        let [edge, node] = step else { return None };
        let (before, after) = (passed.last()?.clone(), nodes.get(usize::try_from(*node).ok()?)?);
        let place = usize::try_from(edge.unsigned_abs()).ok()?.checked_sub(1)?;
        let found = path.rels.get(place)?;
        let (from, to) = if *edge > 0 { (&before, after) } else { (after, &before) };
        let end = |node: &Node| Some((node.id(), node.external_id()?.clone()));
        edges.push(Relationship::shown(
            (found.id, found.element_id.clone()),
            found.rel_type.as_str().into(),
            [end(from)?, end(to)?],
            shown_map(found.properties.clone())?,
        ));
        passed.push(after.clone());
    }
    Some(Value::Path(Arc::new(Path { nodes: passed, edges })))
}

/// The id of a node from its text with a letter.
fn external_of(text: &str) -> Option<ExternalId> {
    let mut rest = text.chars();
    Some(match rest.next()? {
        NUMBER => match rest.as_str().parse() {
            Ok(id) => ExternalId::I64(id),
            Err(_) => ExternalId::U64(rest.as_str().parse().ok()?),
        },
        BIG => ExternalId::Big(rest.as_str().to_owned()),
        TEXT => ExternalId::Text(rest.as_str().to_owned()),
        BYTES => ExternalId::Bytes(BASE64_STANDARD.decode(rest.as_str()).ok()?),
        _ => return None,
    })
}

/// Days since the first of January 1970.
fn days(date: NaiveDate) -> i64 {
    date.signed_duration_since(NaiveDate::default()).num_days()
}

/// The parameters of a statement.
///
/// # Errors
/// A parameter that is a node, an edge or a path, or a time that no calendar has.
pub(crate) fn parameters(given: BoltDict) -> Result<Map, Failure> {
    let one = |(name, value): (String, BoltValue)| match decode(value) {
        Ok(value) => Ok((name.into(), value)),
        Err(why) => {
            let message = format!("the parameter ${name} {why}");
            Err(Failure::new("Neo.ClientError.Statement.TypeError", message))
        }
    };
    given.into_iter().map(one).collect()
}

/// A parameter as a value of a query; what is wrong with it otherwise.
fn decode(value: BoltValue) -> Result<Value, &'static str> {
    const NO_TIME: &str = "is a time that the calendar does not have";
    Ok(match value {
        BoltValue::Null => Value::Null,
        BoltValue::Boolean(value) => Value::Bool(value),
        BoltValue::Integer(value) => Value::Int(value),
        BoltValue::Float(value) => Value::Float(value),
        BoltValue::String(text) => Value::text(text),
        BoltValue::Bytes(bytes) => Value::Bytes(bytes.into()),
        BoltValue::List(items) => {
            Value::list(items.into_iter().map(decode).collect::<Result<_, _>>()?)
        }
        BoltValue::Dict(entries) => {
            let entry = |(name, value)| decode(value).map(|value| (name, value));
            Value::map(entries.into_iter().map(entry).collect::<Result<Vec<_>, _>>()?)
        }
        BoltValue::Node(_) | BoltValue::Relationship(_) | BoltValue::UnboundRelationship(_) => {
            return Err("is a node or an edge, which no parameter can be; give its id");
        }
        BoltValue::Path(_) => return Err("is a path, which no parameter can be"),
        BoltValue::Date(date) => Value::Date(date_of(date.days).ok_or(NO_TIME)?),
        BoltValue::LocalTime(time) => Value::LocalTime(time_of(time.nanoseconds).ok_or(NO_TIME)?),
        BoltValue::Time(time) => {
            let offset = offset_of(time.tz_offset_seconds).ok_or(NO_TIME)?;
            Value::Time(Time { time: time_of(time.nanoseconds).ok_or(NO_TIME)?, offset })
        }
        BoltValue::LocalDateTime(time) => {
            Value::LocalDateTime(instant_of(time.seconds, time.nanoseconds).ok_or(NO_TIME)?)
        }
        BoltValue::DateTime(time) => {
            let zone = Zone::Offset(offset_of(time.tz_offset_seconds).ok_or(NO_TIME)?);
            let utc = instant_of(time.seconds, time.nanoseconds).ok_or(NO_TIME)?;
            Value::DateTime(DateTime::of_utc(utc, zone).ok_or(NO_TIME)?)
        }
        BoltValue::DateTimeZoneId(time) => {
            let zone = time.tz_id.parse().map_err(|_| "has a time zone that is unknown")?;
            let utc = instant_of(time.seconds, time.nanoseconds).ok_or(NO_TIME)?;
            Value::DateTime(DateTime::of_utc(utc, Zone::Named(zone)).ok_or(NO_TIME)?)
        }
        BoltValue::Duration(parts) => {
            // Nanoseconds may have the sign of the seconds.
            let whole = parts.seconds.checked_add(parts.nanoseconds.div_euclid(NANOS));
            let seconds = whole.ok_or("is a duration that is too long")?;
            // Lossless: a remainder below a billion.
            let nanos = parts.nanoseconds.rem_euclid(NANOS) as i32;
            let (months, days) = (parts.months, parts.days);
            Value::Duration(Arc::new(Duration { months, days, seconds, nanos }))
        }
        BoltValue::Point2D(at) => point(at.srid, vec![at.x, at.y])?,
        BoltValue::Point3D(at) => point(at.srid, vec![at.x, at.y, at.z])?,
    })
}

fn point(srid: i64, coordinates: Vec<f64>) -> Result<Value, &'static str> {
    let dimensions = match srid {
        4326 | 7203 => 2,
        4979 | 9157 => 3,
        _ => return Err("is a point whose system of coordinates is unknown"),
    };
    if coordinates.len() != dimensions {
        return Err("is a point with too many or too few coordinates");
    }
    // Lossless: one of the four numbers above.
    Ok(Value::Point(Arc::new(Point { srid: srid as i32, coordinates })))
}

fn date_of(days: i64) -> Option<NaiveDate> {
    let count = Days::new(days.unsigned_abs());
    let first = NaiveDate::default();
    if days < 0 { first.checked_sub_days(count) } else { first.checked_add_days(count) }
}

fn time_of(nanos: i64) -> Option<NaiveTime> {
    let seconds = u32::try_from(nanos.div_euclid(NANOS)).ok()?;
    NaiveTime::from_num_seconds_from_midnight_opt(
        seconds,
        u32::try_from(nanos.rem_euclid(NANOS)).ok()?,
    )
}

fn instant_of(seconds: i64, nanos: i64) -> Option<NaiveDateTime> {
    Some(UtcTime::from_timestamp(seconds, u32::try_from(nanos).ok()?)?.naive_utc())
}

/// Seconds east of UTC: less than a day.
fn offset_of(seconds: i64) -> Option<i32> {
    i32::try_from(seconds).ok().filter(|offset| offset.abs() <= 18 * 3600)
}

#[cfg(test)]
mod tests {
    use boltr::types::{BoltDate, BoltDateTimeZoneId, BoltDuration, BoltPoint2D, BoltTime};

    use super::*;

    const FIVE: Encoder = Encoder { element_ids: true, utc: true, typed: false };

    fn there_and_back(value: BoltValue) -> BoltValue {
        let mut out = BytesMut::new();
        FIVE.value(&mut out, &decode(value).unwrap());
        decode_value(&mut out).unwrap()
    }

    #[test]
    fn values_come_back_as_they_were() {
        let values = [
            BoltValue::Null,
            BoltValue::Boolean(true),
            BoltValue::Integer(i64::MIN),
            BoltValue::Float(0.1),
            BoltValue::String("ü".repeat(70_000)),
            BoltValue::Bytes(vec![0, 255]),
            BoltValue::Date(BoltDate { days: -719_162 }),
            BoltValue::Time(BoltTime { nanoseconds: 86_399_999_999_999, tz_offset_seconds: -3600 }),
            BoltValue::DateTimeZoneId(BoltDateTimeZoneId {
                seconds: 1_700_000_000,
                nanoseconds: 1,
                tz_id: "Europe/Berlin".to_owned(),
            }),
            BoltValue::Duration(BoltDuration { months: -1, days: 2, seconds: -3, nanoseconds: 4 }),
            BoltValue::Point2D(BoltPoint2D { srid: 7203, x: 1.5, y: -2.0 }),
        ];
        for value in &values {
            assert_eq!(there_and_back(value.clone()), *value);
        }
        let list = BoltValue::List(values.iter().cloned().cycle().take(300).collect());
        assert_eq!(there_and_back(list.clone()), list);
        let names = (0..20).map(|i| (format!("k{i}"), BoltValue::Integer(i)));
        let map = BoltValue::Dict(names.collect());
        assert_eq!(there_and_back(map.clone()), map);
    }

    #[test]
    fn what_no_value_is_is_refused() {
        let wrong = [
            BoltValue::Date(BoltDate { days: i64::MAX }),
            BoltValue::Time(BoltTime { nanoseconds: -1, tz_offset_seconds: 0 }),
            BoltValue::Time(BoltTime { nanoseconds: 0, tz_offset_seconds: 1 << 40 }),
            BoltValue::Duration(BoltDuration {
                months: 0,
                days: 0,
                seconds: i64::MIN,
                nanoseconds: -1,
            }),
            BoltValue::Point2D(BoltPoint2D { srid: 9157, x: 0.0, y: 0.0 }),
        ];
        for value in wrong {
            let given = BoltDict::from([("x".to_owned(), value)]);
            assert!(parameters(given).unwrap_err().message.starts_with("the parameter $x "));
        }
    }

    #[test]
    fn old_versions_count_points_in_time_by_the_clock() {
        let time = DateTime::of_utc(instant_of(0, 0).unwrap(), Zone::Offset(3600)).unwrap();
        let written = |encoder: Encoder| {
            let mut out = BytesMut::new();
            encoder.value(&mut out, &Value::DateTime(time));
            out.to_vec()
        };
        assert_eq!(written(FIVE), [0xb3, tag::DATE_TIME, 0, 0, 0xc9, 0x0e, 0x10]);
        let old = Encoder { element_ids: false, utc: false, typed: false };
        let shown = [0xb3, LOCAL_DATE_TIME_OFFSET, 0xc9, 0x0e, 0x10, 0, 0xc9, 0x0e, 0x10];
        assert_eq!(written(old), shown);
    }
}
