/**
 * Secrets of a test, and whether a text has a part of one. A private key must not appear as the token that has it, nor as the PEM, nor as bytes that were printed
 * in another way. The other fields of a token are no secrets: its id and its grants appear wherever people look.
 */

/** Where the private key is in the bytes of a token, behind the version and the root's public key. */
const [KEY_FROM, KEY_TO] = [34, 66];
const BYTES_OF_A_GROUP = 3;
const PREFIX = 'lh1.';

export class Secrets {
  readonly #parts = new Set<string>();

  /** A token, or a private key as PEM. */
  add(secret: string): void {
    const parts = secret.startsWith(PREFIX)
      ? partsOfToken(secret.slice(PREFIX.length))
      : secret.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    for (const part of parts) this.#parts.add(part);
  }

  areIn(text: string): boolean {
    return [...this.#parts].some((part) => text.includes(part));
  }
}

function partsOfToken(body: string): readonly string[] {
  const key = Buffer.from(body, 'base64url').subarray(KEY_FROM, KEY_TO);
  const first = KEY_FROM + BYTES_OF_A_GROUP - (KEY_FROM % BYTES_OF_A_GROUP);
  const within = body.slice((first / BYTES_OF_A_GROUP) * 4, (KEY_TO / BYTES_OF_A_GROUP) * 4);
  const beginning = [...key.subarray(0, 12)];
  const spaced = beginning.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
  const forms = (['hex', 'base64', 'base64url'] as const).map((form) => key.toString(form));
  return [within, spaced, beginning.join(','), ...forms];
}
