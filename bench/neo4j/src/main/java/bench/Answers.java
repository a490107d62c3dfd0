package bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;

/** Answers for some nodes, to be compared before anything is timed. */
final class Answers {
    private final Database database;

    Answers(Database database) {
        this.database = database;
    }

    List<Object> of(String[] ids) {
        List<Object> answers = new ArrayList<>();
        try (Transaction tx = database.graph.beginTx()) {
            for (String text : ids) {
                Object id = Long.parseLong(text);
                if (Queries.node(tx, id) == null) {
                    answers.add(null);
                    continue;
                }
                Map<String, Object> answer = new LinkedHashMap<>();
                Map<String, Object> object = Queries.object(tx, id);
                object.remove(Database.ID);
                answer.put("object", object);
                answer.put("found", found(tx, new TreeMap<>(object)));
                answer.put("friends", Queries.friends(tx, id, null, null, null));
                Map<String, Object> lists = new LinkedHashMap<>();
                for (RelationshipType type : tx.getAllRelationshipTypes()) {
                    List<Object> edges = new ArrayList<>();
                    for (Queries.Edge edge : Queries.edges(tx, id, type, Integer.MAX_VALUE, one -> true)) {
                        edges.add(List.of(edge.destination(), edge.time(), edge.properties()));
                    }
                    lists.put(type.name(), edges);
                }
                answer.put("lists", lists);
                answers.add(answer);
            }
        }
        return answers;
    }

    /** The nodes with the first two values of a node, by the names of its properties. */
    private static List<Object> found(Transaction tx, TreeMap<String, Object> object) {
        if (object.size() < 2) {
            return List.of();
        }
        Map.Entry<String, Object> a = object.pollFirstEntry();
        Map.Entry<String, Object> b = object.pollFirstEntry();
        return Queries.find(tx, a.getKey(), a.getValue(), b.getKey(), b.getValue());
    }
}
