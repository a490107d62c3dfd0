package drivers;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.neo4j.driver.Bookmark;
import org.neo4j.driver.Driver;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.Record;
import org.neo4j.driver.Result;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.Transaction;
import org.neo4j.driver.TransactionContext;
import org.neo4j.driver.Value;
import org.neo4j.driver.async.AsyncSession;
import org.neo4j.driver.exceptions.ClientException;
import org.neo4j.driver.exceptions.ServiceUnavailableException;

/** Scenarios that are calls of the driver, by their names. */
final class Behaviours {
    private final Scenario scenario;
    private final Driver driver;
    private int tries;

    Behaviours(Scenario scenario) {
        this.scenario = scenario;
        driver = scenario.driver;
    }

    Object run(String name) throws Exception {
        return switch (name) {
            case "element_ids" -> elementIds();
            case "streamed" -> streamed();
            case "left_early" -> leftEarly();
            case "by_turns" -> byTurns();
            case "failing_function" -> failingFunction();
            case "conflict" -> conflict();
            case "counters" -> counters();
            case "bookmarks" -> bookmarks();
            case "wrong_bookmark" -> wrongBookmark();
            case "server_info" -> serverInfo();
            case "many_sessions" -> manySessions();
            case "liveness" -> liveness();
            case "cancelled" -> cancelled();
            case "session_user" -> sessionUser();
            case "routed" -> routed();
            case "bookmarks_everywhere" -> bookmarksEverywhere();
            case "leader_lost" -> leaderLost();
            default -> throw new IllegalArgumentException("no behaviour " + name);
        };
    }

    private static Value one(Driver driver, String text, Map<String, Object> parameters) {
        return driver.executableQuery(text).withParameters(parameters).execute().records().get(0).get(0);
    }

    private long number(String text) {
        return one(driver, text, Map.of()).asLong();
    }

    private Session fetching(int rows) {
        return driver.session(SessionConfig.builder().withFetchSize(rows).build());
    }

    private Object elementIds() {
        String id = one(driver, "CREATE (n:Element) RETURN n", Map.of()).asNode().elementId();
        return one(driver, "MATCH (n) WHERE elementId(n) = $id RETURN count(n)", Map.of("id", id)).asLong();
    }

    private Object streamed() {
        long count = 0;
        long total = 0;
        try (Session session = fetching((int) scenario.arguments.get("fetch"))) {
            Result result = session.run((String) scenario.arguments.get("cypher"));
            while (result.hasNext()) {
                count++;
                total += result.next().get(0).asLong();
            }
        }
        return List.of(count, total);
    }

    private Object leftEarly() {
        try (Session session = fetching(10)) {
            Result result = session.run((String) scenario.arguments.get("cypher"));
            long total = 0;
            for (int i = 0; i < 20; i++) {
                total += result.next().get(0).asLong();
            }
            result.consume();
            return List.of(total, session.run("RETURN 1").single().get(0).asLong());
        }
    }

    private Object byTurns() {
        String text = "UNWIND range(1, 1000) AS i RETURN i";
        try (Session session = fetching(10);
                Transaction transaction = session.beginTransaction()) {
            Result first = transaction.run(text);
            Result second = transaction.run(text);
            long[] sums = new long[2];
            while (first.hasNext()) {
                sums[0] += first.next().get(0).asLong();
                sums[1] += second.next().get(0).asLong();
            }
            transaction.commit();
            return sums;
        }
    }

    private Object failingFunction() {
        try (Session session = driver.session()) {
            session.executeWriteWithoutResult(transaction -> {
                tries++;
                transaction.run("CREATE (:Failing)").consume();
                throw new IllegalStateException("of the program");
            });
        } catch (IllegalStateException error) {
            return List.of(tries, number("MATCH (n:Failing) RETURN count(n)"));
        }
        return "no error";
    }

    private Object conflict() {
        number("CREATE (n:Conflict {n: 0}) RETURN 1");
        try (Session session = driver.session()) {
            session.executeWriteWithoutResult(transaction -> {
                tries++;
                long n = transaction.run("MATCH (c:Conflict) RETURN c.n").single().get(0).asLong();
                if (tries == 1) {
                    number("MATCH (c:Conflict) SET c.n = 10 RETURN 1");
                }
                transaction.run("MATCH (c:Conflict) SET c.n = $n", Map.of("n", n + 1)).consume();
            });
        }
        return List.of(tries, number("MATCH (c:Conflict) RETURN c.n"));
    }

    private static void add(TransactionContext transaction) {
        // A server with locks takes one here.
        Record read = transaction.run("MATCH (c:Counter) SET c.held = true RETURN c.n").single();
        Map<String, Object> next = Map.of("n", read.get(0).asLong() + 1);
        transaction.run("MATCH (c:Counter) SET c.n = $n", next).consume();
    }

    private static <T> List<T> atOnce(List<Callable<T>> tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
        List<T> done = new ArrayList<>();
        for (Future<T> future : threads.invokeAll(tasks)) {
            done.add(future.get());
        }
        threads.shutdown();
        return done;
    }

    private Object counters() throws Exception {
        number("CREATE (n:Counter {n: 0}) RETURN 1");
        Callable<Object> adding = () -> {
            try (Session session = driver.session()) {
                for (int i = 0; i < 5; i++) {
                    session.executeWriteWithoutResult(Behaviours::add);
                }
                return 0;
            }
        };
        atOnce(List.of(adding, adding, adding, adding));
        return number("MATCH (c:Counter) RETURN c.n");
    }

    private Object bookmarks() {
        Set<Bookmark> marks;
        try (Session session = driver.session()) {
            session.executeWriteWithoutResult(transaction -> transaction.run("CREATE (:Marked)").consume());
            marks = session.lastBookmarks();
        }
        try (Session session = driver.session(SessionConfig.builder().withBookmarks(marks).build())) {
            String text = "MATCH (n:Marked) RETURN count(n)";
            long count = session.executeRead(transaction -> transaction.run(text).single().get(0).asLong());
            return List.of(marks.size() == 1, count);
        }
    }

    private Object wrongBookmark() {
        Bookmark mark = Bookmark.from("no bookmark of this graph");
        try (Session session = driver.session(SessionConfig.builder().withBookmarks(mark).build())) {
            session.run("RETURN 1").consume();
            return "accepted";
        } catch (ClientException error) {
            return error.code();
        }
    }

    private Object serverInfo() {
        driver.verifyConnectivity();
        try (Session session = driver.session()) {
            return session.run("RETURN 1").consume().server().agent().split("/")[0];
        }
    }

    private Object manySessions() throws Exception {
        List<Callable<Long>> tasks = new ArrayList<>();
        for (int i = 1; i <= 16; i++) {
            Map<String, Object> given = Map.of("x", i);
            tasks.add(() -> {
                try (Session session = driver.session()) {
                    return session.run("RETURN $x", given).single().get(0).asLong();
                }
            });
        }
        return atOnce(tasks).stream().mapToLong(Long::longValue).sum();
    }

    private Object liveness() {
        Driver other = scenario.connect(options -> options.withConnectionLivenessCheckTimeout(0, TimeUnit.SECONDS));
        try (other) {
            long first = one(other, "RETURN 1", Map.of()).asLong();
            return List.of(first, one(other, "RETURN 1", Map.of()).asLong());
        }
    }

    private Object cancelled() throws Exception {
        boolean ran;
        try (Driver other = scenario.connect(options -> {})) {
            AsyncSession session = other.session(AsyncSession.class);
            // The answer to the statement comes before its rows.
            var running = session.runAsync((String) scenario.arguments.get("cypher"))
                    .thenCompose(result -> result.listAsync())
                    .toCompletableFuture();
            Thread.sleep(300);
            ran = !running.isDone();
        }
        return List.of(ran, number("RETURN 1"));
    }

    private String changed(String text, Map<String, Object> parameters) {
        try (Session session = driver.session()) {
            return session.executeWrite(transaction ->
                    transaction.run(text, parameters).consume().server().address());
        }
    }

    private Object routed() {
        return changed("CREATE (:Led)", Map.of()).equals(scenario.config.get("leader"));
    }

    private Object bookmarksEverywhere() {
        Set<Bookmark> marks;
        try (Session session = driver.session()) {
            session.executeWriteWithoutResult(transaction -> transaction.run("CREATE (:Everywhere)").consume());
            marks = session.lastBookmarks();
        }
        String text = "MATCH (n:Everywhere) RETURN count(n)";
        List<Long> counts = new ArrayList<>();
        for (Object address : (List<?>) scenario.config.get("servers")) {
            SessionConfig config = SessionConfig.builder().withBookmarks(marks).build();
            try (Driver other = GraphDatabase.driver("bolt://" + address);
                    Session session = other.session(config)) {
                counts.add(session.executeRead(transaction -> transaction.run(text).single().get(0).asLong()));
            }
        }
        return counts;
    }

    private Object leaderLost() throws Exception {
        long until = System.nanoTime() + 1_000_000_000L * (int) scenario.arguments.get("seconds");
        long count = 0;
        int lost = 0;
        while (System.nanoTime() < until) {
            try {
                changed("MERGE (:Lasting {i: $i})", Map.of("i", count));
                count++;
            } catch (ServiceUnavailableException error) {
                // The driver does not repeat a commit of which it does not know the outcome.
                if (++lost > (int) scenario.arguments.get("kills")) {
                    throw error;
                }
            }
            Thread.sleep(20);
        }
        return List.of(count > 50, count - number("MATCH (n:Lasting) RETURN count(n)"));
    }

    private Object sessionUser() {
        String first = "written";
        var reader = scenario.auth(Map.of("user", "reader"));
        try (Session session = driver.session(Session.class, SessionConfig.defaultConfig(), reader)) {
            session.run("CREATE (:Secret)").consume();
        } catch (ClientException error) {
            first = "refused";
        }
        return List.of(first, number("CREATE (n:Secret) RETURN 1"));
    }
}
