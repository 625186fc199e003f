/**
 * The messages between a simulated engine and the clients. Each request is for one of the members, and each answer
 * answers only that request.
 */

import type { LogBatch, LogStart } from './log.ts';

/** Where the engine sits in the network. */
export const ENGINE = 'log-engine';

/** A leader's key. A store that was put back may give a term a second time, but never a lease. */
export interface LeaderKey {
  readonly term: number;
  readonly lease: number;
}

export type Ask =
  | { readonly ask: 'look' }
  | { readonly ask: 'grant' }
  | { readonly ask: 'elect'; readonly candidate: string; readonly lease: number; readonly history: string }
  | { readonly ask: 'keep-alive'; readonly lease: number }
  | { readonly ask: 'confirm'; readonly key: LeaderKey }
  | { readonly ask: 'revoke'; readonly lease: number }
  | { readonly ask: 'append'; readonly key: LeaderKey; readonly after: number; readonly batch: LogBatch }
  | { readonly ask: 'compact'; readonly key: LeaderKey; readonly upTo: number; readonly snapshot: Uint8Array }
  | { readonly ask: 'read-all'; readonly key: LeaderKey }
  | { readonly ask: 'read'; readonly after: number; readonly last: LogBatch | undefined }
  | { readonly ask: 'head' };

export type Answer =
  | { readonly answer: 'looked'; readonly isLed: boolean; readonly history: string }
  | { readonly answer: 'granted'; readonly lease: number }
  | { readonly answer: 'elected'; readonly term: number }
  | { readonly answer: 'not-elected' }
  | { readonly answer: 'alive' }
  | { readonly answer: 'no-lease' }
  | { readonly answer: 'leads' }
  | { readonly answer: 'not-leader' }
  | { readonly answer: 'revoked' }
  | { readonly answer: 'appended' }
  | { readonly answer: 'refused' }
  | { readonly answer: 'strayed' }
  | { readonly answer: 'reset'; readonly start: LogStart }
  | { readonly answer: 'batches'; readonly history: string; readonly batches: readonly LogBatch[] }
  | { readonly answer: 'head'; readonly history: string; readonly position: number }
  /** Without a request: a watched key has changed, or the watch has ended with the watching member. */
  | { readonly answer: 'poke' }
  | { readonly answer: 'watch-ended' };

export type LogMessage =
  | { readonly request: number; readonly member: number; readonly body: Ask }
  | { readonly request: number; readonly body: Answer };
