package bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.ResourceIterator;
import org.neo4j.graphdb.Transaction;

/** The queries of TAO and of Graph Search, as Nakshi answers them: newest first, in external ids. */
final class Queries {
    static final String TIME = "timestamp";

    private Queries() {}

    /** An edge: where it leads, its time, and its other properties. */
    record Edge(Object destination, long time, Map<String, Object> properties) {}

    static Node node(Transaction tx, Object id) {
        return tx.findNode(Database.LABEL, Database.ID, id);
    }

    static Map<String, Object> object(Transaction tx, Object id) {
        return node(tx, id).getAllProperties();
    }

    static int count(Transaction tx, Object id, RelationshipType type) {
        return node(tx, id).getDegree(type, Direction.OUTGOING);
    }

    /** The edges of a type that pass, newest first. */
    static List<Edge> edges(Transaction tx, Object id, RelationshipType type, int limit, Predicate<Relationship> pass) {
        List<Found> found = new ArrayList<>();
        try (var all = node(tx, id).getRelationships(Direction.OUTGOING, type)) {
            for (Relationship edge : all) {
                if (pass.test(edge)) {
                    found.add(new Found(edge, (long) edge.getProperty(TIME)));
                }
            }
        }
        found.sort(Comparator.comparingLong(Found::time).reversed());
        List<Edge> edges = new ArrayList<>(Math.min(limit, found.size()));
        for (Found one : found.subList(0, Math.min(limit, found.size()))) {
            Map<String, Object> properties = one.edge.getAllProperties();
            properties.remove(TIME);
            edges.add(new Edge(one.edge.getEndNode().getProperty(Database.ID), one.time, properties));
        }
        return edges;
    }

    private record Found(Relationship edge, long time) {}

    static List<Edge> between(Transaction tx, Object id, RelationshipType type, long low, long high) {
        return edges(tx, id, type, Mix.LIMIT, edge -> {
            long time = (long) edge.getProperty(TIME);
            return low <= time && time <= high;
        });
    }

    static List<Edge> with(Transaction tx, Object id, RelationshipType type, Set<Object> ends) {
        return edges(tx, id, type, Integer.MAX_VALUE, edge -> ends.contains(edge.getEndNode().getProperty(Database.ID)));
    }

    /** The nodes that edges of a type, or of any, lead to, each once, if they have a value. */
    static Set<Object> friends(Transaction tx, Object id, RelationshipType type, String name, Object value) {
        Set<Object> found = new LinkedHashSet<>();
        Node node = node(tx, id);
        try (var all = type == null
                ? node.getRelationships(Direction.OUTGOING)
                : node.getRelationships(Direction.OUTGOING, type)) {
            for (Relationship edge : all) {
                Node end = edge.getEndNode();
                if (name == null || value.equals(end.getProperty(name, null))) {
                    found.add(end.getProperty(Database.ID));
                }
            }
        }
        return found;
    }

    /** The nodes with both values: those of the index of one, looked at for the other. */
    static List<Object> find(Transaction tx, String a, Object x, String b, Object y) {
        List<Object> found = new ArrayList<>();
        try (ResourceIterator<Node> nodes = tx.findNodes(Database.LABEL, a, x)) {
            while (nodes.hasNext()) {
                Node node = nodes.next();
                if (y.equals(node.getProperty(b, null))) {
                    found.add(node.getProperty(Database.ID));
                }
            }
        }
        return found;
    }
}
