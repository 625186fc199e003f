/**
 * The gossip that the paper began with, as a control: each message is sent once, and what is lost is gone. Members do not begin anew in a new
 * view.
 */

import type { MemberId } from '../../../../membership/core/incarnation.ts';
import { type Instant, later } from '../../../../runtime/time.ts';
import { draw } from '../../../core/spread/draw.ts';
import type { GroupSight } from '../../../core/spread/group-sight.ts';
import type { SpreadMessage } from '../../../core/spread/messages.ts';
import type { PushSumEffect, PushSumSettings } from '../../../core/spread/push-sum.ts';

export class NaivePushSum {
  readonly #settings: PushSumSettings;
  readonly #sight: GroupSight;
  #own: number;
  #value: number;
  #weight = 1;
  wakeAt: Instant;

  constructor(settings: PushSumSettings, sight: GroupSight, now: Instant) {
    this.#settings = settings;
    this.#sight = sight;
    this.#own = settings.value();
    this.#value = this.#own;
    this.wakeAt = now;
  }

  get total(): number {
    const members = this.#sight.view?.members.length ?? 1;
    return this.#weight > 0 ? (this.#value / this.#weight) * members : 0;
  }

  wake(now: Instant): PushSumEffect[] {
    const { random, value, epochMs, branching } = this.#settings;
    this.wakeAt = later(now, epochMs * (0.9 + 0.2 * random()));
    const own = value();
    this.#value += own - this.#own;
    this.#own = own;
    const members = (this.#sight.view?.members ?? []).filter(({ name }) => name !== this.#sight.id.name);
    const peers = draw([...members], branching ?? Math.ceil(Math.log2(members.length + 1)), random);
    this.#value /= peers.length + 1;
    this.#weight /= peers.length + 1;
    const amount = [this.#value, this.#weight];
    return peers.map((to: MemberId) => ({
      do: 'send',
      to,
      message: { kind: 'transfer', line: '', lo: 0, cur: 1, amount },
      isDirect: true,
    }));
  }

  look(): PushSumEffect[] {
    return [];
  }

  receive(_: MemberId, message: SpreadMessage): PushSumEffect[] {
    if (message.kind !== 'transfer') return [];
    const [value = 0, weight = 0] = message.amount;
    this.#value += value;
    this.#weight += weight;
    return [];
  }
}
