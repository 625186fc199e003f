/**
 * A system that gives leases, as the process that measures sees it: a client in a process of its own, which asks
 * (`asking.ts`), and the processes that answer it. What a lease costs is the work of them all.
 *
 * With Flease the one who asks is a member of the group itself, so its client does some of the answering too.
 */

import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';

/** What can be measured, whether or not it can be started here. */
export interface PeerKind {
  readonly name: string;
  /** What is said when something that it needs is not installed; undefined if nothing is missing. */
  missing(): string | undefined;
  start(workshop: Workshop): Promise<LeasePeer>;
}

export interface LeasePeer {
  readonly name: string;
  /** For a reader who wants to know what was compared: versions, how many, how they are set up. */
  readonly setting: string;
  readonly client: Program;
  /** The process ids of all but the client. */
  readonly servers: readonly number[];
  close(): Promise<void>;
}
