/**
 * What one handle shows over HTTP: its status, metrics, events, progress checks and routes. `serveStatus` puts the services of all
 * handles of a process together under one port (`status-routes.ts`).
 *
 * A module describes the service beside the handle (`<module>/shell/service/`), and the handle gives it by `toService`, which is not in the published types. So
 * the handle's public surface has no HTTP, and a process that serves nothing loads none of this.
 *
 * Reading changes nothing. All values are read at the moment of asking, so a service that is not asked does no work for the
 * status. A module's test holds real answers against the schemas (`schema-checker-script.ts`).
 */

import type { Problem, Status } from '../../runtime/handle.ts';
import type { Family } from '../../runtime/metrics-text.ts';
import type { HttpTextAnswer } from '../http/exchange.ts';
import type { EventFilter, EventLog, ServiceEvent } from './event-log.ts';
import type { ProgressCheck, Stall } from './progress.ts';
import type { Parameter, RouteDraft } from './route.ts';
import type { Schema } from './schema.ts';

/** A handle as `serveStatus` wants it: `class Member implements Handle<MemberStatus>, Served`. */
export interface Served {
  /** @internal */
  toService(): Service;
}

export interface Service<Event extends ServiceEvent = ServiceEvent> {
  /** As in imports, commands and metrics: `manager`, `flease`. */
  readonly module: string;
  /** The pool, cell, group or cluster. */
  readonly instance: string;
  /**
   * What the instance is: a name in paths (`/v1/flease/{cell}/holder`) and a label of every metric of the module. Undefined: a
   * process has only one, and neither paths nor metrics name it.
   */
  readonly kind?: 'pool' | 'cell' | 'group' | undefined;
  readonly title: string;
  readonly description: string;
  /** Where people look for the service if nothing else is said. */
  readonly usualPort: number;
  /** Every field is always there: undefined is shown as null. */
  status(): object;
  /** Of the fields of the status. @default any */
  readonly statusSchema?: Readonly<Record<string, Schema>> | undefined;
  /** @default the status's own */
  problems?(): readonly Problem[];
  metrics(): readonly Family[];
  readonly events?: ServiceEvents<Event> | undefined;
  /** `/readyz` is green while these pass and the event loop turns; read once, at the start. @default none */
  checks?(): readonly ProgressCheck[];
  /** Instead of `checks`, of a handle that looks after its progress itself. */
  readonly progress?: { readonly names: readonly string[]; stalls(): readonly Stall[] } | undefined;
  /** Paths are below `/v1/<module>/{kind}`; one that begins with `/v1/` stands as it is. */
  readonly routes?: readonly RouteDraft[] | undefined;
  /** For people, in a browser. */
  page?(): HttpTextAnswer;
  /** Named schemas that the routes refer to. */
  readonly schemas?: Readonly<Record<string, Schema>> | undefined;
  /** How much strangers can make the port keep; the lowest of all services counts. */
  readonly limits?: ServiceLimits | undefined;
  /** Told where the service is served, and undefined when it is so no longer. */
  served?(at: ServedAt | undefined): void;
}

export interface ServiceLimits {
  readonly connections?: number;
  readonly streams?: number;
}

export interface ServedAt {
  readonly host: string;
  readonly port: number;
  readonly url: string;
  readonly counters: { readonly connectionsFull: number; readonly streamsFull: number };
}

export interface ServiceEvents<Event extends ServiceEvent> {
  readonly log: EventLog<Event>;
  readonly schema: Schema;
  /** The events that a request wants, by the query. @default all */
  filter?(query: URLSearchParams): EventFilter<Event>;
  /** The parameters that `filter` reads. */
  readonly parameters?: readonly Parameter[] | undefined;
}

/** What is common to all handles is told beside the fields of the status. */
export function ownFields({
  module: _m,
  instance: _i,
  isReady: _r,
  waitsFor: _w,
  problems: _p,
  ...fields
}: Status): object {
  return fields;
}
