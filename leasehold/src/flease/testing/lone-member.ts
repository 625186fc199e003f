/**
 * For tests only: one member of a group, a, and the packets that others send to it.
 */

import { instant } from '../../runtime/time.ts';
import type { ClockReading } from '../core/group-clock.ts';
import { Member, type MemberEffect, type MemberEvent } from '../core/member.ts';
import type { Item, Packet } from '../core/messages.ts';
import { resolveFleaseDurations } from '../core/options.ts';
import { digestOf, type ViewDigest } from '../core/view-digest.ts';

const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
export const WALL_MS = 1_750_000_000_000;

/** Of a view with our number, but other members. */
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
        ...{ group: 'g', id: 'a', incarnation: 7, durations: DURATIONS, random: () => 0.5 },
        view: { number: 2, members, before },
      },
      this.reading(),
    );
  }

  reading = (): ClockReading => {
    const { ms, aheadMs } = this.clock;
    return { now: instant(ms), wallMs: WALL_MS + ms + aheadMs };
  };

  /** The events come at once, the packets at the end of the turn. */
  input = (act: (member: Member, reading: ClockReading) => readonly MemberEffect[]): void => {
    this.#execute(act(this.member, this.reading()));
  };

  /** The end of the turn. */
  take = (): void => {
    this.#execute(this.member.endTurn());
  };

  at = (ms: number): void => {
    this.clock.ms = ms;
    this.input((member, reading) => member.wake(reading));
    this.take();
  };

  /** Items sent to a member since the last call. */
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

  /** The results are sent and delivered together with those of the next input. */
  hearsInTheSameTurn = (from: string, items: readonly Item[], changes: Partial<Packet> = {}): void => {
    const packet: Packet = {
      ...{
        group: 'g',
        view: 2,
        from,
        incarnation: 1,
        toIncarnation: 7,
        sentMs: this.reading().wallMs,
        echo: undefined,
      },
      ...{ digest: this.#digest, leaseMs: 1_000, clockSkewMs: 50, takeoverMs: 0, items },
      ...changes,
    };
    this.input((member, reading) => member.receive(packet, reading));
  };

  acquire = (id: number): void => {
    this.input((member, reading) => member.request('job', { kind: 'acquire', id }, reading));
    this.take();
  };

  release = (successor?: string): void => {
    for (const held of this.member.heldLeases)
      this.input((member, reading) => member.release(held, reading, successor));
    this.take();
  };

  #execute(effects: readonly MemberEffect[]): void {
    for (const effect of effects) {
      if (effect.do === 'tell') this.events.push(effect.event);
      else this.sent.push(effect);
    }
  }
}

export const promised = (attempt: number): Item => ({
  kind: 'promised',
  attempt,
  written: undefined,
  lease: undefined,
});

export const accepted = (attempt: number): Item => ({ kind: 'accepted', attempt });

/** A member after recovery, with the lease under attempt 1. */
export function holding(): LoneMember {
  const group = new LoneMember();
  group.at(1_101);
  group.acquire(1);
  group.hears('b', [promised(1)]);
  group.hears('b', [accepted(1)]);
  return group;
}
