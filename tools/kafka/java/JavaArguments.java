import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** Arguments of the programs beside: "--name value" once each, and "-X key=value", as often as wanted, for the client's configuration. */
final class JavaArguments {
    final Map<String, String> options = new HashMap<>();
    final Properties properties = new Properties();

    JavaArguments(String[] args, String... names) {
        List<String> known = List.of(names);
        for (int i = 0; i < args.length; i += 2) {
            if (i + 1 == args.length) throw new IllegalArgumentException(args[i] + " needs a value");
            String value = args[i + 1];
            if (args[i].equals("-X")) {
                int equals = value.indexOf('=');
                if (equals < 1) throw new IllegalArgumentException("-X needs key=value, not " + value);
                properties.setProperty(value.substring(0, equals), value.substring(equals + 1));
            } else if (args[i].startsWith("--") && known.contains(args[i].substring(2))) {
                options.put(args[i].substring(2), value);
            } else {
                throw new IllegalArgumentException("unknown option " + args[i] + "; there are -X and " + known);
            }
        }
        if (options.containsKey("bootstrap-server")) {
            properties.setProperty("bootstrap.servers", options.get("bootstrap-server"));
        }
    }

    String required(String name) {
        String value = options.get(name);
        if (value == null) throw new IllegalArgumentException("--" + name + " is needed");
        return value;
    }
}
