/**
 * Many cores on one view that is simply given to them, for the paper's figures of 182 and 500 members: direct links that lose messages or are cut,
 * and an overlay that always works. No clock drifts.
 */

import type { MemberId } from '../../../membership/core/incarnation.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import { Network } from '../../../sim/network.ts';
import { World } from '../../../sim/world.ts';
import type { GroupSight } from '../../core/spread/group-sight.ts';
import type { SpreadMessage } from '../../core/spread/messages.ts';

interface SentEffect {
  readonly do: 'send';
  readonly to: MemberId;
  readonly message: SpreadMessage;
  readonly isDirect: boolean;
}

interface StaticCore {
  readonly wakeAt: Instant;
  wake(now: Instant): readonly { readonly do: string }[];
  look(now: Instant): readonly { readonly do: string }[];
  receive(from: MemberId, message: SpreadMessage, now: Instant): readonly { readonly do: string }[];
}

export interface StaticGroupOptions<Core> {
  readonly seed: number;
  readonly members: number;
  readonly lossChance?: number;
  make(index: number, sight: GroupSight, random: () => number, now: Instant): Core;
}

const DIRECT_MS = [2, 30] as const;
const OVERLAY_MS = [10, 60] as const;

export class StaticGroup<Core extends StaticCore> {
  readonly world: World;
  readonly cores: readonly Core[];
  readonly direct: Network<SpreadMessage>;
  readonly #overlay: Network<SpreadMessage>;
  readonly #ids: readonly MemberId[];
  readonly #idOf: ReadonlyMap<string, MemberId>;
  #view: { readonly id: string; readonly members: readonly MemberId[] };
  #inView: ReadonlySet<MemberId>;
  #views = 1;

  constructor({ seed, members, lossChance = 0, make }: StaticGroupOptions<Core>) {
    this.world = new World({ seed });
    this.direct = new Network(this.world, { faults: { delayMs: DIRECT_MS, lossChance }, name: 'direct' });
    this.#overlay = new Network(this.world, { faults: { delayMs: OVERLAY_MS }, name: 'overlay' });
    this.#ids = Array.from({ length: members }, (_, index) => ({
      name: this.nameOf(index),
      incarnation: { startedMs: 1, nonce: index },
    }));
    this.#idOf = new Map(this.#ids.map((id) => [id.name, id]));
    this.#view = { id: '1.1.x', members: this.#ids };
    this.#inView = new Set(this.#ids);
    const random = this.world.random.fork('static group');
    this.cores = this.#ids.map((id, index) => {
      const chance = random.fork(id.name);
      return make(index, this.#sight(id), () => chance.next(), this.#now());
    });
    this.cores.forEach((core, index) => {
      const { name } = this.#idAt(index);
      const receive = (from: string, message: SpreadMessage): void => {
        const sender = this.#idOf.get(from);
        if (sender === undefined || !this.#isMember(index)) return;
        this.#execute(name, core.receive(sender, message, this.#now()));
      };
      this.direct.attach(name, receive);
      this.#overlay.attach(name, receive);
      this.world.after(random.between(0, 100), () => this.#wake(core, index));
    });
  }

  nameOf(index: number): string {
    return `m${index}`;
  }

  run(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms, maxEvents: 50_000_000 });
  }

  /** A new view of these members. */
  deliver(isMember: (index: number) => boolean): void {
    this.#views += 1;
    const members = this.#ids.filter((_, index) => isMember(index));
    this.#view = { id: `${this.#views}.${this.#views}.x`, members };
    this.#inView = new Set(members);
    this.cores.forEach((core, index) => {
      if (isMember(index)) this.#execute(this.nameOf(index), core.look(this.#now()));
    });
  }

  #wake(core: Core, index: number): void {
    if (this.#isMember(index)) this.#execute(this.nameOf(index), core.wake(this.#now()));
    const waitMs = Math.max(1, core.wakeAt - this.world.trueMs);
    this.world.after(waitMs, () => this.#wake(core, index));
  }

  #execute(from: string, effects: readonly { readonly do: string }[]): void {
    for (const effect of effects) {
      if (effect.do !== 'send') continue;
      const { to, message, isDirect } = effect as SentEffect;
      (isDirect ? this.direct : this.#overlay).send(from, to.name, message);
    }
  }

  #isMember(index: number): boolean {
    return this.#inView.has(this.#idAt(index));
  }

  #idAt(index: number): MemberId {
    const id = this.#ids[index];
    if (id === undefined) throw new RangeError(`there is no member ${index}`);
    return id;
  }

  #sight(id: MemberId): GroupSight {
    const group = this;
    return {
      id,
      get view() {
        return group.#view;
      },
      isChanging: false,
      promisesEndAt: instant(0),
      standing: () => 'acts',
    };
  }

  #now(): Instant {
    return instant(this.world.trueMs);
  }
}
