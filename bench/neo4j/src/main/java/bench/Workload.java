package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.ResourceIterator;
import org.neo4j.graphdb.Transaction;

/**
 * The workloads of {@code nakshi bench}: queries drawn before the clock starts, each class alone on one
 * thread and then the mix on all of them, a transaction a query.
 */
final class Workload {
    static final Map<String, Double> TAO = shares(
            "assoc_range", 40.8, "obj_get", 28.8, "assoc_get", 15.7, "assoc_count", 11.7,
            "assoc_time_range", 2.8, "one property", 0.0);
    private static final Map<String, Double> SEARCH = shares(
            "GS1 friends", 20.0, "GS2 friends with a value", 20.0, "GS3 nodes with two values", 20.0,
            "GS4 friends by a type", 20.0, "GS5 data of a type", 20.0);

    private final Database database;
    private final Map<String, Double> shares;
    private final int queries;
    private final int threads;
    private final Random random;
    private final List<Object> ids = new ArrayList<>();
    private final List<RelationshipType> types = new ArrayList<>();

    /** A value of a node. */
    private record Value(Object id, String name, Object value) {}

    private record NodeType(Object id, RelationshipType type) {}

    Workload(Database database, Map<String, String> options) {
        this.database = database;
        shares = options.get("mix").equals("tao") ? TAO : SEARCH;
        queries = Integer.parseInt(options.getOrDefault("queries", "20000"));
        threads = Integer.parseInt(options.getOrDefault("threads", "2"));
        random = new Random(Long.parseLong(options.getOrDefault("seed", "1")));
    }

    private static Map<String, Double> shares(Object... pairs) {
        Map<String, Double> shares = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            shares.put((String) pairs[i], (Double) pairs[i + 1]);
        }
        return shares;
    }

    Map<String, Object> run() throws Exception {
        try (Transaction tx = database.graph.beginTx(); ResourceIterator<Node> nodes = tx.getAllNodes().iterator()) {
            nodes.forEachRemaining(node -> ids.add(node.getProperty(Database.ID)));
            tx.getAllRelationshipTypesInUse().forEach(types::add);
        }
        List<Object> classes = new ArrayList<>();
        for (Map.Entry<String, Double> share : shares.entrySet()) {
            classes.add(alone(share.getKey(), drawn(share.getKey(), queries)));
        }
        double whole = shares.values().stream().mapToDouble(share -> share).sum();
        List<ToIntFunction<Transaction>> all = new ArrayList<>();
        for (Map.Entry<String, Double> share : shares.entrySet()) {
            all.addAll(drawn(share.getKey(), (int) Math.round(queries * share.getValue() / whole)));
        }
        Collections.shuffle(all, random);
        double seconds = together(all, threads, 16, some -> some.forEach(this::ask));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("classes", classes);
        found.put("seconds", seconds);
        found.put("rate", all.size() / seconds);
        return found;
    }

    private List<ToIntFunction<Transaction>> drawn(String name, int count) {
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
                Object id = node();
                yield t -> Queries.object(t, id).size();
            }
            case "one property" -> {
                Value value = value(tx);
                yield t -> Queries.node(t, value.id).getProperty(value.name, null) == null ? 0 : 1;
            }
            case "assoc_range" -> {
                NodeType of = list(tx);
                yield t -> Queries.edges(t, of.id, of.type, Queries.LIMIT, edge -> true).size();
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
                long oldest = edges.get(edges.size() - 1).time();
                long span = Math.max(1, edges.get(0).time() - oldest);
                long a = oldest + random.nextLong(span);
                long b = oldest + random.nextLong(span);
                yield t -> Queries.between(t, of.id, of.type, Math.min(a, b), Math.max(a, b)).size();
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

    private Object node() {
        return ids.get(random.nextInt(ids.size()));
    }

    /** A node and a type of which it has edges. */
    private NodeType list(Transaction tx) {
        while (true) {
            Object id = node();
            RelationshipType type = types.get(random.nextInt(types.size()));
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
            Object id = node();
            Map<String, Object> all = Queries.object(tx, id);
            all.remove(Database.ID);
            if (!all.isEmpty()) {
                List<String> names = new ArrayList<>(all.keySet());
                Value[] two = new Value[2];
                Arrays.setAll(two, i -> {
                    String name = names.get(random.nextInt(names.size()));
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
    private Map<String, Object> alone(String name, List<ToIntFunction<Transaction>> all) {
        all.forEach(this::ask);
        long results = 0;
        double[] times = new double[all.size()];
        long began = System.nanoTime();
        for (int i = 0; i < times.length; i++) {
            long start = System.nanoTime();
            results += ask(all.get(i));
            times[i] = (System.nanoTime() - start) / 1e3;
        }
        return told(name, results, times, (System.nanoTime() - began) / 1e9);
    }

    /** A class, from the microseconds of its queries, the sum of their results and their seconds. */
    static Map<String, Object> told(String name, long results, double[] times, double seconds) {
        Arrays.sort(times);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("name", name);
        found.put("results", results / (double) times.length);
        found.put("rate", times.length / seconds);
        found.put("p50", times[times.length / 2]);
        found.put("p99", times[Math.min(times.length - 1, times.length * 99 / 100)]);
        found.put("p999", times[Math.min(times.length - 1, (int) (times.length * 0.999))]);
        return found;
    }

    /**
     * Seconds in which so many threads take all queries, so many at once, after a run to warm up.
     */
    static <Q> double together(List<Q> all, int threads, int atOnce, Consumer<List<Q>> ask) throws Exception {
        double seconds = 0;
        for (int run = 0; run < 2; run++) {
            AtomicInteger next = new AtomicInteger();
            Callable<Void> work = () -> {
                while (true) {
                    int from = next.getAndAdd(atOnce);
                    if (from >= all.size()) {
                        return null;
                    }
                    ask.accept(all.subList(from, Math.min(all.size(), from + atOnce)));
                }
            };
            ExecutorService workers = Executors.newFixedThreadPool(threads);
            try {
                long began = System.nanoTime();
                for (Future<Void> done : workers.invokeAll(Collections.nCopies(threads, work))) {
                    done.get();
                }
                seconds = (System.nanoTime() - began) / 1e9;
            } finally {
                workers.shutdown();
            }
        }
        return seconds;
    }
}
