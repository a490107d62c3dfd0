package bench;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.connectors.HttpConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.ResourceIterator;
import org.neo4j.graphdb.Transaction;
import org.neo4j.io.pagecache.monitoring.PageCacheCounters;
import org.neo4j.io.pagecache.tracing.PageCacheTracer;
import org.neo4j.kernel.internal.GraphDatabaseAPI;

/** The imported database of a home directory, embedded in this process. */
final class Database implements AutoCloseable {
    static final Label LABEL = Label.label("Node");
    static final String ID = "id";

    private final DatabaseManagementService service;
    final GraphDatabaseService graph;

    /**
     * Opens it with so many bytes of page cache, read by the operating system directly or not. It answers Bolt
     * at a port of this machine, or not at all if that is 0.
     */
    Database(Path home, long cache, boolean direct, int port) {
        service = new DatabaseManagementServiceBuilder(home)
                .setConfig(GraphDatabaseSettings.pagecache_memory, cache)
                .setConfig(GraphDatabaseSettings.pagecache_direct_io, direct)
                .setConfig(GraphDatabaseSettings.pagecache_warmup_enabled, false)
                .setConfig(BoltConnector.enabled, port != 0)
                .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", port))
                .setConfig(HttpConnector.enabled, false)
                .build();
        graph = service.database(GraphDatabaseSettings.DEFAULT_DATABASE_NAME);
    }

    /** What its page cache counts. */
    PageCacheCounters counters() {
        return ((GraphDatabaseAPI) graph).getDependencyResolver().resolveDependency(PageCacheTracer.class);
    }

    /** Makes an index of ids and one of each other property of nodes; seconds until they are online. */
    Map<String, Object> index() {
        long began = System.nanoTime();
        List<String> keys = new ArrayList<>();
        try (Transaction tx = graph.beginTx()) {
            tx.getAllPropertyKeys().forEach(keys::add);
        }
        List<String> indexed = new ArrayList<>();
        for (String key : keys) {
            if (!key.equals(ID) && !hasNode(key)) {
                continue;
            }
            try (Transaction tx = graph.beginTx()) {
                tx.schema().indexFor(LABEL).on(key).create();
                tx.commit();
            }
            indexed.add(key);
        }
        try (Transaction tx = graph.beginTx()) {
            tx.schema().awaitIndexesOnline(1, TimeUnit.HOURS);
        }
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("indexes", indexed.size());
        found.put("seconds", (System.nanoTime() - began) / 1e9);
        return found;
    }

    /** Whether one of the first nodes has the property, which may be one of edges only. */
    private boolean hasNode(String key) {
        try (Transaction tx = graph.beginTx(); ResourceIterator<Node> nodes = tx.getAllNodes().iterator()) {
            for (int i = 0; i < 1000 && nodes.hasNext(); i++) {
                if (nodes.next().hasProperty(key)) {
                    return true;
                }
            }
            return false;
        }
    }

    @Override
    public void close() {
        service.shutdown();
    }
}
