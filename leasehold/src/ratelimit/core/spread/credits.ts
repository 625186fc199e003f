/**
 * The credits of one member: a part of the limit, as a thing that is held and handed over (rules S2 to S4).
 *
 * The paper computes each member's share from an estimate of the demand of all. After a change of demand the estimates differ, and the shares add
 * up to several times the limit. Here no share is computed. A member begins with one credit, which is worth limit / n. Credits
 * move from member to member in accounts (`account.ts`) and are never made. **So the credits of a view, held and on their way, are at most its
 * members**, whatever the members believe about demand; a wrong belief costs use, and never the limit.
 *
 * Each epoch a member shows demand and credits to a few peers. A peer that is richer for its demand evens out credits per demand
 * among itself and all poorer members of this epoch that asked, and gives each of them half of the difference. Half, because other peers give at the
 * same time. A member far below its need asks eight times as many peers and shows each an eighth of itself; undivided, all of them would
 * give the whole difference.
 *
 * Credits are whole numbers of a small unit, so sums are exact.
 */

import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';

/** One credit. A power of two below 2^53 / 256 members. */
export const CREDIT: number = 2 ** 32;

/** Smaller gifts are not worth a message. */
const GIFT_MIN: number = CREDIT / 1_000;
/** Peers give at the same time. */
const GIVEN_PART = 0.5;
const EAGER_PARTS = 8;
const EAGER_BELOW = 0.9;
/** How much of the means of the epochs before counts. */
const MEMORY = 0.5;

export interface Asker {
  readonly id: MemberId;
  readonly demand: number;
  readonly credits: number;
  readonly parts: number;
}

export class Credits {
  #held: number = CREDIT;
  /** The askers of this epoch, each once although messages are repeated. */
  #askers = new Map<string, Asker>();
  /** Sums over the members heard, each epoch counting half of the next. */
  #heard = { demand: 0, credits: 0, members: 0 };

  get held(): number {
    return this.#held;
  }

  /** The mean demand of the members that were heard. */
  get meanDemand(): number {
    return this.#heard.members === 0 ? 0 : this.#heard.demand / this.#heard.members;
  }

  restart(): void {
    this.#held = CREDIT;
    this.#askers.clear();
  }

  add(amount: number): void {
    this.#held = Math.max(0, this.#held + amount);
  }

  hear(asker: Asker): void {
    this.#askers.set(keyOf(asker.id), asker);
  }

  /** In how many parts this member shows itself: in eight if others have far more for the same demand. */
  partsFor(demand: number): number {
    const { demand: theirs, credits } = this.#heard;
    return theirs > 0 && this.#held < (EAGER_BELOW * demand * credits) / theirs ? EAGER_PARTS : 1;
  }

  /** Ends an epoch: takes the gifts to this epoch's poorer askers out of the credits held. */
  gifts(demand: number): { readonly to: MemberId; readonly amount: number }[] {
    const askers = [...this.#askers.values()];
    this.#askers.clear();
    this.#remember(askers);
    const poorer = askers.filter((asker) => asker.credits * demand < this.#held * asker.demand);
    let [demandOfAll, creditsOfAll] = [demand, this.#held];
    for (const asker of poorer) {
      demandOfAll += asker.demand;
      creditsOfAll += asker.credits;
    }
    const price = creditsOfAll / demandOfAll;
    let surplus = Math.max(0, this.#held - price * demand);
    const gifts: { to: MemberId; amount: number }[] = [];
    for (const asker of poorer) {
      const lack = Math.max(0, price * asker.demand - asker.credits);
      const amount = Math.floor(Math.min(surplus, lack * GIVEN_PART));
      if (!(amount >= GIFT_MIN)) continue;
      surplus -= amount;
      this.#held -= amount;
      gifts.push({ to: asker.id, amount });
    }
    return gifts;
  }

  #remember(askers: readonly Asker[]): void {
    const heard = this.#heard;
    heard.demand *= MEMORY;
    heard.credits *= MEMORY;
    heard.members *= MEMORY;
    for (const { demand, credits, parts } of askers) {
      heard.demand += demand * parts;
      heard.credits += credits * parts;
      heard.members += 1;
    }
  }
}
