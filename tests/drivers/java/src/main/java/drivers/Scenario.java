package drivers;

import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.neo4j.driver.AuthToken;
import org.neo4j.driver.AuthTokens;
import org.neo4j.driver.Config;
import org.neo4j.driver.Driver;
import org.neo4j.driver.EagerResult;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.QueryConfig;
import org.neo4j.driver.Record;
import org.neo4j.driver.Result;
import org.neo4j.driver.Session;
import org.neo4j.driver.SessionConfig;
import org.neo4j.driver.Transaction;
import org.neo4j.driver.TransactionConfig;
import org.neo4j.driver.summary.ResultSummary;
import org.neo4j.driver.summary.SummaryCounters;

/** A scenario with its driver. */
final class Scenario implements AutoCloseable {
    final Map<String, Object> config;
    private final Map<String, Object> scenario;
    final Map<String, Object> arguments;
    final Driver driver;

    /** A transaction and its session. */
    private record Open(Session session, Transaction transaction) {}

    Scenario(Map<String, Object> config, Map<String, Object> scenario) {
        this.config = config;
        this.scenario = scenario;
        arguments = map(scenario.get("arguments"));
        driver = connect(builder -> {});
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value) {
        return value == null ? Map.of() : (Map<String, Object>) value;
    }

    AuthToken auth(Map<String, Object> connect) {
        Object user = connect.get("user");
        if (connect.containsKey("token")) {
            return AuthTokens.bearer((String) map(config.get("tokens")).get(connect.get("token")));
        }
        if (user == null) {
            return AuthTokens.none();
        }
        Object password = connect.getOrDefault("password", map(config.get("passwords")).get(user));
        return AuthTokens.basic((String) user, (String) password);
    }

    Driver connect(Consumer<Config.ConfigBuilder> more) {
        Map<String, Object> connect = map(scenario.get("connect"));
        Object address = config.get(connect.getOrDefault("server", "plain"));
        Config.ConfigBuilder options = Config.builder();
        if (connect.containsKey("trust")) {
            File authority = new File((String) config.get("authority"));
            options.withEncryption();
            options.withTrustStrategy(Config.TrustStrategy.trustCustomCertificateSignedBy(authority));
        }
        more.accept(options);
        String url = connect.getOrDefault("scheme", "bolt") + "://" + address;
        return GraphDatabase.driver(url, auth(connect), options.build());
    }

    SessionConfig options() {
        String database = (String) scenario.get("database");
        return database == null ? SessionConfig.defaultConfig() : SessionConfig.forDatabase(database);
    }

    List<Object> steps() {
        List<Object> answers = new ArrayList<>();
        Map<String, Open> open = new LinkedHashMap<>();
        try (Session session = driver.session(options())) {
            for (Object step : (List<?>) scenario.get("steps")) {
                try {
                    answers.add(step(map(step), session, open));
                } catch (Exception error) {
                    answers.add(Map.of("error", Runner.code(error)));
                }
            }
        }
        open.values().forEach(one -> one.session.close());
        return answers;
    }

    private Object step(Map<String, Object> step, Session session, Map<String, Open> open) {
        TransactionConfig.Builder terms = TransactionConfig.builder();
        if (step.containsKey("timeout")) {
            terms.withTimeout(Duration.ofMillis((int) step.get("timeout")));
        }
        if (step.containsKey("metadata")) {
            terms.withMetadata(Wire.map(map(step.get("metadata")).get("map")));
        }
        for (String end : List.of("begin", "commit", "rollback", "close")) {
            if (step.containsKey(end)) {
                String name = (String) step.get(end);
                switch (end) {
                    case "begin" -> {
                        Session other = driver.session(options());
                        open.put(name, new Open(other, other.beginTransaction(terms.build())));
                    }
                    case "commit" -> open.get(name).transaction.commit();
                    case "rollback" -> open.get(name).transaction.rollback();
                    default -> open.get(name).transaction.close();
                }
                return Map.of();
            }
        }
        String text = (String) step.get("cypher");
        Map<String, Object> given = step.containsKey("parameters")
                ? Wire.map(map(step.get("parameters")).get("map"))
                : Map.of();
        return switch ((String) step.getOrDefault("by", "run")) {
            case "write" -> session.executeWrite(tx -> read(tx.run(text, given)));
            case "read" -> session.executeRead(tx -> read(tx.run(text, given)));
            case "query" -> {
                QueryConfig.Builder where = QueryConfig.builder();
                options().database().ifPresent(where::withDatabase);
                EagerResult found = driver.executableQuery(text)
                        .withParameters(given)
                        .withConfig(where.build())
                        .execute();
                yield answer(found.keys(), found.records(), found.summary());
            }
            default ->
                step.containsKey("in")
                        ? read(open.get((String) step.get("in")).transaction.run(text, given))
                        : read(session.run(text, given, terms.build()));
        };
    }

    private static Map<String, Object> read(Result result) {
        List<String> columns = result.keys();
        List<Record> records = result.list();
        return answer(columns, records, result.consume());
    }

    private static Map<String, Object> answer(List<String> columns, List<Record> records, ResultSummary summary) {
        SummaryCounters counters = summary.counters();
        Map<String, Integer> changed = new LinkedHashMap<>();
        changed.put("nodes_created", counters.nodesCreated());
        changed.put("nodes_deleted", counters.nodesDeleted());
        changed.put("relationships_created", counters.relationshipsCreated());
        changed.put("relationships_deleted", counters.relationshipsDeleted());
        changed.put("properties_set", counters.propertiesSet());
        changed.put("labels_added", counters.labelsAdded());
        changed.put("labels_removed", counters.labelsRemoved());
        changed.values().removeIf(count -> count == 0);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("columns", columns);
        answer.put("rows", records.stream().map(record -> record.values(Wire::to)).toList());
        answer.put("counters", changed);
        answer.put("type", type(summary));
        answer.put("database", summary.database().name());
        answer.put("plan", summary.hasPlan());
        return answer;
    }

    private static String type(ResultSummary summary) {
        return switch (summary.queryType()) {
            case READ_ONLY -> "r";
            case WRITE_ONLY -> "w";
            case READ_WRITE -> "rw";
            case SCHEMA_WRITE -> "s";
        };
    }

    @Override
    public void close() {
        driver.close();
    }
}
