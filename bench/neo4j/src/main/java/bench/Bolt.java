package bench;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Config;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.Session;
import org.neo4j.driver.Transaction;
import org.neo4j.driver.Value;

/**
 * TAO's mix of {@link Workload} in Cypher, asked of a Neo4j server over Bolt by its own driver: each class alone,
 * one query after the other on one connection, then the mix on several connections. A transaction has {@link
 * #AT_ONCE} queries, so that its begin and end cost little.
 */
final class Bolt implements AutoCloseable {
    private static final int AT_ONCE = 64;

    private final Driver driver;
    private final int queries;
    private final int threads;
    private final Random random;
    private final List<Object> ids = new ArrayList<>();
    /** Nodes with the types of which they have edges. */
    private final List<NodeType> lists = new ArrayList<>();

    private record NodeType(Object id, String type) {}

    /** A query with its parameters. */
    private record Query(String text, Map<String, Object> parameters) {}

    Bolt(int port, Map<String, String> options) {
        Config plain = Config.builder().withoutEncryption().build();
        driver = GraphDatabase.driver("bolt://127.0.0.1:" + port, AuthTokens.none(), plain);
        queries = Integer.parseInt(options.getOrDefault("queries", "20000"));
        threads = Integer.parseInt(options.getOrDefault("threads", "2"));
        random = new Random(Long.parseLong(options.getOrDefault("seed", "1")));
    }

    Map<String, Object> run() throws Exception {
        List<Object> classes = new ArrayList<>();
        List<Query> all = new ArrayList<>();
        double whole = Workload.TAO.values().stream().mapToDouble(share -> share).sum();
        try (Session session = driver.session()) {
            session.run("MATCH (n:Node) RETURN n.id").forEachRemaining(row -> ids.add(row.get(0).asObject()));
            session.run("MATCH (n:Node)-[r]->() RETURN DISTINCT n.id, type(r)")
                    .forEachRemaining(row -> lists.add(new NodeType(row.get(0).asObject(), row.get(1).asString())));
            for (Map.Entry<String, Double> share : Workload.TAO.entrySet()) {
                classes.add(alone(session, share.getKey(), drawn(session, share.getKey(), queries)));
                int count = (int) Math.round(queries * share.getValue() / whole);
                all.addAll(drawn(session, share.getKey(), count));
            }
        }
        Collections.shuffle(all, random);
        double seconds = Workload.together(all, threads, AT_ONCE, this::askAll);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("classes", classes);
        found.put("seconds", seconds);
        found.put("rate", all.size() / seconds);
        return found;
    }

    private List<Query> drawn(Session session, String name, int count) {
        List<Query> drawn = new ArrayList<>(count);
        try (Transaction tx = session.beginTransaction()) {
            for (int i = 0; i < count; i++) {
                drawn.add(draw(tx, name));
            }
        }
        return drawn;
    }

    private Query draw(Transaction tx, String name) {
        if (name.equals("obj_get") || name.equals("one property")) {
            Object id = ids.get(random.nextInt(ids.size()));
            String found = "MATCH (n:Node {id: $id}) RETURN ";
            if (name.equals("obj_get")) {
                return new Query(found + "properties(n)", Map.of("id", id));
            }
            List<Object> names = new ArrayList<>(
                    tx.run(found + "keys(n)", Map.of("id", id)).single().get(0).asList());
            names.remove(Database.ID);
            return new Query(found + "n.`" + names.get(random.nextInt(names.size())) + "`", Map.of("id", id));
        }
        NodeType of = lists.get(random.nextInt(lists.size()));
        String list = "MATCH (n:Node {id: $id})-[r:`" + of.type + "`]->(m) ";
        String sorted = "RETURN m.id, properties(r) ORDER BY r.timestamp DESC";
        Map<String, Object> one = Map.of("id", of.id);
        return switch (name) {
            case "assoc_range" -> new Query(list + sorted + " LIMIT 1000", one);
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
                long oldest = ends.get(0).asLong();
                long span = Math.max(1, ends.get(1).asLong() - oldest);
                long a = oldest + random.nextLong(span);
                long b = oldest + random.nextLong(span);
                yield new Query(
                        list + "WHERE $low <= r.timestamp <= $high " + sorted + " LIMIT 1000",
                        Map.of("id", of.id, "low", Math.min(a, b), "high", Math.max(a, b)));
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
    private void askAll(List<Query> some) {
        try (Session session = driver.session();
                Transaction tx = session.beginTransaction()) {
            some.forEach(query -> ask(tx, query));
        }
    }

    /** All of a class, in one transaction, after as many to warm up the compiler. */
    private Map<String, Object> alone(Session session, String name, List<Query> all) {
        askAll(all);
        long results = 0;
        double[] times = new double[all.size()];
        long began = System.nanoTime();
        try (Transaction tx = session.beginTransaction()) {
            for (int i = 0; i < times.length; i++) {
                long start = System.nanoTime();
                results += ask(tx, all.get(i));
                times[i] = (System.nanoTime() - start) / 1e3;
            }
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        return Workload.told(name, results, times, seconds);
    }

    @Override
    public void close() {
        driver.close();
    }
}
