import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MappingIterator;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends records with the Java producer. Arguments: --bootstrap-server B [-X key=value]...
 * Input: a JSON object a record: {topic, partition|null, timestamp|null, keyBase64|null, valueBase64|null, headers: [[key, valueBase64|null]...]}.
 * Output, in the same order: {partition, offset, timestamp} of what was acknowledged or {error, message} of what was not; the exit code is then 1.
 */
public final class JavaProduce {
    public static void main(String[] args) throws Exception {
        JavaArguments arguments = new JavaArguments(args, "bootstrap-server");
        ObjectMapper mapper = new ObjectMapper();
        List<Future<RecordMetadata>> sends = new ArrayList<>();
        try (
            KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(arguments.properties, new ByteArraySerializer(), new ByteArraySerializer());
            MappingIterator<JsonNode> lines = mapper.readerFor(JsonNode.class).readValues(System.in)
        ) {
            while (lines.hasNextValue()) sends.add(producer.send(record(lines.nextValue())));
            producer.flush();
        }

        boolean failed = false;
        JsonGenerator out = mapper.getFactory().createGenerator(System.out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET);
        out.setRootValueSeparator(new com.fasterxml.jackson.core.io.SerializedString(""));
        for (Future<RecordMetadata> send : sends) {
            out.writeStartObject();
            try {
                RecordMetadata metadata = send.get();
                out.writeNumberField("partition", metadata.partition());
                // No offset or timestamp is known with acks=0.
                out.writeNumberField("offset", metadata.hasOffset() ? metadata.offset() : -1);
                out.writeNumberField("timestamp", metadata.hasTimestamp() ? metadata.timestamp() : -1);
            } catch (ExecutionException e) {
                failed = true;
                out.writeStringField("error", e.getCause().getClass().getSimpleName());
                out.writeStringField("message", e.getCause().getMessage());
            }
            out.writeEndObject();
            out.writeRaw('\n');
        }
        out.close();
        System.out.flush();
        if (failed) org.apache.kafka.common.utils.Exit.exit(1);
    }

    private static ProducerRecord<byte[], byte[]> record(JsonNode line) throws Exception {
        RecordHeaders headers = new RecordHeaders();
        for (JsonNode header : line.path("headers")) headers.add(header.get(0).asText(), bytes(header.get(1)));
        return new ProducerRecord<>(
            line.get("topic").asText(),
            line.hasNonNull("partition") ? line.get("partition").asInt() : null,
            line.hasNonNull("timestamp") ? line.get("timestamp").asLong() : null,
            bytes(line.get("keyBase64")),
            bytes(line.get("valueBase64")),
            headers);
    }

    private static byte[] bytes(JsonNode base64) throws Exception {
        return base64 == null || base64.isNull() ? null : base64.binaryValue();
    }
}
