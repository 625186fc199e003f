/**
 * What to say to somebody who has come to the wrong port. A browser or a TLS client begins with bytes
 * that, read as the length of a frame, are absurdly large; so nothing needs to be looked at before
 * that has been found, and then the four bytes say who it is.
 */

const HTTP_METHODS: readonly string[] = [
  ...['GET ', 'HEAD', 'POST', 'PUT ', 'DELE', 'OPTI', 'PATC', 'CONN', 'TRAC', 'PRI '],
];

export type Foreigner = 'HTTP' | 'TLS' | 'SSH' | 'text';

/** Who announces a frame of this length. */
export function foreigner(announcedBytes: number): Foreigner | undefined {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(announcedBytes);
  const text = bytes.toString('latin1');
  if (HTTP_METHODS.includes(text) || text === 'HTTP') return 'HTTP';
  if (bytes[1] === 3 && (bytes[0] === 0x16 || bytes[0] === 0x15)) return 'TLS';
  if (text === 'SSH-') return 'SSH';
  return bytes.every((byte) => byte >= 0x20 && byte < 0x7f) ? 'text' : undefined;
}

/** A fatal alert, "protocol version": what makes a TLS client say something sensible. */
const TLS_ALERT = Uint8Array.of(0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46);

/** An answer that the foreigner understands; none if there is none. */
export function answerTo(
  who: Foreigner,
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
