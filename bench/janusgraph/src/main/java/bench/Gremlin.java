package bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode;

/**
 * TAO's mix in Gremlin, asked of a Gremlin Server over WebSocket by TinkerPop's driver: each class alone on one
 * connection, then the mix on several connections, {@link #AT_ONCE} traversals at once on each. The server makes a
 * transaction of every traversal. Queries are drawn from the tables that were loaded, as a scan takes the server
 * long.
 */
final class Gremlin extends Mix<Gremlin.Query> implements AutoCloseable {
    private final Connections one;
    private final Connections several;
    private final List<Object> ids = new ArrayList<>();
    private final List<String> names;
    private final List<EdgeList> lists;

    /** A node and a type of which it has edges: where they lead, and their times. */
    private record EdgeList(Object id, String type, List<Object> ends, List<Long> times) {}

    /** A traversal, and the name of its class. */
    record Query(String name, Bytecode traversal) {}

    Gremlin(int port, Tables tables, Map<String, String> options) throws IOException {
        super(TAO, AT_ONCE, options);
        one = new Connections(port, 1);
        several = new Connections(port, threads);
        try (Tables.Reader rows = new Tables.Reader(tables.nodes)) {
            names = rows.columns.stream()
                    .filter(Tables.Column::isProperty)
                    .map(Tables.Column::name)
                    .toList();
            int id = rows.place("ID");
            for (List<String> row = rows.next(); row != null; row = rows.next()) {
                ids.add(Long.valueOf(row.get(id)));
            }
        }
        lists = new ArrayList<>(lists(tables.edges));
    }

    private static Collection<EdgeList> lists(Path edges) throws IOException {
        Map<List<Object>, EdgeList> lists = new LinkedHashMap<>();
        try (Tables.Reader rows = new Tables.Reader(edges)) {
            int start = rows.place("START_ID");
            int end = rows.place("END_ID");
            int type = rows.place("TYPE");
            int time = rows.place(Database.TIME);
            for (List<String> row = rows.next(); row != null; row = rows.next()) {
                Object id = Long.valueOf(row.get(start));
                String of = row.get(type);
                EdgeList list = lists.computeIfAbsent(
                        List.of(id, of), key -> new EdgeList(id, of, new ArrayList<>(), new ArrayList<>()));
                list.ends.add(Long.valueOf(row.get(end)));
                list.times.add(Long.valueOf(row.get(time)));
            }
        }
        return lists.values();
    }

    @Override
    List<Query> drawn(String name, int count) {
        List<Query> drawn = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            drawn.add(new Query(name, draw(name)));
        }
        return drawn;
    }

    private Bytecode draw(String name) {
        if (name.equals("obj_get")) {
            return Queries.object(any(ids));
        }
        if (name.equals("one property")) {
            return Queries.property(any(ids), any(names));
        }
        EdgeList of = any(lists);
        return switch (name) {
            case "assoc_range" -> Queries.range(of.id, of.type);
            case "assoc_count" -> Queries.count(of.id, of.type);
            case "assoc_get" -> {
                List<Object> half = new ArrayList<>(new LinkedHashSet<>(of.ends));
                half.removeIf(end -> random.nextBoolean());
                yield Queries.with(of.id, of.type, half);
            }
            case "assoc_time_range" -> {
                long[] two = times(Collections.min(of.times), Collections.max(of.times));
                yield Queries.between(of.id, of.type, two[0], two[1]);
            }
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** Number of values of an object, of edges, or a count itself. */
    private int ask(Query query) {
        List<Object> found = one.ask(query.traversal);
        return switch (query.name) {
            case "obj_get" -> ((Map<?, ?>) found.get(0)).size() - 1;
            case "assoc_count" -> ((Long) found.get(0)).intValue();
            default -> found.size();
        };
    }

    /** All of a class, after as many to warm up the compiler. */
    @Override
    Map<String, Object> alone(String name, List<Query> all) {
        all.forEach(this::ask);
        return timed(name, all, this::ask);
    }

    @Override
    void askAll(List<Query> some) {
        several.askAll(some.stream().map(Query::traversal).toList());
    }

    @Override
    public void close() {
        one.close();
        several.close();
    }
}
