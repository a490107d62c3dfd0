package bench;

import java.nio.file.Path;
import java.util.Map;

/** Measures JanusGraph on the database of a folder; the last line of output is one JSON object. */
public final class Main {
    private Main() {}

    /** {@code Main load|serve|answers|gremlin HOME [name=value ...]}; the last two ask a server. */
    public static void main(String[] words) {
        // Threads of servers and drivers may outlive their owners, so the process is ended.
        try {
            System.out.println(Json.of(found(words)));
            System.exit(0);
        } catch (Exception failure) {
            System.err.println(failure);
            System.exit(1);
        }
    }

    private static Object found(String[] words) throws Exception {
        Map<String, String> options = Words.options(words);
        Path home = Path.of(words[1]);
        int port = Integer.parseInt(options.getOrDefault("port", "0"));
        return switch (words[0]) {
            case "load" -> new Load(home).of(new Tables(Path.of(options.get("files"))));
            case "serve" -> {
                Database.serve(home, port);
                yield Map.of();
            }
            case "answers" -> {
                try (Connections server = new Connections(port, 1)) {
                    yield Answers.of(server, Path.of(options.get("questions")));
                }
            }
            case "gremlin" -> {
                try (Gremlin gremlin = new Gremlin(port, new Tables(Path.of(options.get("files"))), options)) {
                    yield gremlin.run();
                }
            }
            default -> throw new IllegalArgumentException("no such command: " + words[0]);
        };
    }
}
