import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Map;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens partition directories as a broker does, reads each from start to end, and closes it again.
 *
 * Reads lines "clean DIR" or "unclean DIR", with and without the marker of a clean stop. Prints for each one line of JSON:
 * logStartOffset, logEndOffset, segments as [base offset, bytes], batches and records read, leaderEpochs as [epoch, start offset],
 * and producers as [id, last sequence]; or the error.
 */
public class JavaOpenLogs {
  private static final int ONE_MIB = 1024 * 1024;

  public static void main(String[] args) throws Exception {
    KafkaScheduler scheduler = new KafkaScheduler(1);
    scheduler.startup();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int space = line.indexOf(' ');
      try {
        out.println(open(new File(line.substring(space + 1)), line.startsWith("clean "), scheduler));
      } catch (Throwable e) {
        out.println("{\"error\":\"" + e.toString().replaceAll("[\"\\\\\\p{Cntrl}]", "'") + "\"}");
      }
      out.flush();
    }
    scheduler.shutdown();
  }

  private static String open(File directory, boolean isClean, KafkaScheduler scheduler) throws Exception {
    LogConfig config = new LogConfig(Map.of());
    // Producers never expire: the records of a test are old.
    ProducerStateManagerConfig producers = new ProducerStateManagerConfig(Integer.MAX_VALUE, false);
    UnifiedLog log = UnifiedLog.create(directory, config, 0, 0, scheduler, new BrokerTopicStats(), Time.SYSTEM,
        Integer.MAX_VALUE, producers, 600_000, new LogDirFailureChannel(1), isClean, Optional.empty());
    try {
      StringBuilder segments = new StringBuilder();
      for (LogSegment segment : log.logSegments()) {
        segments.append(segments.isEmpty() ? "" : ",").append('[').append(segment.baseOffset()).append(',')
            .append(segment.size()).append(']');
      }
      StringBuilder epochs = new StringBuilder();
      log.leaderEpochCache().epochEntries().forEach(entry -> epochs.append(epochs.isEmpty() ? "" : ",").append('[')
          .append(entry.epoch()).append(',').append(entry.startOffset()).append(']'));
      StringBuilder active = new StringBuilder();
      log.activeProducersWithLastSequence().forEach((id, sequence) -> active.append(active.isEmpty() ? "" : ",")
          .append('[').append(id).append(',').append(sequence).append(']'));
      return "{\"logStartOffset\":" + log.logStartOffset() + ",\"logEndOffset\":" + log.logEndOffset() + ",\"segments\":["
          + segments + "]," + read(log) + ",\"leaderEpochs\":[" + epochs + "],\"producers\":[" + active + "]}";
    } finally {
      log.close();
    }
  }

  private static String read(UnifiedLog log) throws Exception {
    long batches = 0;
    long records = 0;
    for (long offset = log.logStartOffset(); offset < log.logEndOffset();) {
      FetchDataInfo data = log.read(offset, ONE_MIB, FetchIsolation.LOG_END, true);
      long next = offset;
      for (RecordBatch batch : data.records.batches()) {
        if (batch.lastOffset() < offset) {
          continue;
        }
        batch.ensureValid();
        for (Record ignored : batch) {
          records++;
        }
        batches++;
        next = batch.lastOffset() + 1;
      }
      if (next == offset) {
        break;
      }
      offset = next;
    }
    return "\"batches\":" + batches + ",\"records\":" + records;
  }
}
