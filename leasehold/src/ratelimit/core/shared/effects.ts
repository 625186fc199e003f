/** What a process that shares limits wants done. */

import type { TraceEffect } from '../../../runtime/trace.ts';
import type { RateLimitResult } from '../local/result.ts';
import type { Answer, Ask, HandOver } from './messages.ts';

export type SharerEffect =
  | { readonly do: 'ask'; readonly to: string; readonly ask: Ask }
  | { readonly do: 'hand-over'; readonly to: string; readonly page: HandOver }
  | { readonly do: 'answer'; readonly to: string; readonly answer: Answer }
  /** The request that was told to wait under this number is decided. */
  | { readonly do: 'settle'; readonly id: number; readonly result: RateLimitResult }
  /** Another process has made a limiter of the same name with another limit. */
  | { readonly do: 'differs'; readonly limiter: string; readonly process: string; readonly ask: Ask }
  | TraceEffect;
