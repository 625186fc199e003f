/**
 * What one input did to the keys of an owner, as news for the application.
 */

import { type TraceEffect, trace } from '../../../runtime/trace.ts';
import type { NumberedSpan, TicketSpan } from '../messages.ts';

/** What is told as it is, in this order: nothing may be remembered of keys that other news takes up again. */
const TOLD = ['lapsed', 'dropped', 'departed', 'resumed', 'returned'] as const;

export type Told = (typeof TOLD)[number] | 'granted' | 'arriving' | 'revoking';

export interface Transitions {
  /** New to us: load, then serve. */
  readonly granted: NumberedSpan[];
  /** New to us, with state that another owner brought: taken from the stage of this ticket. */
  readonly taken: TicketSpan[];
  /** The state is there: let the application make ready, then serve. */
  readonly arriving: NumberedSpan[];
  /** Stop new work, finish running work, then let go. */
  readonly revoking: NumberedSpan[];
  /** Not served for now, but remember. */
  readonly lapsed: NumberedSpan[];
  /** Lapsed, and now served again: the remembered state is valid. */
  readonly resumed: NumberedSpan[];
  /** Handed over, and given back: the remembered state is valid. */
  readonly returned: NumberedSpan[];
  /** Forget: the state is lost. */
  readonly dropped: NumberedSpan[];
  /** Forget: another owner has the state. */
  readonly departed: NumberedSpan[];
}

export const noTransitions = (): Transitions => ({
  granted: [],
  taken: [],
  arriving: [],
  revoking: [],
  lapsed: [],
  resumed: [],
  returned: [],
  dropped: [],
  departed: [],
});

export type TransitionEffect = {
  readonly [What in Told]: { readonly do: What; readonly spans: readonly NumberedSpan[] };
}[Told];

/** The effects that tell the application of one kind of news; none if there is none. */
export function told(what: Told, spans: readonly NumberedSpan[]): (TransitionEffect | TraceEffect)[] {
  if (spans.length === 0) return [];
  const numbers = [...new Set(spans.map(({ number }) => number))].join(',');
  return [{ do: what, spans } as TransitionEffect, trace(what, { spans: spans.length, numbers })];
}

export const toldAtOnce = (transitions: Transitions): (TransitionEffect | TraceEffect)[] =>
  TOLD.flatMap((what) => told(what, transitions[what]));
