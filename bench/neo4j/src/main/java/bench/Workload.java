package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntFunction;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.ResourceIterator;
import org.neo4j.graphdb.Transaction;

/** The workloads of {@code nakshi bench} on the embedded database, a transaction a query. */
final class Workload extends Mix<ToIntFunction<Transaction>> {
    private static final Map<String, Double> SEARCH = shares(
            "GS1 friends", 20.0, "GS2 friends with a value", 20.0, "GS3 nodes with two values", 20.0,
            "GS4 friends by a type", 20.0, "GS5 data of a type", 20.0);

    private final Database database;
    private final List<Object> ids = new ArrayList<>();
    private final List<RelationshipType> types = new ArrayList<>();

    /** A value of a node. */
    private record Value(Object id, String name, Object value) {}

    private record NodeType(Object id, RelationshipType type) {}

    Workload(Database database, Map<String, String> options) {
        super(options.get("mix").equals("tao") ? TAO : SEARCH, 16, options);
        this.database = database;
        try (Transaction tx = database.graph.beginTx(); ResourceIterator<Node> nodes = tx.getAllNodes().iterator()) {
            nodes.forEachRemaining(node -> ids.add(node.getProperty(Database.ID)));
            tx.getAllRelationshipTypesInUse().forEach(types::add);
        }
    }

    @Override
    List<ToIntFunction<Transaction>> drawn(String name, int count) {
        List<ToIntFunction<Transaction>> drawn = new ArrayList<>(count);
        try (Transaction tx = database.graph.beginTx()) {
            for (int i = 0; i < count; i++) {
                drawn.add(draw(tx, name));
            }
        }
        return drawn;
    }

    private ToIntFunction<Transaction> draw(Transaction tx, String name) {
        return switch (name) {
            case "obj_get" -> {
                Object id = any(ids);
                yield t -> Queries.object(t, id).size();
            }
            case "one property" -> {
                Value value = value(tx);
                yield t -> Queries.node(t, value.id).getProperty(value.name, null) == null ? 0 : 1;
            }
            case "assoc_range" -> {
                NodeType of = list(tx);
                yield t -> Queries.edges(t, of.id, of.type, LIMIT, edge -> true).size();
            }
            case "assoc_get" -> {
                NodeType of = list(tx);
                Set<Object> half = new HashSet<>(Queries.friends(tx, of.id, of.type, null, null));
                half.removeIf(end -> random.nextBoolean());
                yield t -> Queries.with(t, of.id, of.type, half).size();
            }
            case "assoc_count" -> {
                NodeType of = list(tx);
                yield t -> Queries.count(t, of.id, of.type);
            }
            case "assoc_time_range" -> {
                NodeType of = list(tx);
                List<Queries.Edge> edges = Queries.edges(tx, of.id, of.type, Integer.MAX_VALUE, edge -> true);
                long[] two = times(edges.get(edges.size() - 1).time(), edges.get(0).time());
                yield t -> Queries.between(t, of.id, of.type, two[0], two[1]).size();
            }
            case "GS1 friends" -> {
                Object id = list(tx).id;
                yield t -> Queries.friends(t, id, null, null, null).size();
            }
            case "GS2 friends with a value" -> {
                Object id = list(tx).id;
                Value value = value(tx);
                yield t -> Queries.friends(t, id, null, value.name, value.value).size();
            }
            case "GS3 nodes with two values" -> {
                Value[] two = values(tx);
                yield t -> Queries.find(t, two[0].name, two[0].value, two[1].name, two[1].value).size();
            }
            case "GS4 friends by a type" -> {
                NodeType of = list(tx);
                yield t -> Queries.friends(t, of.id, of.type, null, null).size();
            }
            case "GS5 data of a type" -> {
                NodeType of = list(tx);
                yield t -> Queries.edges(t, of.id, of.type, Integer.MAX_VALUE, edge -> true).size();
            }
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** A node and a type of which it has edges. */
    private NodeType list(Transaction tx) {
        while (true) {
            Object id = any(ids);
            RelationshipType type = any(types);
            if (Queries.node(tx, id).hasRelationship(Direction.OUTGOING, type)) {
                return new NodeType(id, type);
            }
        }
    }

    private Value value(Transaction tx) {
        return values(tx)[0];
    }

    /** Two values of a node that has properties, which may be the same. */
    private Value[] values(Transaction tx) {
        while (true) {
            Object id = any(ids);
            Map<String, Object> all = Queries.object(tx, id);
            all.remove(Database.ID);
            if (!all.isEmpty()) {
                List<String> names = new ArrayList<>(all.keySet());
                Value[] two = new Value[2];
                Arrays.setAll(two, i -> {
                    String name = any(names);
                    return new Value(id, name, all.get(name));
                });
                return two;
            }
        }
    }

    private int ask(ToIntFunction<Transaction> query) {
        try (Transaction tx = database.graph.beginTx()) {
            return query.applyAsInt(tx);
        }
    }

    /** All of a class, after as many to warm up the compiler. */
    @Override
    Map<String, Object> alone(String name, List<ToIntFunction<Transaction>> all) {
        askAll(all);
        return timed(name, all, this::ask);
    }

    @Override
    void askAll(List<ToIntFunction<Transaction>> some) {
        some.forEach(this::ask);
    }
}
