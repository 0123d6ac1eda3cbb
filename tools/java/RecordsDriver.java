import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * Reads lines of base64, each a batch or message set. Prints what Kafka's own classes read in it, their checksums tested:
 * the fields of the batch, then each record, all behind a TAB; or {@code ! reason}.
 */
public class RecordsDriver {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      try {
        out.println(read(MemoryRecords.readableRecords(ByteBuffer.wrap(Base64.getDecoder().decode(line)))));
      } catch (Exception e) {
        out.println("! " + e);
      }
      out.flush();
    }
  }

  private static String read(MemoryRecords records) {
    StringBuilder text = new StringBuilder();
    for (MutableRecordBatch batch : records.batches()) {
      batch.ensureValid();
      boolean isLegacy = batch.magic() < 2;
      text.append("batch ").append(batch.magic()).append(' ').append(batch.compressionType().name).append(' ')
          .append(batch.timestampType()).append(' ').append(batch.baseOffset()).append(' ').append(batch.lastOffset())
          .append(' ').append(batch.maxTimestamp()).append(' ').append(batch.producerId()).append(' ')
          .append(batch.producerEpoch()).append(' ').append(batch.baseSequence()).append(' ')
          .append(batch.lastSequence()).append(' ').append(batch.partitionLeaderEpoch()).append(' ')
          .append(batch.isTransactional()).append(' ').append(batch.isControlBatch()).append(' ')
          .append(batch.deleteHorizonMs().isPresent() ? batch.deleteHorizonMs().getAsLong() : null).append(' ')
          .append(isLegacy ? null : batch.countOrNull()).append('\t');
      try (CloseableIterator<Record> iterator = batch.streamingIterator(BufferSupplier.NO_CACHING)) {
        while (iterator.hasNext()) {
          Record record = iterator.next();
          record.ensureValid();
          text.append(record.offset()).append(' ').append(record.timestamp()).append(' ').append(record.sequence())
              .append(' ').append(base64(record.key())).append(' ').append(base64(record.value()));
          for (Header header : record.headers()) {
            byte[] value = header.value();
            text.append(' ').append(header.key()).append('=').append(base64(value == null ? null : ByteBuffer.wrap(value)));
          }
          text.append('\t');
        }
      }
    }
    return text.toString();
  }

  private static String base64(ByteBuffer buffer) {
    if (buffer == null) return "null";
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return '"' + Base64.getEncoder().encodeToString(bytes) + '"';
  }
}
