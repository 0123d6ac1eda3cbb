import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Reads a topic from its beginning to what is its end now. Arguments: --bootstrap-server B --topic T [--partition N] [--timeout-ms MS] [-X key=value]...
 * Output: a JSON object a record, each partition in order:
 * {partition, offset, timestamp, timestampType, keyBase64|null, valueBase64|null, headers: [[key, valueBase64|null]...]}.
 */
public final class JavaConsume {
    public static void main(String[] args) throws Exception {
        JavaArguments arguments = new JavaArguments(args, "bootstrap-server", "topic", "partition", "timeout-ms");
        String topic = arguments.required("topic");
        long timeoutMs = Long.parseLong(arguments.options.getOrDefault("timeout-ms", "60000"));
        try (
            KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(arguments.properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            JsonGenerator out = new ObjectMapper().getFactory().createGenerator(System.out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)
        ) {
            out.setRootValueSeparator(new SerializedString(""));
            List<TopicPartition> partitions = arguments.options.containsKey("partition")
                ? List.of(new TopicPartition(topic, Integer.parseInt(arguments.options.get("partition"))))
                : consumer.partitionsFor(topic).stream().map(info -> new TopicPartition(topic, info.partition())).toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            long deadline = System.nanoTime() + timeoutMs * 1_000_000;
            // By position, not by records seen: the last offset may be a control record or compacted away.
            while (partitions.stream().anyMatch(partition -> consumer.position(partition) < ends.get(partition))) {
                if (System.nanoTime() > deadline) throw new IllegalStateException("not at " + ends + " after " + timeoutMs + " ms");
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    // What came in while this runs is not asked for.
                    if (record.offset() < ends.get(new TopicPartition(topic, record.partition()))) write(out, record);
                }
            }
        }
        System.out.flush();
    }

    private static void write(JsonGenerator out, ConsumerRecord<byte[], byte[]> record) throws IOException {
        out.writeStartObject();
        out.writeNumberField("partition", record.partition());
        out.writeNumberField("offset", record.offset());
        out.writeNumberField("timestamp", record.timestamp());
        out.writeStringField("timestampType", record.timestampType().name);
        out.writeFieldName("keyBase64");
        bytes(out, record.key());
        out.writeFieldName("valueBase64");
        bytes(out, record.value());
        out.writeArrayFieldStart("headers");
        for (Header header : record.headers()) {
            out.writeStartArray();
            out.writeString(header.key());
            bytes(out, header.value());
            out.writeEndArray();
        }
        out.writeEndArray();
        out.writeEndObject();
        out.writeRaw('\n');
    }

    private static void bytes(JsonGenerator out, byte[] value) throws IOException {
        if (value == null) out.writeNull();
        else out.writeBinary(value);
    }
}
