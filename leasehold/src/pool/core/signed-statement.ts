/**
 * The bytes of a statement that a process signs: a label that no other kind of statement has, then each part after its length.
 *
 * The label ends with a zero byte, and no label begins another one; so a signature under one label proves nothing under another. The lengths, 4
 * bytes each, big-endian, make it a signature of these parts: no other list of parts has the same bytes.
 */

export function signedStatement(label: string, texts: readonly string[]): Uint8Array {
  const parts = texts.flatMap((part) => {
    const bytes = Buffer.from(part, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat([Buffer.from(`${label}\0`), ...parts]);
}
