package bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;

/**
 * A workload of {@code nakshi bench}: queries drawn before the clock starts, each class alone, one query after the
 * other, and then the mix on several threads. A subclass draws the queries and asks its system.
 *
 * @param <Q> a query that is ready to be asked
 */
abstract class Mix<Q> {
    /** Shares of TAO's queries in percent, in the order of the tables. */
    static final Map<String, Double> TAO = shares(
            "assoc_range", 40.8, "obj_get", 28.8, "assoc_get", 15.7, "assoc_count", 11.7,
            "assoc_time_range", 2.8, "one property", 0.0);
    /** Most edges that a query for a part of a list returns. */
    static final int LIMIT = 1000;
    /** Queries that a connection to a server is asked at once in the mix. */
    static final int AT_ONCE = 64;

    final int threads;
    final Random random;
    private final Map<String, Double> shares;
    private final int queries;
    private final int atOnce;
    private final boolean onlyMix;

    /** A mix of which a thread takes so many queries at once; {@code options} are those of the command line. */
    Mix(Map<String, Double> shares, int atOnce, Map<String, String> options) {
        this.shares = shares;
        this.atOnce = atOnce;
        onlyMix = "mix".equals(options.get("only"));
        queries = Integer.parseInt(options.getOrDefault("queries", "20000"));
        threads = Integer.parseInt(options.getOrDefault("threads", "2"));
        random = new Random(Long.parseLong(options.getOrDefault("seed", "1")));
    }

    static Map<String, Double> shares(Object... pairs) {
        Map<String, Double> shares = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            shares.put((String) pairs[i], (Double) pairs[i + 1]);
        }
        return shares;
    }

    /** Draws queries of a class. */
    abstract List<Q> drawn(String name, int count);

    /** Asks all queries of a class, one after the other, and returns what {@link #timed} returns. */
    abstract Map<String, Object> alone(String name, List<Q> all);

    /** Asks some queries of the mix, on any thread. */
    abstract void askAll(List<Q> some);

    /**
     * Runs the workload; classes, seconds and rate as {@code nakshi bench --json} prints them. The option {@code
     * only=mix} leaves out the classes.
     */
    Map<String, Object> run() throws Exception {
        double whole = shares.values().stream().mapToDouble(share -> share).sum();
        List<Object> classes = new ArrayList<>();
        List<Q> all = new ArrayList<>();
        for (Map.Entry<String, Double> share : shares.entrySet()) {
            if (!onlyMix) {
                classes.add(alone(share.getKey(), drawn(share.getKey(), queries)));
            }
            all.addAll(drawn(share.getKey(), (int) Math.round(queries * share.getValue() / whole)));
        }
        Collections.shuffle(all, random);
        double seconds = together(all, threads, atOnce, this::askAll);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("classes", classes);
        found.put("seconds", seconds);
        found.put("rate", all.size() / seconds);
        return found;
    }

    <T> T any(List<T> items) {
        return items.get(random.nextInt(items.size()));
    }

    /** Two times between the oldest and the newest edge of a list, the earlier one first. */
    long[] times(long oldest, long newest) {
        long span = Math.max(1, newest - oldest);
        long a = oldest + random.nextLong(span);
        long b = oldest + random.nextLong(span);
        return new long[] {Math.min(a, b), Math.max(a, b)};
    }

    /** Rate and latencies of a class; {@code ask} returns the number of results of a query. */
    static <Q> Map<String, Object> timed(String name, List<Q> all, ToIntFunction<Q> ask) {
        long results = 0;
        double[] times = new double[all.size()];
        long began = System.nanoTime();
        for (int i = 0; i < times.length; i++) {
            long start = System.nanoTime();
            results += ask.applyAsInt(all.get(i));
            times[i] = (System.nanoTime() - start) / 1e3;
        }
        double seconds = (System.nanoTime() - began) / 1e9;
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

    /** Seconds in which so many threads take all queries, so many at once, after a run to warm up. */
    private static <Q> double together(List<Q> all, int threads, int atOnce, Consumer<List<Q>> ask) throws Exception {
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
