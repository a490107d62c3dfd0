package bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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
                Map<String, Object> answer = new LinkedHashMap<>();
                Map<String, Object> object = Queries.object(tx, id);
                object.remove(Database.ID);
                answer.put("object", object);
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
}
