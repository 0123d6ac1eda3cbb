/**
 * What Kafka 4.3.1's own classes say: the rows of `ProducerConfig.configDef()` (without those of SASL and TLS), and what its
 * serializers make of some values. Printed by a small Java program.
 *
 * @module
 */

/** Key, default as text (`<required>` for none) and the validator's own words. */
export const PRODUCER_CONFIG: readonly (readonly [key: string, fallback: string, validator: string])[] = [
  ["acks", "all", "[all, -1, 0, 1]"],
  ["batch.size", "16384", "[0,...]"],
  ["bootstrap.servers", "<required>", ""],
  ["buffer.memory", "33554432", "[0,...]"],
  ["client.dns.lookup", "use_all_dns_ips", "[use_all_dns_ips, resolve_canonical_bootstrap_servers_only]"],
  ["client.id", "", "null"],
  ["compression.gzip.level", "-1", "[1,...,9] or -1"],
  ["compression.lz4.level", "9", "[1,...,17]"],
  ["compression.type", "none", "[none, gzip, snappy, lz4, zstd]"],
  ["compression.zstd.level", "3", "[-131072,...,22]"],
  ["config.providers", "[]", ""],
  ["connections.max.idle.ms", "540000", "null"],
  ["delivery.timeout.ms", "120000", "[0,...]"],
  ["enable.idempotence", "true", "null"],
  ["enable.metrics.push", "true", "null"],
  ["interceptor.classes", "[]", ""],
  ["key.serializer", "<required>", "null"],
  ["linger.ms", "5", "[0,...]"],
  ["max.block.ms", "60000", "[0,...]"],
  ["max.in.flight.requests.per.connection", "5", "[1,...]"],
  ["max.request.size", "1048576", "[0,...]"],
  ["metadata.max.age.ms", "300000", "[0,...]"],
  ["metadata.max.idle.ms", "300000", "[5000,...]"],
  ["metadata.recovery.rebootstrap.trigger.ms", "300000", "[0,...]"],
  ["metadata.recovery.strategy", "rebootstrap", "(case insensitive) [REBOOTSTRAP, NONE]"],
  ["metric.reporters", "[org.apache.kafka.common.metrics.JmxReporter]", ""],
  ["metrics.num.samples", "2", "[1,...]"],
  ["metrics.recording.level", "INFO", "[INFO, DEBUG, TRACE]"],
  ["metrics.sample.window.ms", "30000", "[0,...]"],
  ["partitioner.adaptive.partitioning.enable", "true", "null"],
  ["partitioner.availability.timeout.ms", "0", "[0,...]"],
  ["partitioner.class", "null", "null"],
  ["partitioner.ignore.keys", "false", "null"],
  ["receive.buffer.bytes", "32768", "[-1,...]"],
  ["reconnect.backoff.max.ms", "1000", "[0,...]"],
  ["reconnect.backoff.ms", "50", "[0,...]"],
  ["request.timeout.ms", "30000", "[0,...]"],
  ["retries", "2147483647", "[0,...,2147483647]"],
  ["retry.backoff.max.ms", "1000", "[0,...]"],
  ["retry.backoff.ms", "100", "[0,...]"],
  ["security.protocol", "PLAINTEXT", "(case insensitive) [SASL_SSL, PLAINTEXT, SSL, SASL_PLAINTEXT]"],
  ["security.providers", "null", "null"],
  ["send.buffer.bytes", "131072", "[-1,...]"],
  ["socket.connection.setup.timeout.max.ms", "30000", "null"],
  ["socket.connection.setup.timeout.ms", "10000", "null"],
  ["transaction.timeout.ms", "60000", "null"],
  ["transaction.two.phase.commit.enable", "false", "null"],
  ["transactional.id", "null", "non-empty string"],
  ["value.serializer", "<required>", "null"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const INTEGERS: readonly (readonly [value: string, hex: string])[] = [
  ["0", "00000000"],
  ["1", "00000001"],
  ["-1", "ffffffff"],
  ["42", "0000002a"],
  ["2147483647", "7fffffff"],
  ["-2147483648", "80000000"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const SHORTS: readonly (readonly [value: string, hex: string])[] = [
  ["0", "0000"],
  ["1", "0001"],
  ["-1", "ffff"],
  ["32767", "7fff"],
  ["-32768", "8000"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const LONGS: readonly (readonly [value: string, hex: string])[] = [
  ["0", "0000000000000000"],
  ["1", "0000000000000001"],
  ["-1", "ffffffffffffffff"],
  ["1700000000000", "0000018bcfe56800"],
  ["9223372036854775807", "7fffffffffffffff"],
  ["-9223372036854775808", "8000000000000000"],
  ["9007199254740993", "0020000000000001"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const FLOATS: readonly (readonly [value: string, hex: string])[] = [
  ["0.0", "00000000"],
  ["1.0", "3f800000"],
  ["-1.5", "bfc00000"],
  ["3.1415927", "40490fdb"],
  ["3.4028235E38", "7f7fffff"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const DOUBLES: readonly (readonly [value: string, hex: string])[] = [
  ["0.0", "0000000000000000"],
  ["-0.0", "8000000000000000"],
  ["1.0", "3ff0000000000000"],
  ["-1.5", "bff8000000000000"],
  ["3.141592653589793", "400921fb54442d18"],
  ["1.7976931348623157E308", "7fefffffffffffff"],
  ["4.9E-324", "0000000000000001"],
  ["Infinity", "7ff0000000000000"],
  ["NaN", "7ff8000000000000"],
];

/** Values and the bytes that Java's serializer makes of them, in hex. */
export const STRINGS: readonly (readonly [value: string, hex: string])[] = [
  ["", ""],
  ["abc", "616263"],
  ["é", "c3a9"],
  ["日本語", "e697a5e69cace8aa9e"],
  ["😀", "f09f9880"],
];
