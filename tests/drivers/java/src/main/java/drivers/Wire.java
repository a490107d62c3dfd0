package drivers;

import static org.neo4j.driver.Values.isoDuration;
import static org.neo4j.driver.Values.value;

import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.neo4j.driver.Value;
import org.neo4j.driver.Values;
import org.neo4j.driver.types.Entity;
import org.neo4j.driver.types.IsoDuration;
import org.neo4j.driver.types.Path;
import org.neo4j.driver.types.Point;
import org.neo4j.driver.types.Relationship;

/** Values as the scenarios have them, and as the driver has them. */
final class Wire {
    private Wire() {}

    static Value from(Object wire) {
        if (wire instanceof List<?> items) {
            return value(items.stream().map(Wire::from).toArray(Value[]::new));
        }
        if (!(wire instanceof Map<?, ?> map)) {
            return value(wire);
        }
        Map.Entry<?, ?> only = map.entrySet().iterator().next();
        Object inner = only.getValue();
        return switch ((String) only.getKey()) {
            case "int" -> value(Long.parseLong((String) inner));
            case "float" -> value(Double.parseDouble((String) inner));
            case "bytes" -> value(HexFormat.of().parseHex((String) inner));
            case "map" -> value(map(inner));
            case "date" -> value(date(numbers(inner)));
            case "localtime" -> value(clock(numbers(inner), 0));
            case "time" -> {
                int[] n = numbers(inner);
                yield value(OffsetTime.of(clock(n, 0), ZoneOffset.ofTotalSeconds(n[4])));
            }
            case "localdatetime" -> value(moment(numbers(inner)));
            case "datetime" -> {
                List<?> fields = (List<?>) inner;
                Object zone = fields.get(7);
                ZoneId at = zone instanceof String name ? ZoneId.of(name) : ZoneOffset.ofTotalSeconds((int) zone);
                yield value(ZonedDateTime.of(moment(numbers(fields.subList(0, 7))), at));
            }
            case "duration" -> {
                int[] n = numbers(inner);
                yield isoDuration(n[0], n[1], n[2], n[3]);
            }
            case "point" -> {
                double[] n = ((List<?>) inner).stream().mapToDouble(x -> ((Number) x).doubleValue()).toArray();
                yield n.length == 3 ? Values.point((int) n[0], n[1], n[2]) : Values.point((int) n[0], n[1], n[2], n[3]);
            }
            default -> throw new IllegalArgumentException(only.toString());
        };
    }

    /** The fields of a map, whose values are as in scenarios. */
    static Map<String, Object> map(Object wire) {
        Map<String, Object> made = new LinkedHashMap<>();
        ((Map<?, ?>) wire).forEach((key, inner) -> made.put((String) key, from(inner)));
        return made;
    }

    private static int[] numbers(Object list) {
        return ((List<?>) list).stream().mapToInt(x -> ((Number) x).intValue()).toArray();
    }

    private static LocalDate date(int[] n) {
        return LocalDate.of(n[0], n[1], n[2]);
    }

    private static LocalTime clock(int[] n, int at) {
        return LocalTime.of(n[at], n[at + 1], n[at + 2], n[at + 3]);
    }

    private static LocalDateTime moment(int[] n) {
        return LocalDateTime.of(date(n), clock(n, 3));
    }

    static Object to(Value value) {
        return switch (value.type().name()) {
            case "NULL" -> null;
            case "BOOLEAN" -> value.asBoolean();
            case "STRING" -> value.asString();
            case "INTEGER" -> Map.of("int", String.valueOf(value.asLong()));
            case "FLOAT" -> Map.of("float", String.valueOf(value.asDouble()));
            case "BYTES" -> Map.of("bytes", HexFormat.of().formatHex(value.asByteArray()));
            case "LIST OF ANY?" -> value.asList(Wire::to);
            case "MAP" -> Map.of("map", value.asMap(Wire::to));
            case "NODE" -> {
                Object labels = new TreeSet<>((List<String>) names(value.asNode().labels()));
                yield Map.of("node", Map.of("labels", labels, "properties", properties(value.asNode())));
            }
            case "RELATIONSHIP" -> Map.of("relationship", edge(value.asRelationship()));
            case "PATH" -> Map.of("path", path(value.asPath()));
            case "DATE" -> Map.of("date", date(value.asLocalDate()));
            case "LOCAL_TIME" -> Map.of("localtime", clock(value.asLocalTime()));
            case "TIME" -> {
                OffsetTime time = value.asOffsetTime();
                yield Map.of("time", with(clock(time.toLocalTime()), time.getOffset().getTotalSeconds()));
            }
            case "LOCAL_DATE_TIME" -> Map.of("localdatetime", moment(value.asLocalDateTime()));
            case "DATE_TIME" -> {
                ZonedDateTime time = value.asZonedDateTime();
                Object zone = time.getZone() instanceof ZoneOffset offset
                        ? offset.getTotalSeconds()
                        : time.getZone().getId();
                yield Map.of("datetime", with(moment(time.toLocalDateTime()), zone));
            }
            case "DURATION" -> {
                IsoDuration d = value.asIsoDuration();
                yield Map.of("duration", List.of(d.months(), d.days(), d.seconds(), d.nanoseconds()));
            }
            case "POINT" -> Map.of("point", point(value.asPoint()));
            default -> throw new IllegalArgumentException(value.type().name());
        };
    }

    private static List<String> names(Iterable<String> all) {
        List<String> names = new ArrayList<>();
        all.forEach(names::add);
        return names;
    }

    private static Map<String, Object> properties(Entity entity) {
        return entity.asMap(Wire::to);
    }

    private static Object edge(Relationship edge) {
        return Map.of("type", edge.type(), "properties", properties(edge));
    }

    private static List<Object> path(Path path) {
        List<Object> items = new ArrayList<>();
        items.add(to(Values.value(path.start())));
        for (Path.Segment segment : path) {
            boolean forward = segment.relationship().startNodeElementId().equals(segment.start().elementId());
            items.add(Map.of(forward ? "forward" : "backward", edge(segment.relationship())));
            items.add(to(Values.value(segment.end())));
        }
        return items;
    }

    private static List<Object> point(Point point) {
        List<Object> numbers = new ArrayList<>(List.of(point.srid(), point.x(), point.y()));
        if (!Double.isNaN(point.z())) {
            numbers.add(point.z());
        }
        return numbers;
    }

    private static List<Object> date(LocalDate date) {
        return List.of(date.getYear(), date.getMonthValue(), date.getDayOfMonth());
    }

    private static List<Object> clock(LocalTime time) {
        return List.of(time.getHour(), time.getMinute(), time.getSecond(), time.getNano());
    }

    private static List<Object> moment(LocalDateTime moment) {
        List<Object> fields = new ArrayList<>(date(moment.toLocalDate()));
        fields.addAll(clock(moment.toLocalTime()));
        return fields;
    }

    private static List<Object> with(List<Object> fields, Object last) {
        List<Object> more = new ArrayList<>(fields);
        more.add(last);
        return more;
    }
}
