package drivers;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.neo4j.driver.exceptions.Neo4jException;
import org.neo4j.driver.exceptions.SecurityException;
import org.neo4j.driver.exceptions.ServiceUnavailableException;

/** Runs the scenarios with the driver for Java; ../README.md says what it reads and writes. */
public final class Runner {
    private Runner() {}

    /** {@code Runner CONFIG}. */
    @SuppressWarnings("unchecked")
    public static void main(String[] words) throws Exception {
        ObjectMapper json = new ObjectMapper();
        Map<String, Object> config = json.readValue(new File(words[0]), Map.class);
        for (Object one : (List<Object>) config.get("scenarios")) {
            Map<String, Object> scenario = (Map<String, Object>) one;
            Map<String, Object> done = new LinkedHashMap<>();
            done.put("name", scenario.get("name"));
            try (Scenario running = new Scenario(config, scenario)) {
                if (scenario.containsKey("steps")) {
                    done.put("steps", running.steps());
                } else {
                    done.put("value", new Behaviours(running).run((String) scenario.get("behaviour")));
                }
            } catch (Exception error) {
                done.put("failed", code(error));
            }
            System.out.println(json.writeValueAsString(done));
        }
        System.exit(0);
    }

    static String code(Exception error) {
        if (error instanceof ServiceUnavailableException) {
            return "ServiceUnavailable";
        }
        if (!(error instanceof Neo4jException of)) {
            return error.toString();
        }
        // The driver's own errors have no code; one of them is a failed handshake of TLS.
        boolean handshake = error.getClass() == SecurityException.class && "N/A".equals(of.code());
        return handshake ? "ServiceUnavailable" : "N/A".equals(of.code()) ? error.toString() : of.code();
    }
}
