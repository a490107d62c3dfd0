package bench;

import java.nio.file.Path;
import java.util.Map;

/** Measures Neo4j on the database of a home directory; the last line of output is one JSON object. */
public final class Main {
    private Main() {}

    /** {@code Main index|answers|change|workload|linkbench|friends|serve|bolt HOME [name=value ...]}. */
    public static void main(String[] words) throws Exception {
        Map<String, String> options = Words.options(words);
        long cache = Long.parseLong(options.getOrDefault("cache", String.valueOf(2L << 30)));
        boolean direct = options.containsKey("direct");
        int port = Integer.parseInt(options.getOrDefault("port", "0"));
        if (words[0].equals("bolt")) {
            try (Bolt bolt = new Bolt(port, options)) {
                System.out.println(Json.of(bolt.run()));
            }
            return;
        }
        Object found;
        try (Database database = new Database(Path.of(words[1]), cache, direct, port)) {
            found = switch (words[0]) {
                case "index" -> database.index();
                case "answers" -> new Answers(database).of(options.get("ids").split(","));
                case "change" -> Changes.of(database, Path.of(options.get("changes")));
                case "linkbench" -> new LinkBench(database, options).run();
                case "workload" -> new Workload(database, options).run();
                case "serve" -> {
                    Words.serve();
                    yield Map.of();
                }
                case "friends" -> new Friends(database, options).run();
                default -> throw new IllegalArgumentException("no such command: " + words[0]);
            };
        }
        System.out.println(Json.of(found));
    }
}
