import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Reads lines {@code compress codec level base64} and {@code decompress codec magic base64}, does it with the streams that
 * Kafka's record batches are written and read by, and prints base64, or {@code ! reason}. The level "-" is the default.
 */
public class CodecDriver {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split(" ", -1);
      try {
        byte[] bytes = Base64.getDecoder().decode(words[3]);
        byte[] result = words[0].equals("compress")
            ? compress(compression(words[1], words[2]), bytes)
            : decompress(compression(words[1], "-"), Byte.parseByte(words[2]), bytes);
        out.println(Base64.getEncoder().encodeToString(result));
      } catch (Throwable e) {
        Throwable cause = e.getCause() == null ? e : e.getCause();
        out.println("! " + String.valueOf(cause).replace('\n', ' '));
      }
      out.flush();
    }
  }

  private static Compression compression(String codec, String level) {
    boolean byDefault = level.equals("-");
    switch (codec) {
      case "gzip":
        return byDefault ? Compression.gzip().build() : Compression.gzip().level(Integer.parseInt(level)).build();
      case "lz4":
        return byDefault ? Compression.lz4().build() : Compression.lz4().level(Integer.parseInt(level)).build();
      case "zstd":
        return byDefault ? Compression.zstd().build() : Compression.zstd().level(Integer.parseInt(level)).build();
      default:
        return Compression.snappy().build();
    }
  }

  private static byte[] compress(Compression compression, byte[] bytes) throws Exception {
    ByteBufferOutputStream buffer = new ByteBufferOutputStream(1024);
    try (OutputStream stream = compression.wrapForOutput(buffer, (byte) 2)) {
      stream.write(bytes);
    }
    ByteBuffer written = buffer.buffer();
    written.flip();
    byte[] result = new byte[written.remaining()];
    written.get(result);
    return result;
  }

  private static byte[] decompress(Compression compression, byte magic, byte[] bytes) throws Exception {
    try (InputStream stream = compression.wrapForInput(ByteBuffer.wrap(bytes), magic, BufferSupplier.NO_CACHING)) {
      return stream.readAllBytes();
    }
  }
}
