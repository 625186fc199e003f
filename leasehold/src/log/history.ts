/**
 * A history has an id, which everybody may know, and a key, which only those know who read the log.
 *
 * The two are made together and kept in one record, so that no backup restores one without the other. With the key a
 * Manager stamps the positions that it tells others; a claim to have seen a position counts only with its stamp
 * (`pool/core/manager/stamps.ts`).
 */

import { digest } from '../runtime/digest.ts';

export interface History {
  readonly history: string;
  /** 32 bytes in hexadecimal; undefined in a log that was begun before there were keys. */
  readonly key?: string | undefined;
}

/** A history unlike any other. */
export const newHistory = (randomId: () => string): Required<History> => ({
  history: randomId(),
  key: newHistoryKey(randomId),
});

/** @param randomId gives 16 random bytes each time */
export const newHistoryKey = (randomId: () => string): string => digest(`${randomId()}${randomId()}`);

/** @throws nothing: a key that is damaged is none, and the log gets another. */
export const isHistoryKey = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);
