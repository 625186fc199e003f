/**
 * The life of a replica in one process. What a replica may do follows from its stage alone, and no two stages are true at once.
 *
 *     gathering ──all of the list were heard──► opening ──► checking-in ──► repairing ──► keeping ──► running
 *         │ the directory has an origin: ▲   │                   │                                       ▲
 *         └──────────────────────────────┘   └───────────────────┴──────────── nothing was lost ─────────┘
 *
 *     each of them ──another replica refuses this one──► stopped ──the proof is written down──► failed
 *     each of them ──a disk, or another history──► failed              each of them ──close()──► closed
 *
 *   - **gathering**: the members are not known, so there is no journal and no vote.
 *   - **opening**: the journal is made or read. Nothing is said of its contents yet.
 *   - **checking-in**: the other members say what they heard of this directory (`core/check-in.ts`).
 *   - **repairing**, **keeping**: slots that the disk lost are fetched, then written. They are durable before the replica says a word.
 *   - **running**: the core takes part.
 *   - **stopped**: says nothing more. The mark that the directory is a copy is durable before the failure is told, or the next start could vote.
 *
 * A stage that is left stops its driver, so a late timer, a late message and a late sync find no core that would act.
 */

import { assert } from '../../runtime/assert.ts';
import type { Driver } from '../../runtime/driver.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { CheckIn } from '../core/check-in.ts';
import type { Effect } from '../core/context.ts';
import type { TakenOver } from '../core/copy.ts';
import type { Repair } from '../core/repair.ts';
import type { Replica } from '../core/replica.ts';
import type { ChangeHistory } from './change-history.ts';

/** What the other members said of this directory when it checked in. */
export interface Confirmed {
  /** Members of a newer configuration than that of the log. */
  readonly vouched: readonly string[];
  /** For a copy: the marks that the other members named. */
  readonly takenOver: TakenOver | undefined;
}

export interface CheckingIn {
  readonly kind: 'checking-in';
  readonly core: CheckIn;
  readonly driver: Driver<Effect>;
}

export interface Repairing {
  readonly kind: 'repairing';
  readonly core: Repair;
  readonly driver: Driver<Effect>;
  readonly confirmed: Confirmed;
}

export interface Keeping {
  readonly kind: 'keeping';
  readonly core: Repair;
}

export interface Running {
  readonly kind: 'running';
  readonly core: Replica;
  readonly driver: Driver<Effect>;
  readonly history: ChangeHistory;
}

/** The stages with an open journal. */
export type Opened = CheckingIn | Repairing | Keeping | Running;

/** The last stage with an open journal can still be looked at, for status and checks. */
type Over =
  | { readonly kind: 'stopped' | 'closed'; readonly last: Opened | undefined }
  | { readonly kind: 'failed'; readonly last: Opened | undefined; readonly error: LeaseholdError };

export type Stage =
  | { readonly kind: 'gathering' }
  /** `isFounder`: this process founds, so its files are noted when all the others have confirmed it. */
  | { readonly kind: 'opening'; readonly isFounder: boolean }
  | Opened
  | Over;

const NEXT: Readonly<Record<Stage['kind'], readonly Stage['kind'][]>> = {
  gathering: ['opening', 'stopped', 'failed', 'closed'],
  opening: ['checking-in', 'stopped', 'failed', 'closed'],
  'checking-in': ['repairing', 'running', 'stopped', 'failed', 'closed'],
  repairing: ['keeping', 'stopped', 'failed', 'closed'],
  keeping: ['running', 'stopped', 'failed', 'closed'],
  running: ['stopped', 'failed', 'closed'],
  stopped: ['failed', 'closed'],
  failed: [],
  closed: [],
};

export class ReplicaLife {
  #stage: Stage = { kind: 'gathering' };

  get stage(): Stage {
    return this.#stage;
  }

  /** Nothing is done or said any more. */
  get isOver(): boolean {
    return isOver(this.#stage);
  }

  /** Nothing is done or said any more, and nothing is left to be told. */
  get isEnded(): boolean {
    return this.#stage.kind === 'failed' || this.#stage.kind === 'closed';
  }

  /** The error that ended the replica. */
  get error(): LeaseholdError | undefined {
    return this.#stage.kind === 'failed' ? this.#stage.error : undefined;
  }

  /** The stage with an open journal; after the end, the last one there was. */
  get opened(): Opened | undefined {
    const stage = this.#stage;
    if (isOver(stage)) return stage.last;
    return stage.kind === 'gathering' || stage.kind === 'opening' ? undefined : stage;
  }

  enter(next: Exclude<Stage, Over>): void {
    this.#become(next);
  }

  /** The end as far as anybody else can see; {@link failed} follows. */
  stopped(): void {
    if (!this.isOver) this.#become({ kind: 'stopped', last: this.opened });
  }

  /** The first end counts. False if there was one. */
  failed(error: LeaseholdError): boolean {
    if (this.isEnded) return false;
    this.#become({ kind: 'failed', last: this.opened, error });
    return true;
  }

  closed(): void {
    if (!this.isEnded) this.#become({ kind: 'closed', last: this.opened });
  }

  #become(next: Stage): void {
    const before = this.#stage;
    assert(NEXT[before.kind].includes(next.kind), `a replica that is ${before.kind} cannot be ${next.kind}`);
    if ('driver' in before) before.driver.stop();
    this.#stage = next;
  }
}

const isOver = (stage: Stage): stage is Over =>
  stage.kind === 'stopped' || stage.kind === 'failed' || stage.kind === 'closed';
