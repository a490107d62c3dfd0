package bench;

import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;

import java.util.List;
import org.apache.tinkerpop.gremlin.process.traversal.Bytecode;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.Edge;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.structure.util.empty.EmptyGraph;

/**
 * The queries of TAO as traversals: edges newest first, in external ids. A result of a list is a map with {@link
 * #END} and {@link #EDGE}.
 */
final class Queries {
    static final String END = "end";
    static final String EDGE = "edge";
    private static final GraphTraversalSource SOURCE = traversal().withEmbedded(EmptyGraph.instance());

    private Queries() {}

    private static GraphTraversal<Vertex, Vertex> node(Object id) {
        return SOURCE.V().has(Database.ID, id);
    }

    private static GraphTraversal<Vertex, Edge> list(Object id, String type) {
        return node(id).outE(type);
    }

    /** Edges, of which each comes with the id of its end and all its properties. */
    private static Bytecode sorted(GraphTraversal<Vertex, Edge> edges, int limit) {
        return code(edges.order()
                .by(Database.TIME, Order.desc)
                .limit(limit)
                .project(END, EDGE)
                .by(__.inV().values(Database.ID))
                .by(__.valueMap()));
    }

    private static Bytecode code(GraphTraversal<?, ?> traversal) {
        return traversal.asAdmin().getBytecode();
    }

    static Bytecode object(Object id) {
        return code(node(id).valueMap());
    }

    static Bytecode property(Object id, String name) {
        return code(node(id).values(name));
    }

    static Bytecode range(Object id, String type) {
        return sorted(list(id, type), Mix.LIMIT);
    }

    static Bytecode count(Object id, String type) {
        return code(list(id, type).count());
    }

    static Bytecode with(Object id, String type, List<Object> ends) {
        return sorted(list(id, type).where(__.inV().has(Database.ID, P.within(ends))), Integer.MAX_VALUE);
    }

    static Bytecode between(Object id, String type, long low, long high) {
        GraphTraversal<Vertex, Edge> list = list(id, type);
        return sorted(list.has(Database.TIME, P.gte(low)).has(Database.TIME, P.lte(high)), Mix.LIMIT);
    }
}
