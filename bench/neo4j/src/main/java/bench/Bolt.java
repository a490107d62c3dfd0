package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Config;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.Session;
import org.neo4j.driver.Transaction;
import org.neo4j.driver.Value;

/**
 * TAO's mix in Cypher, asked of a Neo4j server over Bolt by its own driver: each class alone on one connection,
 * then the mix on several connections. A transaction has {@link #AT_ONCE} queries, so that its begin and end cost
 * little.
 */
final class Bolt extends Mix<Bolt.Query> implements AutoCloseable {
    private final Driver driver;
    private final List<Object> ids = new ArrayList<>();
    /** Nodes with the types of which they have edges. */
    private final List<NodeType> lists = new ArrayList<>();

    private record NodeType(Object id, String type) {}

    /** A query with its parameters. */
    record Query(String text, Map<String, Object> parameters) {}

    Bolt(int port, Map<String, String> options) {
        super(TAO, AT_ONCE, options);
        Config plain = Config.builder().withoutEncryption().build();
        driver = GraphDatabase.driver("bolt://127.0.0.1:" + port, AuthTokens.none(), plain);
        try (Session session = driver.session()) {
            session.run("MATCH (n:Node) RETURN n.id").forEachRemaining(row -> ids.add(row.get(0).asObject()));
            session.run("MATCH (n:Node)-[r]->() RETURN DISTINCT n.id, type(r)")
                    .forEachRemaining(row -> lists.add(new NodeType(row.get(0).asObject(), row.get(1).asString())));
        }
    }

    @Override
    List<Query> drawn(String name, int count) {
        List<Query> drawn = new ArrayList<>(count);
        try (Session session = driver.session();
                Transaction tx = session.beginTransaction()) {
            for (int i = 0; i < count; i++) {
                drawn.add(draw(tx, name));
            }
        }
        return drawn;
    }

    private Query draw(Transaction tx, String name) {
        if (name.equals("obj_get") || name.equals("one property")) {
            Object id = any(ids);
            String found = "MATCH (n:Node {id: $id}) RETURN ";
            if (name.equals("obj_get")) {
                return new Query(found + "properties(n)", Map.of("id", id));
            }
            List<Object> names = new ArrayList<>(
                    tx.run(found + "keys(n)", Map.of("id", id)).single().get(0).asList());
            names.remove(Database.ID);
            return new Query(found + "n.`" + any(names) + "`", Map.of("id", id));
        }
        NodeType of = any(lists);
        String list = "MATCH (n:Node {id: $id})-[r:`" + of.type + "`]->(m) ";
        String sorted = "RETURN m.id, properties(r) ORDER BY r.timestamp DESC";
        Map<String, Object> one = Map.of("id", of.id);
        return switch (name) {
            case "assoc_range" -> new Query(list + sorted + " LIMIT " + LIMIT, one);
            case "assoc_count" ->
                new Query("MATCH (n:Node {id: $id}) RETURN COUNT { (n)-[:`" + of.type + "`]->() }", one);
            case "assoc_get" -> {
                List<Object> half = new ArrayList<>();
                tx.run(list + "RETURN DISTINCT m.id", one).forEachRemaining(row -> half.add(row.get(0).asObject()));
                half.removeIf(end -> random.nextBoolean());
                yield new Query(list + "WHERE m.id IN $others " + sorted, Map.of("id", of.id, "others", half));
            }
            case "assoc_time_range" -> {
                var ends = tx.run(list + "RETURN min(r.timestamp), max(r.timestamp)", one).single();
                long[] two = times(ends.get(0).asLong(), ends.get(1).asLong());
                yield new Query(
                        list + "WHERE $low <= r.timestamp <= $high " + sorted + " LIMIT " + LIMIT,
                        Map.of("id", of.id, "low", two[0], "high", two[1]));
            }
            default -> throw new IllegalArgumentException(name);
        };
    }

    /** Number of values of an object, of edges, or a count itself. */
    private static int ask(Transaction tx, Query query) {
        int results = 0;
        for (var row : tx.run(query.text, query.parameters).list()) {
            Value first = row.get(0);
            results += switch (first.type().name()) {
                case "MAP" -> first.size() - 1;
                default -> row.size() == 1 && query.text.contains("COUNT") ? first.asInt() : 1;
            };
        }
        return results;
    }

    /** Queries as one transaction, on a connection of the driver's pool. */
    @Override
    void askAll(List<Query> some) {
        try (Session session = driver.session();
                Transaction tx = session.beginTransaction()) {
            some.forEach(query -> ask(tx, query));
        }
    }

    /** All of a class, in one transaction, after as many to warm up the compiler. */
    @Override
    Map<String, Object> alone(String name, List<Query> all) {
        askAll(all);
        try (Session session = driver.session();
                Transaction tx = session.beginTransaction()) {
            return timed(name, all, query -> ask(tx, query));
        }
    }

    @Override
    public void close() {
        driver.close();
    }
}
