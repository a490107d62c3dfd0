package bench;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.Relationship;
import org.neo4j.graphdb.Transaction;
import org.neo4j.io.pagecache.monitoring.PageCacheCounters;

/** Friend lists of random users: what the page cache reads for one, and how long it takes. */
final class Friends {
    private final Database database;
    private final int queries;
    private final Random random;

    Friends(Database database, Map<String, String> options) {
        this.database = database;
        queries = Integer.parseInt(options.getOrDefault("queries", "2000"));
        random = new Random(Long.parseLong(options.getOrDefault("seed", "1")));
    }

    Map<String, Object> run() {
        List<String> users = new ArrayList<>();
        try (Transaction tx = database.graph.beginTx(); var nodes = tx.getAllNodes().iterator()) {
            nodes.forEachRemaining(node -> users.add(node.getElementId()));
        }
        // Fills the page cache and warms up the compiler.
        for (int i = 0; i < queries; i++) {
            friends(users.get(random.nextInt(users.size())));
        }
        PageCacheCounters counters = database.counters();
        long faults = counters.faults();
        long bytes = counters.bytesRead();
        long pins = counters.pins();
        long found = 0;
        long began = System.nanoTime();
        for (int i = 0; i < queries; i++) {
            found += friends(users.get(random.nextInt(users.size())));
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        Map<String, Object> measured = new LinkedHashMap<>();
        measured.put("faults", (counters.faults() - faults) / (double) queries);
        measured.put("bytes", (counters.bytesRead() - bytes) / (double) queries);
        measured.put("pins", (counters.pins() - pins) / (double) queries);
        measured.put("friends", found / (double) queries);
        measured.put("microseconds", seconds * 1e6 / queries);
        return measured;
    }

    /** Reads the properties of every friend of a user; how many there are. */
    private int friends(String user) {
        int count = 0;
        try (Transaction tx = database.graph.beginTx()) {
            Node node = tx.getNodeByElementId(user);
            for (Relationship edge : node.getRelationships()) {
                edge.getOtherNode(node).getAllProperties();
                count++;
            }
        }
        return count;
    }
}
