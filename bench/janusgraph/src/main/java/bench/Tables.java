package bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The files of {@code nakshi export --neo4j}: a table of nodes and one of edges. */
final class Tables {
    final Path nodes;
    final Path edges;

    Tables(Path folder) {
        nodes = folder.resolve("nodes.csv");
        edges = folder.resolve("relationships.csv");
    }

    /** A column: what precedes the colon of its head, and its type, or its role in capitals. */
    record Column(String name, String type) {
        static Column of(String head) {
            int colon = head.indexOf(':');
            return new Column(head.substring(0, colon), head.substring(colon + 1));
        }

        boolean isProperty() {
            return !type.equals(type.toUpperCase());
        }

        Class<?> kind() {
            return type.equals("long") ? Long.class : String.class;
        }

        Object value(String text) {
            return type.equals("long") ? (Object) Long.valueOf(text) : text;
        }
    }

    /** A table whose rows are read one after the other. */
    static final class Reader implements AutoCloseable {
        private final BufferedReader lines;
        final List<Column> columns;

        Reader(Path file) throws IOException {
            lines = Files.newBufferedReader(file);
            columns = fields(lines.readLine()).stream().map(Column::of).toList();
        }

        /** The fields of the next row, null after the last one. */
        List<String> next() throws IOException {
            String line = lines.readLine();
            return line == null ? null : fields(line);
        }

        /** Place of the column with a role, or of the property with a name. */
        int place(String wanted) {
            for (int i = 0; i < columns.size(); i++) {
                Column column = columns.get(i);
                if (wanted.equals(column.isProperty() ? column.name : column.type)) {
                    return i;
                }
            }
            throw new IllegalArgumentException("no column " + wanted);
        }

        @Override
        public void close() throws IOException {
            lines.close();
        }
    }

    /** Fields of a line, some in quotes, in which a quote is written twice. No field has a line break. */
    private static List<String> fields(String line) {
        List<String> fields = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"') {
                if (quoted && i + 1 < line.length() && line.charAt(i + 1) == '"') {
                    field.append(line.charAt(++i));
                } else {
                    quoted = !quoted;
                }
            } else if (c == ',' && !quoted) {
                fields.add(field.toString());
                field.setLength(0);
            } else {
                field.append(c);
            }
        }
        fields.add(field.toString());
        return fields;
    }
}
