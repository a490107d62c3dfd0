package bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;

/** Changes of nodes and edges, as Nakshi makes them; each returns how many it made. */
final class Changes {
    static final String DATA = "data";

    private Changes() {}

    static int appendNode(Transaction tx, Object id, String data) {
        Node node = tx.createNode(Database.LABEL);
        node.setProperty(Database.ID, id);
        node.setProperty(DATA, data);
        return 1;
    }

    static int updateNode(Transaction tx, Object id, String data) {
        Node node = Queries.node(tx, id);
        if (node == null) {
            return 0;
        }
        node.setProperty(DATA, data);
        return 1;
    }

    static int deleteNode(Transaction tx, Object id) {
        Node node = Queries.node(tx, id);
        if (node == null) {
            return 0;
        }
        try (var edges = node.getRelationships()) {
            edges.forEach(Relationship::delete);
        }
        node.delete();
        return 1;
    }

    /** In place of an edge of the same type between the same nodes. */
    static int appendEdge(Transaction tx, Object source, String type, Object end, long time, String data) {
        Node from = Queries.node(tx, source);
        Node to = Queries.node(tx, end);
        if (from == null || to == null) {
            return 0;
        }
        RelationshipType named = RelationshipType.withName(type);
        delete(from, named, to);
        Relationship edge = from.createRelationshipTo(to, named);
        edge.setProperty(Queries.TIME, time);
        edge.setProperty(DATA, data);
        return 1;
    }

    static int deleteEdge(Transaction tx, Object source, String type, Object end) {
        Node from = Queries.node(tx, source);
        Node to = Queries.node(tx, end);
        return from == null || to == null ? 0 : delete(from, RelationshipType.withName(type), to);
    }

    /** Looks through the shorter of both lists. */
    private static int delete(Node from, RelationshipType type, Node to) {
        boolean out = from.getDegree(type, Direction.OUTGOING) <= to.getDegree(type, Direction.INCOMING);
        int count = 0;
        try (var edges = out
                ? from.getRelationships(Direction.OUTGOING, type)
                : to.getRelationships(Direction.INCOMING, type)) {
            for (Relationship edge : edges) {
                if (edge.getStartNode().equals(from) && edge.getEndNode().equals(to)) {
                    edge.delete();
                    count++;
                }
            }
        }
        return count;
    }

    /** Makes the changes of a file, one a line: its name and what it takes, between tabs. */
    static Object of(Database database, Path file) throws IOException {
        for (String line : Files.readAllLines(file)) {
            String[] words = line.split("\t");
            Object id = Long.parseLong(words[1]);
            try (Transaction tx = database.graph.beginTx()) {
                switch (words[0]) {
                    case "append_node" -> appendNode(tx, id, words[2]);
                    case "update_node" -> updateNode(tx, id, words[2]);
                    case "delete_node" -> deleteNode(tx, id);
                    case "delete_edge" -> deleteEdge(tx, id, words[2], Long.parseLong(words[3]));
                    case "append_edge" -> appendEdge(
                            tx, id, words[2], Long.parseLong(words[3]), Long.parseLong(words[4]), words[5]);
                    default -> throw new IllegalArgumentException(line);
                }
                tx.commit();
            }
        }
        return Map.of();
    }
}
