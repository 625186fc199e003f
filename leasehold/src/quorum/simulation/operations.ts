/** What clients did, for those who check it: calls and answers with true times. */

import type { ReadAnswer } from '../core/answer.ts';
import type { Command } from '../core/operation.ts';
import type { Result } from '../core/result.ts';

export type Called = {
  readonly client: string;
  readonly calledMs: number;
  /** Undefined while nobody knows what came of it. */
  returnedMs: number | undefined;
} & (
  | {
      readonly kind: 'write';
      readonly command: Extract<Command, { kind: 'transaction' }>;
      readonly session: number;
      readonly number: number;
      result: Extract<Result, { kind: 'done' | 'unmet' }> | undefined;
    }
  | { readonly kind: 'read'; readonly keys: readonly string[]; answer: ReadAnswer | undefined }
);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const encode = (text: string): Uint8Array => encoder.encode(text);

export const decode = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : decoder.decode(value);
