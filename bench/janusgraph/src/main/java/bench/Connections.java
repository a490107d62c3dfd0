package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.tinkerpop.gremlin.driver.Client;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.apache.tinkerpop.gremlin.driver.Result;
import org.apache.tinkerpop.gremlin.driver.ResultSet;
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode;
import org.apache.tinkerpop.gremlin.process.traversal.Traverser;
import org.apache.tinkerpop.gremlin.util.ser.Serializers;

/** Connections to a Gremlin Server of this machine, each of which is asked several traversals at once. */
final class Connections implements AutoCloseable {
    private final Cluster cluster;
    private final Client client;

    Connections(int port, int count) {
        cluster = Cluster.build("127.0.0.1")
                .port(port)
                .serializer(Serializers.GRAPHBINARY_V1)
                .minConnectionPoolSize(count)
                .maxConnectionPoolSize(count)
                .minInProcessPerConnection(Mix.AT_ONCE)
                .maxInProcessPerConnection(Mix.AT_ONCE)
                .minSimultaneousUsagePerConnection(Mix.AT_ONCE)
                .maxSimultaneousUsagePerConnection(Mix.AT_ONCE)
                .create();
        client = cluster.connect().alias(Database.SOURCE);
        client.init();
    }

    /** The results of a traversal, each as often as it was found. */
    List<Object> ask(Bytecode traversal) {
        return results(client.submit(traversal));
    }

    /** The results of several traversals, which are sent before the first answer is waited for. */
    List<List<Object>> askAll(List<Bytecode> traversals) {
        List<CompletableFuture<ResultSet>> sent = traversals.stream().map(client::submitAsync).toList();
        return sent.stream().map(answer -> results(answer.join())).toList();
    }

    private static List<Object> results(ResultSet answer) {
        List<Object> found = new ArrayList<>();
        for (Result result : answer.all().join()) {
            Traverser<?> one = result.get(Traverser.class);
            for (long i = 0; i < one.bulk(); i++) {
                found.add(one.get());
            }
        }
        return found;
    }

    @Override
    public void close() {
        cluster.close();
    }
}
