/**
 * Runs a member, in a real process or a simulated one: passes inputs with a reading of both clocks, sends the
 * packets, delivers the events, and sets the one alarm.
 *
 *     acquire ─┐            ┌─ as soon as it is full ─► packets: to each peer
 *     acquire ─┼─► member ──┤                         ┌─► packets: the rest
 *     packet ──┘            └─── end of the turn ─────┼─► events
 *                                                     └─► alarm
 *
 * All inputs of one turn of the event loop go out together, unless a packet is full before (`outbox.ts`): a full
 * packet leaves at once, so that the peer can answer meanwhile. A thousand resources acquired at once are then a few
 * packets to each peer and not a thousand, which is most of the speed. The surroundings define the end of a turn: a
 * simulator has no turns, and executes each input at once.
 *
 * **No application is told that it holds an expired lease.** Time passes between the decision and the delivery: a
 * turn can be long, and a process can be stopped in the middle. So the driver reads the clocks again before it hands
 * out a lease. A lease that is over by then goes back, and the request goes on waiting; the application hears nothing
 * of that lease. A lease that no request waits for any more goes back, too.
 *
 * A listener may bring in the next input while an event is delivered. That input goes to the member at once, because
 * the member has nothing under way; but its packets and events leave after all earlier ones.
 *
 * If sending or delivering throws, the driver does the rest all the same, and then throws the first error on. So one
 * fault is not swallowed, and does not end all renewals in a process that survives it.
 */

import type { Alarm } from '../runtime/driver.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { HeldLease } from './held-lease.ts';
import type { ClockReading } from './group-clock.ts';
import { type Addressed, Member, type MemberEvent, type MemberSettings } from './member.ts';
import type { Packet } from './messages.ts';

export interface FleaseDriverOptions {
  readonly settings: MemberSettings;
  readonly clock: Pick<Runtime, 'now' | 'wallMs'>;
  /** Makes the alarm that wakes the member. */
  alarm(wake: () => void): Alarm;
  /** Calls back at the end of this turn; or at once, where there are no turns. */
  atEndOfTurn(callback: () => void): void;
  send(to: string, packet: Packet): void;
  tell(event: MemberEvent): void;
  /** Whether this request still waits for an answer. */
  isWanted(request: number): boolean;
  /** Called after the packets and events of a turn. */
  afterInput?(): void;
}

export class FleaseDriver {
  /** For reading only: inputs go through {@link input}. */
  readonly member: Member;
  readonly #options: FleaseDriverOptions;
  readonly #alarm: Alarm;
  readonly #flush = (): void => this.#execute();
  /** A flush is scheduled. */
  #isDue = false;
  #isBusy = false;
  #isOver = false;
  /** The first error of sending or delivering, still to be thrown on. */
  #fault: { readonly thrown: unknown } | undefined;
  /** Leases that were granted, and released before the application was told. */
  readonly #missed = new WeakSet<HeldLease>();

  constructor(options: FleaseDriverOptions) {
    this.#options = options;
    this.member = new Member(options.settings, this.read());
    this.#alarm = options.alarm(() => this.input((member, reading) => member.wake(reading)));
  }

  /** Both clocks, one after the other. */
  read(): ClockReading {
    const { clock } = this.#options;
    return { now: clock.now(), wallMs: clock.wallMs() };
  }

  /** Delivers the events of the start, and begins. */
  start(): void {
    this.#soon();
  }

  /** @throws the error of the member; earlier results are sent and delivered first */
  input(act: (member: Member, reading: ClockReading) => void): void {
    if (this.#isOver) return;
    try {
      act(this.member, this.read());
    } finally {
      this.#soon();
      if (this.member.hasFullPackets && !this.#isBusy) this.#sendFull();
    }
  }

  /** Whether the lease is held this instant. */
  holds(held: HeldLease): boolean {
    const groupMs = this.member.timeAt(this.read());
    return groupMs !== undefined && held.isHeldAt(groupMs);
  }

  receive(packet: Packet): void {
    this.input((member, reading) => member.receive(packet, reading));
  }

  /** Ends all sending, delivering and timers. */
  stop(): void {
    this.#isOver = true;
    this.#alarm.set(undefined);
  }

  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#isBusy) this.#options.atEndOfTurn(this.#flush);
  }

  #execute(): void {
    if (!this.#isOver) this.#sendAndTell();
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault !== undefined) throw fault.thrown;
  }

  #sendAndTell(): void {
    this.#isBusy = true;
    this.#isDue = false;
    const { packets, events } = this.member.take();
    this.#send(packets);
    for (const event of events) this.#tell(event);
    this.#try(() => this.#options.afterInput?.());
    this.#isBusy = false;
    if (!this.#isOver) this.#alarm.set(this.member.wakeAt);
    this.#try(() => {
      if (this.#isDue) this.#options.atEndOfTurn(this.#flush);
    });
  }

  /** In the middle of a turn. Packets of an input that arrives meanwhile are sent after these, too. */
  #sendFull(): void {
    this.#isBusy = true;
    this.#send(this.member.takeFullPackets());
    this.#isBusy = false;
  }

  #send(packets: readonly Addressed[]): void {
    for (const { to, packet } of packets) this.#try(() => this.#options.send(to, packet));
  }

  /** Throws an error on when the rest is done. */
  #try(act: () => void): void {
    try {
      act();
    } catch (thrown) {
      this.#fault ??= { thrown };
    }
  }

  #tell(event: MemberEvent): void {
    this.#try(() => {
      if (event.kind === 'granted') this.#handOut(event);
      else if (!('held' in event && this.#missed.has(event.held))) this.#options.tell(event);
    });
  }

  #handOut(granted: Extract<MemberEvent, { kind: 'granted' }>): void {
    const { request: id, wanted: kind, held } = granted;
    const isWanted = this.#options.isWanted(id);
    if (isWanted && this.holds(held)) {
      this.#options.tell(granted);
      return;
    }
    this.#missed.add(held);
    this.input((member, reading) => {
      member.release(held, reading);
      if (isWanted) member.request(held.resource, { kind, id }, reading);
    });
  }
}
