/**
 * A member in the shared driver, in a real process or a simulated one. The driver passes inputs with a reading of both clocks; packets
 * and events leave at the end of the turn (`runtime/driver.ts`).
 *
 * **No application is told that it holds an expired lease.** Time passes between the decision and the delivery: a
 * turn can be long, and a process can be stopped in the middle. So the clocks are read again before a
 * lease is handed out. A lease that is over by then goes back, and the request goes on waiting; the application hears nothing
 * of that lease. A lease that no request waits for any more goes back, too.
 *
 * A listener may bring in the next input while an event is delivered. That input goes to the member at once, because
 * the member has nothing under way; but its packets and events leave after all earlier ones.
 */

import { unreachable } from '../../runtime/assert.ts';
import { type Alarm, Driver } from '../../runtime/driver.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { AtEndOfTurn } from '../../runtime/turn.ts';
import type { ClockReading } from './group-clock.ts';
import type { HeldLease } from './held-lease.ts';
import { Member, type MemberEffect, type MemberEvent, type MemberSettings } from './member.ts';
import type { Packet } from './messages.ts';

export interface DrivenMemberOptions {
  readonly settings: MemberSettings;
  readonly clock: Pick<Runtime, 'now' | 'wallMs'>;
  /** Makes the alarm that wakes the member. */
  alarm(wake: () => void): Alarm;
  readonly atEndOfTurn: AtEndOfTurn;
  send(to: string, packet: Packet): void;
  tell(event: MemberEvent): void;
  /** Whether this request still waits for an answer. */
  isWanted(request: number): boolean;
  /** Called after the packets and events of a turn. */
  afterInput?(): void;
}

export class DrivenMember {
  /** Its inputs go through {@link input}. */
  readonly member: Member;
  readonly #options: DrivenMemberOptions;
  readonly #driver: Driver<MemberEffect, ClockReading>;
  /** Leases that were granted, and released before the application was told. */
  readonly #missed = new WeakSet<HeldLease>();

  constructor(options: DrivenMemberOptions) {
    const { settings, alarm, atEndOfTurn } = options;
    this.#options = options;
    this.member = new Member(settings, this.read());
    this.#driver = new Driver({
      ...{ core: this.member, clock: { now: () => this.read() }, atEndOfTurn },
      alarm: (wake) => alarm(wake),
      execute: (effect) => this.#execute(effect),
      afterInput: () => options.afterInput?.(),
    });
  }

  /** Both clocks, one after the other. */
  read(): ClockReading {
    const { clock } = this.#options;
    return { now: clock.now(), wallMs: clock.wallMs() };
  }

  /** Delivers the events of the start, and begins. */
  start(): void {
    this.#driver.input(() => this.member.begin());
  }

  /** @throws the error of the member; earlier results are sent and delivered all the same */
  input(act: (reading: ClockReading) => readonly MemberEffect[]): void {
    this.#driver.input(act);
  }

  receive(packet: Packet): void {
    this.#driver.input((reading) => this.member.receive(packet, reading));
  }

  /** Whether the lease is held this instant. */
  holds(held: HeldLease): boolean {
    const groupMs = this.member.timeAt(this.read());
    return groupMs !== undefined && held.isHeldAt(groupMs);
  }

  /** Ends all sending, delivering and timers. */
  stop(): void {
    this.#driver.stop();
  }

  #execute(effect: MemberEffect): void {
    switch (effect.do) {
      case 'send':
        this.#options.send(effect.to, effect.packet);
        return;
      case 'tell':
        this.#tell(effect.event);
        return;
      default:
        unreachable(effect);
    }
  }

  #tell(event: MemberEvent): void {
    if (event.kind === 'granted') this.#handOut(event);
    else if (!('held' in event && this.#missed.has(event.held))) this.#options.tell(event);
  }

  #handOut(granted: Extract<MemberEvent, { kind: 'granted' }>): void {
    const { request: id, wanted: kind, held } = granted;
    const isWanted = this.#options.isWanted(id);
    if (isWanted && this.holds(held)) {
      this.#options.tell(granted);
      return;
    }
    this.#missed.add(held);
    const { member } = this;
    this.input((reading) => {
      const released = member.release(held, reading);
      return isWanted ? [...released, ...member.request(held.resource, { kind, id }, reading)] : released;
    });
  }
}
