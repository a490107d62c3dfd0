package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToIntFunction;
import org.neo4j.graphdb.ConstraintViolationException;
import org.neo4j.graphdb.Direction;
import org.neo4j.graphdb.NotFoundException;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.ResourceIterator;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Transaction;
import org.neo4j.graphdb.TransientFailureException;

/**
 * LinkBench's mix as in crates/nakshi-workloads/src/changes.rs: a transaction a request, every change durable
 * before the next. The links to be changed are drawn from those that were there, kept in memory.
 */
final class LinkBench {
    private static final Map<String, Double> SHARES = new LinkedHashMap<>();

    static {
        SHARES.put("get_link_list", 50.7119145);
        SHARES.put("get_node", 12.9326683);
        SHARES.put("add_link", 8.9886601);
        SHARES.put("update_link", 8.0122125);
        SHARES.put("update_node", 7.366437);
        SHARES.put("count_links", 4.8863567);
        SHARES.put("delete_link", 2.9907664);
        SHARES.put("add_node", 2.5732789);
        SHARES.put("delete_node", 1.0115914);
        SHARES.put("multiget_link", 0.5261142);
    }

    private static final List<String> NAMES = List.copyOf(SHARES.keySet());
    private static final int LINKS = 10_000;
    private static final double HISTORY = 0.003;

    private final Database database;
    private final int requests;
    private final int threads;
    private final long seed;
    private final List<Object> ids = new ArrayList<>();
    private final List<RelationshipType> types = new ArrayList<>();
    private final Map<Object, Link[][]> links = new HashMap<>();
    private final AtomicLong added;
    private final Zipf read;
    private final Zipf write;
    private final Zipf nodeRead;
    private final Zipf nodeWrite;

    private record Link(Object end, long time) {}

    /** Microseconds and results of one kind of request. */
    private static final class Times {
        final List<Double> times = new ArrayList<>();
        long results;
    }

    /** Ranks from 0, by Zipf's law. */
    private static final class Zipf {
        private final double[] sums;

        Zipf(int ranks, double exponent) {
            sums = new double[ranks];
            double sum = 0;
            for (int i = 0; i < ranks; i++) {
                sum += Math.pow(i + 1, -exponent);
                sums[i] = sum;
            }
        }

        int draw(Random random) {
            int at = Arrays.binarySearch(sums, random.nextDouble() * sums[sums.length - 1]);
            return Math.min(at < 0 ? -at - 1 : at, sums.length - 1);
        }
    }

    LinkBench(Database database, Map<String, String> options) {
        this.database = database;
        requests = Integer.parseInt(options.getOrDefault("queries", "20000"));
        threads = Integer.parseInt(options.getOrDefault("threads", "2"));
        seed = Long.parseLong(options.getOrDefault("seed", "1"));
        added = new AtomicLong((1L << 62) + (seed << 32));
        load();
        Collections.shuffle(ids, new Random(seed));
        read = new Zipf(ids.size(), 0.8);
        write = new Zipf(ids.size(), 0.741);
        nodeRead = new Zipf(ids.size(), 0.625);
        nodeWrite = new Zipf(ids.size(), 0.606);
    }

    private void load() {
        try (Transaction tx = database.graph.beginTx(); ResourceIterator<Node> nodes = tx.getAllNodes().iterator()) {
            tx.getAllRelationshipTypesInUse().forEach(types::add);
            nodes.forEachRemaining(node -> {
                Link[][] lists = new Link[types.size()][];
                for (int type = 0; type < lists.length; type++) {
                    List<Link> list = new ArrayList<>();
                    try (var edges = node.getRelationships(Direction.OUTGOING, types.get(type))) {
                        edges.forEach(edge -> list.add(new Link(
                                edge.getEndNode().getProperty(Database.ID), (long) edge.getProperty(Queries.TIME))));
                    }
                    lists[type] = list.toArray(new Link[0]);
                }
                Object id = node.getProperty(Database.ID);
                ids.add(id);
                links.put(id, lists);
            });
        }
    }

    Map<String, Object> run() throws Exception {
        // Warms the compiler up.
        together(Math.min(requests, 20_000), 1);
        long began = System.nanoTime();
        List<Times> all = together(requests, 2);
        double seconds = (System.nanoTime() - began) / 1e9;
        List<Object> classes = new ArrayList<>();
        for (int i = 0; i < NAMES.size(); i++) {
            Times one = all.get(i);
            double[] times = one.times.stream().mapToDouble(time -> time).sorted().toArray();
            Map<String, Object> found = new LinkedHashMap<>();
            found.put("name", NAMES.get(i));
            found.put("results", one.results / (double) Math.max(1, times.length));
            found.put("rate", times.length / seconds);
            found.put("p50", part(times, 0.5));
            found.put("p99", part(times, 0.99));
            found.put("p999", part(times, 0.999));
            classes.add(found);
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("classes", classes);
        found.put("seconds", seconds);
        found.put("rate", requests / seconds);
        return found;
    }

    private static double part(double[] times, double part) {
        return times.length == 0 ? 0 : times[Math.min(times.length - 1, (int) (times.length * part))];
    }

    /** Runs so many requests on all threads. */
    private List<Times> together(int count, int round) throws Exception {
        AtomicInteger left = new AtomicInteger(count);
        List<Callable<List<Times>>> work = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            Random random = new Random((seed * 100 + round) * 1000 + thread);
            work.add(() -> {
                List<Times> all = new ArrayList<>();
                NAMES.forEach(name -> all.add(new Times()));
                while (left.getAndDecrement() > 0) {
                    int kind = kind(random);
                    long start = System.nanoTime();
                    int results = commit(request(NAMES.get(kind), random));
                    all.get(kind).times.add((System.nanoTime() - start) / 1e3);
                    all.get(kind).results += results;
                }
                return all;
            });
        }
        List<Times> sum = new ArrayList<>();
        NAMES.forEach(name -> sum.add(new Times()));
        ExecutorService workers = Executors.newFixedThreadPool(threads);
        try {
            for (Future<List<Times>> done : workers.invokeAll(work)) {
                for (int i = 0; i < sum.size(); i++) {
                    sum.get(i).times.addAll(done.get().get(i).times);
                    sum.get(i).results += done.get().get(i).results;
                }
            }
        } finally {
            workers.shutdown();
        }
        return sum;
    }

    private static int kind(Random random) {
        double at = random.nextDouble() * 100;
        for (int kind = 0; kind < NAMES.size(); kind++) {
            at -= SHARES.get(NAMES.get(kind));
            if (at < 0) {
                return kind;
            }
        }
        return 0;
    }

    /**
     * Again after a deadlock, and after a node was to be deleted to which another thread has just added an
     * edge; a change of what another thread has deleted changes nothing.
     */
    private int commit(ToIntFunction<Transaction> request) {
        while (true) {
            try (Transaction tx = database.graph.beginTx()) {
                int results = request.applyAsInt(tx);
                tx.commit();
                return results;
            } catch (TransientFailureException | ConstraintViolationException again) {
                continue;
            } catch (NotFoundException gone) {
                return 0;
            }
        }
    }

    private Object node(Random random, Zipf law) {
        return ids.get(law.draw(random));
    }

    private ToIntFunction<Transaction> request(String name, Random random) {
        switch (name) {
            case "get_node": {
                Object id = node(random, nodeRead);
                return tx -> Queries.node(tx, id) == null ? 0 : Queries.object(tx, id).size();
            }
            case "add_node": {
                Object id = added.getAndIncrement();
                String data = letters(random, 128);
                return tx -> Changes.appendNode(tx, id, data);
            }
            case "update_node": {
                Object id = node(random, nodeWrite);
                String data = letters(random, 128);
                return tx -> Changes.updateNode(tx, id, data);
            }
            case "delete_node": {
                Object id = ids.get(random.nextInt(ids.size()));
                return tx -> Changes.deleteNode(tx, id);
            }
            case "get_link_list", "count_links", "multiget_link":
                return reading(name, random);
            default:
                return writing(name, random);
        }
    }

    private ToIntFunction<Transaction> reading(String name, Random random) {
        Object id = node(random, read);
        int number = random.nextInt(types.size());
        RelationshipType type = types.get(number);
        ToIntFunction<Transaction> query;
        if (name.equals("count_links")) {
            query = tx -> Queries.count(tx, id, type);
        } else if (name.equals("multiget_link")) {
            Set<Object> ends = Set.copyOf(List.of(node(random, read), node(random, read)));
            query = tx -> Queries.with(tx, id, type, ends).size();
        } else {
            Link[] list = links.get(id)[number];
            boolean old = list.length > 0 && random.nextDouble() < HISTORY;
            long high = old ? list[list.length / 2].time() : Long.MAX_VALUE;
            query = tx -> Queries.edges(
                    tx, id, type, LINKS, edge -> !old || (long) edge.getProperty(Queries.TIME) <= high).size();
        }
        return tx -> Queries.node(tx, id) == null ? 0 : query.applyAsInt(tx);
    }

    private ToIntFunction<Transaction> writing(String name, Random random) {
        Object source = node(random, write);
        int number = random.nextInt(types.size());
        String type = types.get(number).name();
        Link[] list = links.get(source)[number];
        boolean any = name.equals("add_link") || list.length == 0;
        Object end = any ? node(random, write) : list[random.nextInt(list.length)].end();
        if (name.equals("delete_link")) {
            return tx -> Changes.deleteEdge(tx, source, type, end);
        }
        long time = random.nextLong(1L << 40);
        String data = letters(random, 8);
        return tx -> Changes.appendEdge(tx, source, type, end, time, data);
    }

    private static String letters(Random random, int count) {
        StringBuilder letters = new StringBuilder(count);
        for (int i = 0; i < count; i++) {
            letters.append((char) ('a' + random.nextInt(26)));
        }
        return letters.toString();
    }
}
