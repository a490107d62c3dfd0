package bench;

import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.tinkerpop.gremlin.server.GraphManager;
import org.apache.tinkerpop.gremlin.server.GremlinServer;
import org.apache.tinkerpop.gremlin.server.Settings;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphFactory;

/** The database of a folder: JanusGraph on BerkeleyDB in the same process. */
final class Database {
    static final String ID = "id";
    static final String TIME = "timestamp";
    /** The source of traversals that clients name. */
    static final String SOURCE = "g";

    private Database() {}

    static JanusGraph open(Path home) {
        return JanusGraphFactory.build()
                .set("storage.backend", "berkeleyje")
                .set("storage.directory", home.toString())
                .set("schema.default", "none")
                .set("ids.block-size", 1_000_000)
                .set("cache.db-cache", true)
                // Seconds; 0 is for ever.
                .set("cache.db-cache-time", 0)
                .set("cache.db-cache-size", 0.3)
                .open();
    }

    /** Answers Gremlin over WebSocket at a port of this machine until the caller closes the input. */
    static void serve(Path home, int port) throws Exception {
        try (JanusGraph graph = open(home)) {
            Settings settings = new Settings();
            settings.host = "127.0.0.1";
            settings.port = port;
            settings.evaluationTimeout = TimeUnit.HOURS.toMillis(1);
            GremlinServer server = new GremlinServer(settings);
            GraphManager graphs = server.getServerGremlinExecutor().getGraphManager();
            graphs.putGraph("graph", graph);
            graphs.putTraversalSource(SOURCE, graph.traversal());
            server.start().join();
            Words.serve();
            server.stop().join();
        }
    }
}
