/**
 * What a member needs around it, in a real process and in a simulated one: it is handed inputs with a reading of
 * both clocks, what comes of them is sent and told, and its one alarm is set.
 *
 *     acquire ─┐            ┌─ as soon as it is full ─► packets: to each peer
 *     acquire ─┼─► member ──┤                         ┌─► packets: the rest
 *     packet ──┘            └─── end of the turn ─────┼─► events
 *                                                     └─► alarm
 *
 * All inputs of one turn of the event loop go out together, unless there is enough for a packet before (`outbox.ts`):
 * that leaves at once, so that a peer answers while we go on. A thousand resources that are asked for at once are then
 * a few packets to each peer and not a thousand, and that is most of what makes it fast. When a turn ends is for the
 * surroundings to say: a simulator has no turns, and carries out each input at once.
 *
 * **Nobody is told that it holds what is over.** Time passes between the decision and the word: a turn can be long, and a
 * process can be stopped in the middle of it. So the clocks are read again before a lease is handed out. One that is
 * over by then goes back, and whoever waits for it goes on to; of what it never had it hears nothing. Nor is one handed
 * out that nobody waits for any more: it goes back, and that is all.
 *
 * Whoever is told of an event may bring in the next input from there. It goes to the member at once, for the
 * member has nothing under way; but what comes of it is sent and told after all that came before.
 *
 * If sending or telling throws, the rest is done all the same, and then the first thing thrown is thrown on. So
 * one fault neither is swallowed nor ends all renewals in a process that survives it.
 */

import type { Alarm } from '../runtime/driver.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Tenure } from './tenure.ts';
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
  /** Whether somebody still waits for what this request asked for. */
  isWanted(request: number): boolean;
  /** After all that came of the inputs of a turn. */
  afterwards?(): void;
}

export class FleaseDriver {
  /** To be asked, not to be told: inputs go through {@link input}. */
  readonly member: Member;
  readonly #options: FleaseDriverOptions;
  readonly #alarm: Alarm;
  readonly #flush = (): void => this.#carryOut();
  /** There is something to carry out, and it will be. */
  #isDue = false;
  #isBusy = false;
  #isOver = false;
  /** What sending or telling threw first, and is yet to be thrown on. */
  #fault: { readonly thrown: unknown } | undefined;
  /** Granted, and given back before anybody was told. */
  readonly #missed = new WeakSet<Tenure>();

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

  /** Tells what the member had to say when it began, and goes on from there. */
  start(): void {
    this.#soon();
  }

  /** @throws what the member throws; what came of it before is carried out */
  input(act: (member: Member, reading: ClockReading) => void): void {
    if (this.#isOver) return;
    try {
      act(this.member, this.read());
    } finally {
      this.#soon();
      if (this.member.hasFullPackets && !this.#isBusy) this.#sendFull();
    }
  }

  /** Whether it is held this instant. */
  holds(tenure: Tenure): boolean {
    const groupMs = this.member.timeAt(this.read());
    return groupMs !== undefined && tenure.isHeldAt(groupMs);
  }

  receive(packet: Packet): void {
    this.input((member, reading) => member.receive(packet, reading));
  }

  /** Nothing is sent, told or done any more. */
  stop(): void {
    this.#isOver = true;
    this.#alarm.set(undefined);
  }

  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    if (!this.#isBusy) this.#options.atEndOfTurn(this.#flush);
  }

  #carryOut(): void {
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
    this.#try(() => this.#options.afterwards?.());
    this.#isBusy = false;
    if (!this.#isOver) this.#alarm.set(this.member.wakeAt);
    this.#try(() => {
      if (this.#isDue) this.#options.atEndOfTurn(this.#flush);
    });
  }

  /** In the middle of a turn. Whoever brings in an input from there has it sent after these, too. */
  #sendFull(): void {
    this.#isBusy = true;
    this.#send(this.member.takeFullPackets());
    this.#isBusy = false;
  }

  #send(packets: readonly Addressed[]): void {
    for (const { to, packet } of packets) this.#try(() => this.#options.send(to, packet));
  }

  /** What it throws is thrown on when the rest is done. */
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
      else if (!('tenure' in event && this.#missed.has(event.tenure))) this.#options.tell(event);
    });
  }

  #handOut(granted: Extract<MemberEvent, { kind: 'granted' }>): void {
    const { request: id, wanted: kind, tenure } = granted;
    const isWanted = this.#options.isWanted(id);
    if (isWanted && this.holds(tenure)) {
      this.#options.tell(granted);
      return;
    }
    this.#missed.add(tenure);
    this.input((member, reading) => {
      member.release(tenure, reading);
      if (isWanted) member.request(tenure.resource, { kind, id }, reading);
    });
  }
}
