import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Reads lines {@code class version base64}. Decodes the bytes with Kafka's class, turns it into JSON and back by Kafka's
 * converter, and encodes what came out of that, and what went in. Prints {@code json TAB base64 TAB base64 TAB text}, where
 * the text is what the class prints of itself (the JSON leaves out defaults), or {@code ! reason}.
 */
public class ProtocolDriver {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    ObjectMapper mapper = new ObjectMapper();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", -1);
      try {
        short version = Short.parseShort(words[1]);
        ByteBuffer bytes = ByteBuffer.wrap(Base64.getDecoder().decode(words[2]));
        Class<?> type = Class.forName(words[0]);
        Message message = (Message) type.getDeclaredConstructor().newInstance();
        message.read(new ByteBufferAccessor(bytes), version);
        if (bytes.hasRemaining()) throw new IllegalStateException(bytes.remaining() + " bytes left over");
        Class<?> converter = Class.forName(words[0] + "JsonConverter");
        JsonNode json = toJson(converter, type, message, version);
        Message again = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, json, version);
        out.println(mapper.writeValueAsString(json) + "\t" + encode(again, version) + "\t" + encode(message, version)
            + "\t" + message);
      } catch (InvocationTargetException e) {
        out.println("! " + e.getCause());
      } catch (Exception e) {
        out.println("! " + e);
      }
      out.flush();
    }
  }

  private static String encode(Message message, short version) {
    ByteBuffer encoded = MessageUtil.toByteBufferAccessor(message, version).buffer();
    byte[] array = new byte[encoded.remaining()];
    encoded.get(array);
    return Base64.getEncoder().encodeToString(array);
  }

  private static JsonNode toJson(Class<?> converter, Class<?> type, Message message, short version) throws Exception {
    for (Method method : converter.getMethods()) {
      if (method.getName().equals("write") && method.getParameterCount() == 3 && method.getParameterTypes()[0] == type) {
        return (JsonNode) method.invoke(null, message, version, true);
      }
    }
    return (JsonNode) converter.getMethod("write", type, short.class).invoke(null, message, version);
  }
}
