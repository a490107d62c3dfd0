package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strconv"
	"time"

	"github.com/neo4j/neo4j-go-driver/v5/neo4j"
	"github.com/neo4j/neo4j-go-driver/v5/neo4j/dbtype"
)

// fromWire makes a value of the driver from one of a scenario.
func fromWire(value any) any {
	switch value := value.(type) {
	case []any:
		made := make([]any, len(value))
		for i, item := range value {
			made[i] = fromWire(item)
		}
		return made
	case map[string]any:
		for kind, inner := range value {
			return typed(kind, inner)
		}
	}
	return value
}

func fromMap(wire any) map[string]any {
	made := map[string]any{}
	for key, inner := range wire.(map[string]any) {
		made[key] = fromWire(inner)
	}
	return made
}

func numbers(list any) []float64 {
	found := []float64{}
	for _, item := range list.([]any) {
		if number, ok := item.(float64); ok {
			found = append(found, number)
		}
	}
	return found
}

func moment(n []float64, zone *time.Location) time.Time {
	return time.Date(int(n[0]), time.Month(n[1]), int(n[2]), int(n[3]), int(n[4]), int(n[5]), int(n[6]), zone)
}

func typed(kind string, inner any) any {
	switch kind {
	case "int":
		return must(strconv.ParseInt(inner.(string), 10, 64))
	case "float":
		return must(strconv.ParseFloat(inner.(string), 64))
	case "bytes":
		return must(hex.DecodeString(inner.(string)))
	case "map":
		return fromMap(inner)
	}
	n := numbers(inner)
	day := []float64{0, 1, 1}
	switch kind {
	case "date":
		return neo4j.DateOf(moment(append(n, 0, 0, 0, 0), time.UTC))
	case "localtime":
		return neo4j.LocalTimeOf(moment(append(day, n...), time.UTC))
	case "time":
		return neo4j.OffsetTimeOf(moment(append(day, n[:4]...), time.FixedZone("Offset", int(n[4]))))
	case "localdatetime":
		return neo4j.LocalDateTimeOf(moment(n, time.UTC))
	case "datetime":
		if name, ok := inner.([]any)[7].(string); ok {
			return moment(n, must(time.LoadLocation(name)))
		}
		return moment(n, time.FixedZone("Offset", int(n[7])))
	case "duration":
		return neo4j.DurationOf(int64(n[0]), int64(n[1]), int64(n[2]), int(n[3]))
	case "point":
		if len(n) == 3 {
			return neo4j.Point2D{SpatialRefId: uint32(n[0]), X: n[1], Y: n[2]}
		}
		return neo4j.Point3D{SpatialRefId: uint32(n[0]), X: n[1], Y: n[2], Z: n[3]}
	}
	panic("a scenario's value of the kind " + kind)
}

func one(kind string, inner any) map[string]any {
	return map[string]any{kind: inner}
}

func date(t time.Time) []any {
	return []any{t.Year(), int(t.Month()), t.Day()}
}

func clock(t time.Time) []any {
	return []any{t.Hour(), t.Minute(), t.Second(), t.Nanosecond()}
}

func offset(t time.Time) any {
	_, seconds := t.Zone()
	return seconds
}

// zone returns the name of a zone, or an offset in seconds.
func zone(t time.Time) any {
	name := t.Location().String()
	if name == "Offset" || name == "UTC" || name == "" {
		return offset(t)
	}
	return name
}

// toWire makes a value of a scenario from one of the driver.
func toWire(value any) any {
	switch value := value.(type) {
	case nil, bool, string:
		return value
	case int64:
		return one("int", strconv.FormatInt(value, 10))
	case float64:
		if math.IsNaN(value) {
			return one("float", "NaN")
		}
		return one("float", strconv.FormatFloat(value, 'g', -1, 64))
	case []byte:
		return one("bytes", hex.EncodeToString(value))
	case []any:
		made := make([]any, len(value))
		for i, item := range value {
			made[i] = toWire(item)
		}
		return made
	case map[string]any:
		return one("map", toMap(value))
	case dbtype.Node:
		labels := append([]string{}, value.Labels...)
		sort.Strings(labels)
		return one("node", map[string]any{"labels": labels, "properties": toMap(value.Props)})
	case dbtype.Relationship:
		return one("relationship", edge(value))
	case dbtype.Path:
		return one("path", path(value))
	case dbtype.Date:
		return one("date", date(value.Time()))
	case dbtype.LocalTime:
		return one("localtime", clock(value.Time()))
	case dbtype.Time:
		return one("time", append(clock(value.Time()), offset(value.Time())))
	case dbtype.LocalDateTime:
		return one("localdatetime", append(date(value.Time()), clock(value.Time())...))
	case time.Time:
		return one("datetime", append(append(date(value), clock(value)...), zone(value)))
	case dbtype.Duration:
		return one("duration", []any{value.Months, value.Days, value.Seconds, value.Nanos})
	case dbtype.Point2D:
		return one("point", []any{value.SpatialRefId, value.X, value.Y})
	case dbtype.Point3D:
		return one("point", []any{value.SpatialRefId, value.X, value.Y, value.Z})
	}
	panic(fmt.Sprintf("a driver's value of the type %T", value))
}

func toMap(values map[string]any) map[string]any {
	made := map[string]any{}
	for key, value := range values {
		made[key] = toWire(value)
	}
	return made
}

func edge(value dbtype.Relationship) any {
	return map[string]any{"type": value.Type, "properties": toMap(value.Props)}
}

func path(value dbtype.Path) []any {
	items := []any{toWire(value.Nodes[0])}
	for i, crossed := range value.Relationships {
		direction := "backward"
		if crossed.StartElementId == value.Nodes[i].ElementId {
			direction = "forward"
		}
		items = append(items, one(direction, edge(crossed)), toWire(value.Nodes[i+1]))
	}
	return items
}
