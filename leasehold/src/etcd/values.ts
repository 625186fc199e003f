/** Values of keys: JSON, and compared byte by byte. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && one.every((byte, at) => byte === other[at]);

export const encodeJson = (fields: Readonly<Record<string, unknown>>): Uint8Array =>
  encoder.encode(JSON.stringify(fields));

/** No fields if the value is not ours. */
export function decodeJson(value: Uint8Array): Partial<Record<string, unknown>> {
  try {
    const fields: unknown = JSON.parse(decoder.decode(value));
    return typeof fields === 'object' && fields !== null ? { ...fields } : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
