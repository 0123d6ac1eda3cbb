import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.OutputStreamWriter;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.apache.kafka.common.utils.Utils;

/**
 * Tells where the Java producer puts keys. Argument: number of partitions. Input: a key a line, in hex (an empty line is the empty key).
 * Output: a line a key, "PARTITION MURMUR2".
 */
public final class JavaPartitioner {
    public static void main(String[] args) throws Exception {
        int partitions = Integer.parseInt(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintWriter out = new PrintWriter(new OutputStreamWriter(System.out, StandardCharsets.US_ASCII));
        for (String line; (line = in.readLine()) != null;) {
            byte[] key = HexFormat.of().parseHex(line.trim());
            out.println(BuiltInPartitioner.partitionForKey(key, partitions) + " " + Utils.murmur2(key));
        }
        out.flush();
    }
}
