package bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.structure.Direction;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.janusgraph.core.EdgeLabel;
import org.janusgraph.core.JanusGraph;
import org.janusgraph.core.JanusGraphTransaction;
import org.janusgraph.core.Multiplicity;
import org.janusgraph.core.PropertyKey;
import org.janusgraph.core.schema.JanusGraphManagement;

/**
 * A load of tables. Ids have a unique composite index, and each type of edges has an index by time, newest first,
 * at every node.
 */
final class Load {
    private static final String LABEL = "Node";
    /** Nodes, or edges, of a transaction. */
    private static final int TOGETHER = 2000;

    private final Path home;
    /** JanusGraph's ids of nodes by those of the tables. */
    private final Map<Long, Object> places = new HashMap<>();

    Load(Path home) {
        this.home = home;
    }

    /** Takes a row of a table, within a transaction. */
    private interface Row {
        void add(JanusGraphTransaction tx, List<Tables.Column> columns, List<String> fields);
    }

    Map<String, Object> of(Tables tables) throws IOException {
        long began = System.nanoTime();
        Map<String, Object> found = new LinkedHashMap<>();
        try (JanusGraph graph = Database.open(home)) {
            schema(graph, tables);
            found.put("nodes", rows(graph, tables.nodes, this::node));
            found.put("edges", rows(graph, tables.edges, this::edge));
        }
        found.put("seconds", (System.nanoTime() - began) / 1e9);
        return found;
    }

    private static void schema(JanusGraph graph, Tables tables) throws IOException {
        JanusGraphManagement management = graph.openManagement();
        management.makeVertexLabel(LABEL).make();
        PropertyKey id = management.makePropertyKey(Database.ID).dataType(Long.class).make();
        management.buildIndex("byId", Vertex.class).addKey(id).unique().buildCompositeIndex();
        for (Path file : List.of(tables.nodes, tables.edges)) {
            try (Tables.Reader rows = new Tables.Reader(file)) {
                for (Tables.Column column : rows.columns) {
                    if (column.isProperty()) {
                        management.makePropertyKey(column.name()).dataType(column.kind()).make();
                    }
                }
            }
        }
        PropertyKey time = management.getPropertyKey(Database.TIME);
        for (String type : types(tables)) {
            EdgeLabel label = management.makeEdgeLabel(type).multiplicity(Multiplicity.MULTI).make();
            management.buildEdgeIndex(label, type + "ByTime", Direction.OUT, Order.desc, time);
        }
        management.commit();
    }

    private static Set<String> types(Tables tables) throws IOException {
        Set<String> types = new HashSet<>();
        try (Tables.Reader rows = new Tables.Reader(tables.edges)) {
            int place = rows.place("TYPE");
            for (List<String> row = rows.next(); row != null; row = rows.next()) {
                types.add(row.get(place));
            }
        }
        return types;
    }

    private void node(JanusGraphTransaction tx, List<Tables.Column> columns, List<String> fields) {
        Vertex node = tx.addVertex(LABEL);
        for (int i = 0; i < fields.size(); i++) {
            Tables.Column column = columns.get(i);
            if (column.type().equals("ID")) {
                long id = Long.parseLong(fields.get(i));
                node.property(Database.ID, id);
                places.put(id, node.id());
            } else if (column.isProperty() && !fields.get(i).isEmpty()) {
                node.property(column.name(), column.value(fields.get(i)));
            }
        }
    }

    private void edge(JanusGraphTransaction tx, List<Tables.Column> columns, List<String> fields) {
        Vertex source = null;
        Vertex end = null;
        String type = null;
        List<Object> properties = new ArrayList<>();
        for (int i = 0; i < fields.size(); i++) {
            Tables.Column column = columns.get(i);
            String field = fields.get(i);
            switch (column.type()) {
                case "START_ID" -> source = tx.getVertex(places.get(Long.parseLong(field)));
                case "END_ID" -> end = tx.getVertex(places.get(Long.parseLong(field)));
                case "TYPE" -> type = field;
                default -> {
                    if (!field.isEmpty()) {
                        properties.add(column.name());
                        properties.add(column.value(field));
                    }
                }
            }
        }
        source.addEdge(type, end, properties.toArray());
    }

    /** Adds the rows of a table and returns their number. */
    private static int rows(JanusGraph graph, Path file, Row row) throws IOException {
        int count = 0;
        try (Tables.Reader rows = new Tables.Reader(file)) {
            JanusGraphTransaction tx = begin(graph);
            for (List<String> fields = rows.next(); fields != null; fields = rows.next()) {
                row.add(tx, rows.columns, fields);
                count++;
                if (count % TOGETHER == 0) {
                    tx.commit();
                    tx = begin(graph);
                }
            }
            tx.commit();
        }
        return count;
    }

    /** Without the checks of what the tables promise already, such as unique ids. */
    private static JanusGraphTransaction begin(JanusGraph graph) {
        return graph.buildTransaction().enableBatchLoading().start();
    }
}
