package bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Maps, lists, numbers and strings as JSON. */
final class Json {
    private Json() {}

    static String of(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> fields = new ArrayList<>();
            map.forEach((name, inner) -> fields.add(of(name.toString()) + ":" + of(inner)));
            return "{" + String.join(",", fields) + "}";
        }
        if (value instanceof Iterable<?> items) {
            List<String> all = new ArrayList<>();
            items.forEach(item -> all.add(of(item)));
            return "[" + String.join(",", all) + "]";
        }
        if (value instanceof String text) {
            StringBuilder out = new StringBuilder("\"");
            for (char c : text.toCharArray()) {
                if (c == '"' || c == '\\') {
                    out.append('\\').append(c);
                } else if (c < ' ') {
                    out.append(String.format("\\u%04x", (int) c));
                } else {
                    out.append(c);
                }
            }
            return out.append('"').toString();
        }
        return String.valueOf(value);
    }
}
