import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens a partition's folder the way a broker does, with what the checkpoints of the log directory around it say, and tells what
 * it finds and reads. It writes into the folder, as a broker does. Arguments: --dir, the partition's folder, and --clean true when the
 * last stop was a clean one.
 */
public final class JavaOpenLog {
    public static void main(String[] args) throws Exception {
        JavaArguments arguments = new JavaArguments(args, "dir", "clean");
        File dir = new File(arguments.required("dir")).getAbsoluteFile();
        boolean clean = Boolean.parseBoolean(arguments.options.getOrDefault("clean", "false"));
        TopicPartition partition = UnifiedLog.parseTopicPartitionName(dir);
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        int never = Integer.MAX_VALUE;
        UnifiedLog log = UnifiedLog.create(dir, new LogConfig(Map.of()), checkpoint(dir, "log-start-offset-checkpoint", partition),
            checkpoint(dir, "recovery-point-offset-checkpoint", partition), scheduler, new BrokerTopicStats(), Time.SYSTEM, never,
            new ProducerStateManagerConfig(never, false), never, new LogDirFailureChannel(1), clean, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        try (JsonGenerator out = new ObjectMapper().getFactory().createGenerator(System.out)) {
            out.writeStartObject();
            out.writeNumberField("logStartOffset", log.logStartOffset());
            out.writeNumberField("logEndOffset", log.logEndOffset());
            out.writeNumberField("lastStableOffset", log.lastStableOffset());
            out.writeNumberField("highWatermarkCheckpoint", checkpoint(dir, "replication-offset-checkpoint", partition));
            out.writeArrayFieldStart("segments");
            for (LogSegment segment : log.logSegments()) out.writeArray(new long[] {segment.baseOffset(), segment.size()}, 0, 2);
            out.writeEndArray();
            out.writeArrayFieldStart("offsets");
            for (long next = log.logStartOffset(); next < log.logEndOffset();) {
                FetchDataInfo read = log.read(next, 1, FetchIsolation.LOG_END, true);
                RecordBatch batch = read.records.batches().iterator().next();
                batch.ensureValid();
                for (Record record : batch) out.writeNumber(record.offset());
                next = batch.lastOffset() + 1;
            }
            out.writeEndArray();
            out.writeArrayFieldStart("abortedTransactions");
            FetchDataInfo committed = log.read(log.logStartOffset(), Integer.MAX_VALUE, FetchIsolation.TXN_COMMITTED, true);
            for (AbortedTransaction aborted : committed.abortedTransactions.orElseThrow()) {
                out.writeArray(new long[] {aborted.producerId(), aborted.firstOffset()}, 0, 2);
            }
            out.writeEndArray();
            out.writeEndObject();
        }
        log.close();
        scheduler.shutdown();
        System.exit(0);
    }

    private static long checkpoint(File dir, String name, TopicPartition partition) throws Exception {
        File file = new File(dir.getParentFile(), name);
        return file.exists() ? new OffsetCheckpointFile(file, null).read().getOrDefault(partition, 0L) : 0L;
    }
}
