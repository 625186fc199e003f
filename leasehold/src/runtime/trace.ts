/**
 * Traces: one line per change of state, the same line in tests, in the simulator and in production. A core returns
 * traces among the effects, and never writes one anywhere.
 */

export type TraceValue = string | number | boolean | undefined;

/** `what` happened, as two or three words with hyphens, and the facts in the order to print them. */
export interface TraceEvent {
  readonly what: string;
  readonly facts: Readonly<Record<string, TraceValue>>;
}

export interface TraceEffect {
  readonly do: 'trace';
  readonly event: TraceEvent;
}

export const trace = (what: string, facts: Readonly<Record<string, TraceValue>> = {}): TraceEffect => ({
  do: 'trace',
  event: { what, facts },
});

/** `granted            pool=presence ranges=3 number=17` */
export function traceLine(event: TraceEvent): string {
  let line = event.what.padEnd(18);
  for (const [name, value] of Object.entries(event.facts)) {
    if (value !== undefined) line += ` ${name}=${value}`;
  }
  return line.trimEnd();
}
