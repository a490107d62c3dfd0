package bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode;

/** Answers of a server to questions of a file, to be compared before anything is timed. */
final class Answers {
    private Answers() {}

    /** One answer a line; a line has the name of a query and what it takes, between tabs. */
    static List<Object> of(Connections server, Path questions) throws IOException {
        List<Object> answers = new ArrayList<>();
        for (String line : Files.readAllLines(questions)) {
            String[] words = line.split("\t");
            List<Object> found = server.ask(query(words));
            answers.add(switch (words[0]) {
                case "obj_get" -> object(found);
                case "assoc_count" -> found.get(0);
                default -> found.stream().map(Answers::edge).toList();
            });
        }
        return answers;
    }

    private static Bytecode query(String[] words) {
        Object id = Long.parseLong(words[1]);
        return switch (words[0]) {
            case "obj_get" -> Queries.object(id);
            case "assoc_range" -> Queries.range(id, words[2]);
            case "assoc_count" -> Queries.count(id, words[2]);
            case "assoc_get" -> {
                List<Object> ends = new ArrayList<>();
                Arrays.stream(words[3].split(",")).map(Long::valueOf).forEach(ends::add);
                yield Queries.with(id, words[2], ends);
            }
            case "assoc_time_range" ->
                Queries.between(id, words[2], Long.parseLong(words[3]), Long.parseLong(words[4]));
            default -> throw new IllegalArgumentException(words[0]);
        };
    }

    private static Map<String, Object> object(List<Object> found) {
        Map<String, Object> object = new LinkedHashMap<>();
        // Every property of a node may have several values, and comes as a list.
        ((Map<?, ?>) found.get(0)).forEach((name, values) -> object.put((String) name, ((List<?>) values).get(0)));
        object.remove(Database.ID);
        return object;
    }

    /** Where an edge leads, its time, and its other properties. */
    private static List<Object> edge(Object found) {
        Map<?, ?> both = (Map<?, ?>) found;
        Map<Object, Object> properties = new LinkedHashMap<>((Map<?, ?>) both.get(Queries.EDGE));
        Object time = properties.remove(Database.TIME);
        return List.of(both.get(Queries.END), time, properties);
    }
}
