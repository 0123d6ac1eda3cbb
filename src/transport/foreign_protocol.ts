/**
 * Recognises a peer that speaks something else than Kafka by the first four bytes it sends, which a Kafka peer uses for the
 * length of its first frame.
 *
 * @module
 */

const HTTP_METHODS: ReadonlySet<string> = new Set(["GET ", "PUT ", "POST", "HEAD", "DELE", "OPTI", "PATC", "PRI "]);

/** What is wrong and what to do, when `length`, the first of a connection, is the beginning of another protocol. */
export function foreignProtocol(length: number, maxFrameSize: number): string | undefined {
  // TLS records begin with a type and the version, 3.0 to 3.4. As a length that is over 352 MB.
  const type = length >>> 24;
  const version = (length >>> 8) & 0xffff;
  if (version >= 0x0300 && version <= 0x0304) {
    if (type === 0x15) {
      return "the peer answered with a TLS alert: this port speaks TLS; set securityProtocol to SSL";
    }
    if (type === 0x16) {
      return "the peer began a TLS handshake on a plaintext port; turn TLS off on its side";
    }
  }
  const bytes = [type, (length >>> 16) & 0xff, (length >>> 8) & 0xff, length & 0xff];
  const text = String.fromCharCode(...bytes);
  if (text === "HTTP") {
    return "the peer answered in HTTP: this is the port of a web server; give the port of a Kafka listener";
  }
  if (HTTP_METHODS.has(text)) {
    return "the peer sent an HTTP request: this port speaks Kafka's protocol only";
  }
  if (length > maxFrameSize && bytes.every((byte) => byte >= 0x20 && byte < 0x7f)) {
    return `the peer sent text that begins with "${text}": it does not speak Kafka's protocol; check host and port`;
  }
  return undefined;
}
