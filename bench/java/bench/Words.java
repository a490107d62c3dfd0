package bench;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;

/** The words of a command line: a command, a folder, and then options such as {@code seed=1}. */
final class Words {
    private Words() {}

    static Map<String, String> options(String[] words) {
        Map<String, String> options = new HashMap<>();
        for (int i = 2; i < words.length; i++) {
            String[] pair = words[i].split("=", 2);
            options.put(pair[0], pair[1]);
        }
        return options;
    }

    /** Says that the server answers, and waits until the caller closes the input. */
    static void serve() throws IOException {
        System.out.println("ready");
        while (System.in.read() >= 0) {}
    }
}
