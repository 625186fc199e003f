/**
 * What a process leaves in its lock file for the next one: the secret by which its death can be
 * proved. Why the next one may believe it is argued in `locked-proof.ts`; this is what is written, and
 * which of it still counts.
 */

export interface Place {
  /** This run of this kernel; `undefined` where it has no name. */
  readonly boot: string | undefined;
  /** This very file, whatever it is called. */
  readonly file: string;
}

export interface Testament {
  readonly boot: string;
  readonly file: string;
  readonly secret: string;
  /**
   * Those before it of whose death no Manager has heard yet, the latest first. A server that crashes
   * again and again while it starts would otherwise lose sight of the one that held the keys.
   */
  readonly earlier: readonly string[];
}

/** Whose deaths are proved, the latest first; or why nobody's. */
export type Inheritance =
  | { readonly dead: readonly string[] }
  | { readonly dead: readonly []; readonly why: 'other-boot' | 'other-file' | 'unreadable' };

const EARLIER_MAX = 8;
const SECRET = /^[0-9a-f]{32,128}$/;

export const writeTestament = (testament: Testament): string =>
  `${JSON.stringify({ ...testament, earlier: testament.earlier.slice(0, EARLIER_MAX) })}\n`;

/**
 * To be asked by whoever holds the lock.
 *
 * @param text what was in the file; empty if its last holder left in good order, or there was none
 */
export function readTestament(text: string, place: Place): Inheritance {
  if (text.trim() === '') return { dead: [] };
  const testament = parse(text);
  if (testament === undefined) return { dead: [], why: 'unreadable' };
  if (place.boot === undefined || testament.boot !== place.boot) return { dead: [], why: 'other-boot' };
  if (testament.file !== place.file) return { dead: [], why: 'other-file' };
  return { dead: [testament.secret, ...testament.earlier] };
}

function parse(text: string): Testament | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined; // Its writer was killed while writing.
  }
  if (typeof found !== 'object' || found === null) return undefined;
  const { boot, file, secret, earlier } = found as Record<string, unknown>;
  if (typeof boot !== 'string' || typeof file !== 'string' || !isSecret(secret)) return undefined;
  if (!Array.isArray(earlier) || !earlier.every(isSecret)) return undefined;
  return { boot, file, secret, earlier: earlier.slice(0, EARLIER_MAX) };
}

const isSecret = (value: unknown): value is string => typeof value === 'string' && SECRET.test(value);
