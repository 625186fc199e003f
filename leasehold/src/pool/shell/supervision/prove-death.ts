/**
 * How the death of this process will be proved, by any available way; and the deaths of predecessors, which this
 * process can prove. Joining a pool uses this file so:
 *
 *     const death = await proveDeath({ lockFile, addresses, runtime, logger });
 *     …                         report with death.proof
 *     death.tellOfPredecessors();   the leader has answered the first report
 *     death.left();             a Manager has confirmed that this owner holds nothing any more
 *     await death[Symbol.asyncDispose]();
 *
 * **Why not before the first answer?** The proof of a predecessor's death frees keys. If the Manager has heard nothing
 * of this owner by then, the keys go to others, and come back when this owner joins: two losses instead of one. An
 * owner that waits for the name and has confirmed is admitted in the batch that removes the predecessor
 * (`manager/owner-sessions.ts`). The confirmation arrives before the proof, whose connection is yet to be made.
 *
 * Without `left` the lock stays until the process ends: keys that could not be given back in good order are then free
 * as soon as the next process has started, instead of at the end of the lease.
 */

import type { Logger } from '../../../runtime/logger.ts';
import type { DialSockets } from '../../../node/tcp/sockets.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { Certification } from './certification.ts';
import { type LockedProof, lockedProof } from './locked-proof.ts';
import { ManagerLine } from './manager-line.ts';
import { supervisedProof } from './supervised.ts';

export interface ProveDeathOptions {
  /** The file of the lock, if this process is to have one; see {@link lockedProof}. */
  lockFile?: string | undefined;

  /** Where the Managers are now. */
  addresses: { readonly current: readonly string[] };

  /** @default plain sockets */
  secure?: DialSockets | undefined;

  runtime: Runtime;
  logger: Logger;

  /** How long to wait for a predecessor that is still ending, in milliseconds. @default 5_000 */
  waitMs?: number | undefined;

  /** Gives up waiting for the lock. */
  signal?: AbortSignal | undefined;
}

export interface DeathProof extends AsyncDisposable {
  /** For the reports of this process; `undefined` if nobody could prove the death. */
  readonly proof: string | undefined;
  /** Tells the Managers of every predecessor's death, until they know, in the background. Has an effect once. */
  tellOfPredecessors(): void;
  /** This owner has left, as a Manager confirmed: disposing may let the next process have the lock. */
  left(): void;
}

/** Longer than a supervisor would: nobody waits for us. */
const TELL_FOR_MS = 60_000;

/** @throws the errors of {@link lockedProof} */
export async function proveDeath(options: ProveDeathOptions): Promise<DeathProof> {
  const { lockFile, waitMs, signal, runtime, logger } = options;
  if (lockFile === undefined) return supervisedOnly(logger);
  const locked = await lockedProof({ path: lockFile, waitMs, signal, runtime, logger });
  let telling: AsyncDisposable | undefined;
  let hasLeft = false;
  return {
    proof: locked.proof,
    tellOfPredecessors: () => {
      telling ??= tell(locked, options);
    },
    left: () => {
      hasLeft = true;
    },
    [Symbol.asyncDispose]: async () => {
      await telling?.[Symbol.asyncDispose]();
      if (hasLeft) locked.release();
    },
  };
}

async function supervisedOnly(logger: Logger): Promise<DeathProof> {
  const supervised = await supervisedProof(logger);
  return {
    proof: supervised?.proof,
    ...{ tellOfPredecessors: () => {}, left: () => {}, [Symbol.asyncDispose]: async () => {} },
  };
}

function tell(locked: LockedProof, options: ProveDeathOptions): AsyncDisposable | undefined {
  if (locked.predecessors.length === 0) return undefined;
  const { addresses, secure, runtime, logger } = options;
  const managers = (): readonly string[] => addresses.current;
  const certifications: Certification[] = [];
  const transport = new ManagerLine({
    ...{ managers, secure, runtime, logger },
    onConnected: (manager) => {
      for (const each of certifications) each.connected(manager);
    },
  });
  for (const secret of locked.predecessors) {
    const certification = new Certification({
      ...{ secret, managers, transport, runtime, logger, forMs: TELL_FOR_MS },
    });
    certifications.push(certification);
    void certification.outcome.then((outcome) => {
      if (outcome !== 'dropped') locked.settled(secret);
    });
    certification.died();
  }
  const closed = Promise.all(certifications.map(({ outcome }) => outcome)).then(() =>
    transport[Symbol.asyncDispose](),
  );
  return {
    [Symbol.asyncDispose]: async () => {
      for (const each of certifications) each[Symbol.dispose]();
      await closed;
    },
  };
}
