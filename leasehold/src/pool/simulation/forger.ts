/**
 * A hostile node on the network: it reaches every Manager, was never admitted anywhere, and knows all that is public,
 * which is what the wire carries and what the status shows. It has no secret, no private key and no key of a history. Whatever
 * it sends, the promises hold, and no Manager halts.
 */

import type { Random } from '../../sim/random.ts';
import { prove } from '../core/incarnation.ts';
import type { Seen } from '../core/messages.ts';
import type { Fate } from './fate.ts';
import type { OwnerNode, PoolMessage } from './nodes.ts';
import { simulatedSigner } from './proofs.ts';

/** Its address. */
export const FORGER = 'forger';
const FAR: readonly number[] = [2 ** 51, Number.MAX_SAFE_INTEGER];

export class Forger {
  readonly #fate: Fate;
  readonly #dice: Random;
  #sequence = 0;

  constructor(fate: Fate, dice: Random) {
    this.#fate = fate;
    this.#dice = dice;
  }

  strike(): void {
    const { pool } = this.#fate;
    const victims = pool.owners.filter(({ core }) => core?.isAdmitted === true);
    const victim = victims.length === 0 ? undefined : this.#dice.pick(victims);
    const forgery = victim === undefined || this.#dice.chance(0.3) ? this.#sync() : this.#report(victim);
    this.#fate.did('forgeries');
    for (const { name } of pool.managers) {
      if (victim !== undefined) this.#prove(name, victim);
      pool.network.send(FORGER, name, forgery);
    }
  }

  /** No proof at all, that of the owner's own connection, or one by another key. */
  #prove(manager: string, { name, pool, incarnation }: OwnerNode): void {
    const { channels } = this.#fate.pool;
    const own = prove({ ...simulatedSigner(FORGER), incarnation }, pool, channels.channel(manager, FORGER));
    const replayed = channels.proof(name, manager, incarnation);
    const proof = this.#dice.pick([undefined, replayed, own]);
    if (proof !== undefined) channels.say(FORGER, manager, proof);
  }

  /** In the name of an owner: "I have released everything, and leave." */
  #report({ core, pool, name, incarnation }: OwnerNode): PoolMessage {
    const letGo = (core?.held ?? []).map((span) => ({ ...span, how: 'released' as const }));
    const sequence = this.#dice.pick([1_000_000, Number.MAX_SAFE_INTEGER]);
    return {
      ...{ kind: 'report', pool, incarnation, name, url: `http://${name}`, proof: undefined, sequence },
      ...{ wantsAnswer: true, heard: undefined, seen: core?.seen, held: [], letGo, load: 0 },
      leaving: this.#dice.chance(0.5),
    };
  }

  /** A look-up that claims to know more of the log than there is. */
  #sync(): PoolMessage {
    this.#sequence += 1;
    const seen = this.#farClaim();
    return { kind: 'sync', pool: 'pool', lookup: FORGER, sequence: this.#sequence, seen };
  }

  /** Further than anybody can have seen, without a stamp, with one that is made up, or with that of another position. */
  #farClaim(): Seen {
    const { pool } = this.#fate;
    const { history, term } = pool.log;
    const heard = [...pool.owners, ...pool.lookups].map(({ core }) => core?.seen?.stamp);
    return {
      history,
      term: Math.max(0, term + this.#dice.pick([-1, 0, 0, 1, 1_000])),
      position: this.#dice.pick([...FAR, pool.log.head + 1]),
      stamp: this.#dice.pick([undefined, 'f'.repeat(32), ...heard]),
    };
  }
}
