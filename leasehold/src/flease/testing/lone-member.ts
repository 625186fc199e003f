/** For tests only: one member of a group, a, and whatever the others say to it. */

import { instant } from '../../runtime/time.ts';
import type { ClockReading } from '../group-clock.ts';
import { Member, type MemberEvent } from '../member.ts';
import type { Item, Packet } from '../messages.ts';
import { resolveFleaseDurations } from '../options.ts';
import { digestOf, type ViewDigest } from '../view-digest.ts';

const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
export const WALL_MS = 1_750_000_000_000;

/** Of a view with the number of ours, but not with its members. */
export const OTHER: ViewDigest = digestOf({ members: ['a', 'b', 'd'], before: undefined });

export class LoneMember {
  readonly member: Member;
  readonly clock: { ms: number; aheadMs: number } = { ms: 0, aheadMs: 0 };
  readonly events: MemberEvent[] = [];
  readonly sent: { readonly to: string; readonly packet: Packet }[] = [];
  readonly #digest: ViewDigest;

  constructor(members: readonly string[] = ['a', 'b', 'c'], before?: readonly string[]) {
    this.#digest = digestOf({ members, before });
    this.member = new Member(
      {
        ...{ group: 'g', id: 'a', life: 7, durations: DURATIONS, random: () => 0.5 },
        view: { number: 2, members, before },
      },
      this.reading(),
    );
  }

  reading = (): ClockReading => {
    const { ms, aheadMs } = this.clock;
    return { now: instant(ms), wallMs: WALL_MS + ms + aheadMs };
  };

  take = (): void => {
    const { events, packets } = this.member.take();
    this.events.push(...events);
    this.sent.push(...packets);
  };

  at = (ms: number): void => {
    this.clock.ms = ms;
    this.member.wake(this.reading());
    this.take();
  };

  /** What was sent to somebody since this was last asked. */
  saidTo = (to: string): Item[] => {
    const items = this.sent.filter((one) => one.to === to).flatMap(({ packet }) => packet.items);
    for (let place = this.sent.length - 1; place >= 0; place -= 1) {
      if (this.sent[place]?.to === to) this.sent.splice(place, 1);
    }
    return items;
  };

  told = (kind: MemberEvent['kind']): MemberEvent[] => this.events.filter((event) => event.kind === kind);

  hears = (from: string, items: readonly Item[], changes: Partial<Packet> = {}): void => {
    this.hearsInTheSameTurn(from, items, changes);
    this.take();
  };

  /** What comes of it is sent and told with what comes next. */
  hearsInTheSameTurn = (from: string, items: readonly Item[], changes: Partial<Packet> = {}): void => {
    const packet: Packet = {
      ...{ group: 'g', view: 2, from, life: 1, toLife: 7, sentMs: this.reading().wallMs, echo: undefined },
      ...{ digest: this.#digest, leaseMs: 1_000, clockSkewMs: 50, items },
      ...changes,
    };
    this.member.receive(packet, this.reading());
  };

  acquire = (id: number): void => {
    this.member.request('job', { kind: 'acquire', id }, this.reading());
    this.take();
  };

  release = (heir?: string): void => {
    for (const tenure of this.member.tenures) this.member.release(tenure, this.reading(), heir);
    this.take();
  };
}

export const promised = (attempt: number): Item => ({
  kind: 'promised',
  attempt,
  written: undefined,
  lease: undefined,
});

export const accepted = (attempt: number): Item => ({ kind: 'accepted', attempt });

/** It has been silent for long enough, and has the lease under attempt 1. */
export function holding(): LoneMember {
  const group = new LoneMember();
  group.at(1_101);
  group.acquire(1);
  group.hears('b', [promised(1)]);
  group.hears('b', [accepted(1)]);
  return group;
}
