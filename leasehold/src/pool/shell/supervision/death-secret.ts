/**
 * The content of a process's lock file for the next process: the secret that proves the death. Why the next process
 * may believe the secret is argued in `locked-proof.ts`; this file has the format, and which part still counts.
 */

export interface Place {
  /** This run of this kernel; `undefined` where there is no boot id. */
  readonly boot: string | undefined;
  /** This very file, under any name. */
  readonly file: string;
}

export interface DeathSecret {
  readonly boot: string;
  readonly file: string;
  readonly secret: string;
  /**
   * Earlier processes of whose death no Manager has heard yet, the latest first. A server that crashes again and again
   * while starting would otherwise lose sight of the process that held the keys.
   */
  readonly earlier: readonly string[];
}

/** The proved deaths, the latest first; or why there are none. */
export type ProvedDeaths =
  | { readonly dead: readonly string[] }
  | { readonly dead: readonly []; readonly why: 'other-boot' | 'other-file' | 'unreadable' };

const EARLIER_MAX = 8;
const SECRET = /^[0-9a-f]{32,128}$/;

export const writeDeathSecret = (deathSecret: DeathSecret): string =>
  `${JSON.stringify({ ...deathSecret, earlier: deathSecret.earlier.slice(0, EARLIER_MAX) })}\n`;

/**
 * To be called only by the holder of the lock.
 *
 * @param text the content of the file; empty if the last holder left in good order, or there was none
 */
export function readDeathSecrets(text: string, place: Place): ProvedDeaths {
  if (text.trim() === '') return { dead: [] };
  const deathSecret = parse(text);
  if (deathSecret === undefined) return { dead: [], why: 'unreadable' };
  if (place.boot === undefined || deathSecret.boot !== place.boot) return { dead: [], why: 'other-boot' };
  if (deathSecret.file !== place.file) return { dead: [], why: 'other-file' };
  return { dead: [deathSecret.secret, ...deathSecret.earlier] };
}

function parse(text: string): DeathSecret | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined; // The writer was killed while writing.
  }
  if (typeof found !== 'object' || found === null) return undefined;
  const { boot, file, secret, earlier } = found as Record<string, unknown>;
  if (typeof boot !== 'string' || typeof file !== 'string' || !isSecret(secret)) return undefined;
  if (!Array.isArray(earlier) || !earlier.every(isSecret)) return undefined;
  return { boot, file, secret, earlier: earlier.slice(0, EARLIER_MAX) };
}

const isSecret = (value: unknown): value is string => typeof value === 'string' && SECRET.test(value);
