/**
 * The answer to a client of another protocol. A browser or a TLS client begins with bytes that, read as the length of
 * a frame, are absurdly large. So nothing needs to be examined before such a length is found, and then its four bytes
 * tell the protocol.
 */

const HTTP_METHODS: readonly string[] = [
  ...['GET ', 'HEAD', 'POST', 'PUT ', 'DELE', 'OPTI', 'PATC', 'CONN', 'TRAC', 'PRI '],
];

export type WrongProtocol = 'HTTP' | 'TLS' | 'SSH' | 'text';

/** The protocol of a client that announces a frame of this length. */
export function wrongProtocol(announcedBytes: number): WrongProtocol | undefined {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(announcedBytes);
  const text = bytes.toString('latin1');
  if (HTTP_METHODS.includes(text) || text === 'HTTP') return 'HTTP';
  if (bytes[1] === 3 && (bytes[0] === 0x16 || bytes[0] === 0x15)) return 'TLS';
  if (text === 'SSH-') return 'SSH';
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f) ? 'text' : undefined;
}

/** A fatal alert, "protocol version": a TLS client then reports a sensible error. */
const TLS_ALERT = Uint8Array.of(0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46);

/** An answer that the client understands, if there is one. */
export function answerTo(
  who: WrongProtocol,
  port: number,
  protocol: string,
  httpAt?: string,
): Uint8Array | undefined {
  if (who === 'TLS') return TLS_ALERT;
  if (who !== 'HTTP') return undefined;
  const where = httpAt === undefined ? 'HTTP is not spoken here.' : `HTTP is at ${httpAt}`;
  const body = `This is port ${port}, which speaks ${protocol}. ${where}\n`;
  const head = [
    'HTTP/1.1 400 Bad Request',
    'content-type: text/plain; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
}
