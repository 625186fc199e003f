/**
 * Owners and callers of a simulated world: the cores that ship, each with a clock and a queue of its own, and links between them.
 *
 * A link delivers in order. When it breaks, the caller hears so at once; frames on their way to the owner still arrive, perhaps after the greeting of the
 * caller's next link; answers on their way back do not.
 */

import { type Instant, instant } from '../../runtime/time.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import { type CallEnd, Caller, type CallRequest, type Route } from '../core/caller.ts';
import type { ResultBounds } from '../core/kept-results.ts';
import type { ToCaller } from '../core/messages.ts';
import { type Envelope, type Turn, Turns } from '../core/turns.ts';
import type { Checker, KnownCall } from './checker.ts';

/** Of an object: what ran on it, and how many turns have begun and ended. */
export interface Slot {
  value: number;
  begun: number;
  ended: number;
  isEvicted: boolean;
}

export interface Request extends CallRequest {
  readonly call: KnownCall;
  /** For calls from within a turn. */
  readonly onEnd?: ((end: CallEnd) => void) | undefined;
}

export interface Row {
  readonly owner: Owner;
  readonly incarnation: number;
  readonly number: number;
  readonly lostAt: number;
}

interface Held {
  readonly since: number;
  number: number;
  /** The lease has lapsed, or its keys are about to move: the memory is kept, and nothing may be done. */
  isFrozen: boolean;
}

/** A process: what happens while it stands still happens afterwards, in order. */
abstract class Party {
  readonly name: string;
  protected readonly world: World;
  readonly random: Random;
  readonly #originMs: number;
  readonly #rate: number;
  #sleptMs = 0;
  #stoodSince: number | undefined;
  #clockStands = false;
  #waiting: (() => void)[] = [];
  #alarms = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.random = world.random.fork(name);
    this.#originMs = this.random.integer(0, 1e8);
    this.#rate = this.random.between(0.9, 1.1);
  }

  now(): Instant {
    const trueMs = this.#clockStands ? (this.#stoodSince ?? 0) : this.world.trueMs;
    return instant(this.#originMs + this.#rate * (trueMs - this.#sleptMs));
  }

  get stands(): boolean {
    return this.#stoodSince !== undefined;
  }

  stand(clockStands: boolean): void {
    this.#stoodSince = this.world.trueMs;
    this.#clockStands = clockStands;
  }

  goOn(): void {
    if (this.#stoodSince === undefined) return;
    if (this.#clockStands) this.#sleptMs += this.world.trueMs - this.#stoodSince;
    this.#stoodSince = undefined;
    this.#clockStands = false;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const act of waiting) act();
    this.arm();
  }

  protected act(run: () => void): void {
    if (this.stands) this.#waiting.push(run);
    else run();
  }

  protected forget(): void {
    this.#waiting = [];
    this.#alarms += 1;
    this.goOn();
  }

  protected abstract get wakeAt(): Instant | undefined;
  protected abstract wake(): void;

  protected arm(): void {
    const at = this.wakeAt;
    this.#alarms += 1;
    const alarm = this.#alarms;
    if (at === undefined) return;
    const inMs = Math.max(0, (at - this.now()) / this.#rate) + this.random.between(0, 5);
    this.world.after(inMs, () => {
      if (alarm === this.#alarms) this.act(() => this.wake());
    });
  }
}

class Link {
  readonly id: string;
  readonly caller: CallingParty;
  readonly owner: Owner;
  readonly incarnation: number;
  readonly nth: number;
  isOpen: boolean = true;
  /** The owner has answered the greeting. */
  isWelcome: boolean = false;
  #upAt = 0;
  #downAt = 0;
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World, caller: CallingParty, owner: Owner, nth: number) {
    const id = `${caller.name}-${owner.name}-${nth}`;
    this.#world = world;
    this.#random = world.random.fork(id);
    this.id = id;
    this.nth = nth;
    this.caller = caller;
    this.owner = owner;
    this.incarnation = owner.incarnation;
  }

  up(run: () => void): void {
    this.#upAt = Math.max(this.#upAt, this.#world.trueMs + this.#delayMs());
    this.#world.at(this.#upAt, () => {
      if (this.owner.incarnation === this.incarnation) run();
    });
  }

  down(run: () => void): void {
    this.#downAt = Math.max(this.#downAt, this.#world.trueMs + this.#delayMs());
    this.#world.at(this.#downAt, () => {
      if (this.isOpen) run();
    });
  }

  /** The owner hears of it after the last frame. */
  break(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.caller.broken(this);
    this.up(() => this.owner.broken(this));
  }

  #delayMs(): number {
    return this.#random.chance(0.05) ? this.#random.between(0, 800) : this.#random.between(0, 15);
  }
}

export class CallingParty extends Party {
  /** What it knows of the table. */
  readonly table: Map<bigint, Row> = new Map<bigint, Row>();
  readonly core: Caller<Request>;
  readonly checker: Checker;
  readonly #links = new Map<Owner, Link>();
  #made = 0;

  constructor(world: World, name: string, checker: Checker) {
    super(world, name);
    this.checker = checker;
    this.core = new Caller<Request>({
      routes: { find: (position) => this.#route(position) },
      ...{ cancelMs: 60, retryMs: 50, confirmMs: 200 },
    });
  }

  get links(): readonly Link[] {
    return [...this.#links.values()];
  }

  ask(request: Request): void {
    this.act(() => this.#input(() => this.core.call(this.now(), request)));
  }

  cancel(request: Request): void {
    this.act(() => this.#input(() => this.core.cancel(this.now(), request)));
  }

  learn(position: bigint, row: Row): void {
    this.act(() => {
      if (row.number <= (this.table.get(position)?.number ?? 0)) return;
      this.table.set(position, row);
      this.#input(() => this.core.routesChanged(this.now()));
    });
  }

  hear(link: Link, message: ToCaller): void {
    this.act(() => {
      if (link.isOpen) this.#input(() => this.core.receive(this.now(), link.id, message));
    });
  }

  welcomed(link: Link): void {
    this.act(() => {
      link.isWelcome = link.isOpen;
      this.#input(() => this.core.routesChanged(this.now()));
    });
  }

  broken(link: Link): void {
    if (this.#links.get(link.owner) === link) this.#links.delete(link.owner);
    this.act(() => this.#input(() => this.core.linkBroken(this.now(), link.id)));
  }

  protected override get wakeAt(): Instant | undefined {
    return this.core.wakeAt;
  }

  protected override wake(): void {
    this.#input(() => this.core.wake(this.now()));
  }

  #route(position: bigint): Route | undefined {
    const row = this.table.get(position);
    if (row === undefined || row.owner.incarnation !== row.incarnation) return undefined;
    const { id, isWelcome } = this.#linkTo(row.owner);
    return isWelcome ? { link: id, number: row.number, lostAt: row.lostAt } : undefined;
  }

  #linkTo(owner: Owner): Link {
    const link = this.#links.get(owner);
    if (link !== undefined && link.incarnation === owner.incarnation) return link;
    link?.break();
    this.#made += 1;
    const made = new Link(this.world, this, owner, this.#made);
    this.#links.set(owner, made);
    made.up(() => owner.greeted(made));
    return made;
  }

  #input(act: () => ReturnType<Caller<Request>['wake']>): void {
    for (const effect of act()) {
      if (effect.do === 'settle') this.#settled(effect.request, effect.end);
      else {
        const link = this.links.find(({ id }) => id === effect.link);
        const { frame } = effect;
        if (this.world.tracing)
          this.world.note(this.name, {
            what: frame.do,
            facts:
              frame.do === 'call'
                ? {
                    link: effect.link,
                    counter: frame.counter,
                    number: frame.number,
                    first: frame.first,
                    repeated: frame.isRepeated,
                  }
                : { link: effect.link },
          });
        link?.up(() => link.owner.hear(link, frame));
      }
    }
    this.arm();
  }

  #settled(request: Request, end: CallEnd): void {
    const { call } = request;
    if (this.world.tracing)
      this.world.note(this.name, { what: 'settled', facts: { call: call.id, end: end.is } });
    const value = end.is === 'answered' ? new DataView(end.answer.bytes.buffer).getFloat64(0) : undefined;
    this.checker.ended(call, end, value);
    request.onEnd?.(end);
  }
}

export interface OwnerOptions {
  readonly bounds: ResultBounds;
  readonly ttlMs: number;
  readonly idleAfterMs: number;
  /** The call of a frame, by its caller and counter. */
  readonly callOf: (turn: Turn<Slot>) => KnownCall;
  /** Makes a call from within a turn. */
  readonly nested: (owner: Owner, turn: Turn<Slot>, then: (end: CallEnd) => void) => void;
}

export class Owner extends Party {
  readonly held: Map<bigint, Held> = new Map<bigint, Held>();
  /** For calls from within turns. */
  readonly caller: CallingParty;
  core: Turns<Slot>;
  /** Grows with each crash. */
  incarnation: number = 1;
  readonly #options: OwnerOptions;
  readonly #links = new Map<string, Link>();
  readonly #checker: Checker;
  /** Turns under way, and how to end each early. */
  readonly #turns = new Map<Turn<Slot>, (isEarly: boolean) => void>();
  /** Grows when the memory of a position goes. */
  readonly #epochs = new Map<bigint, number>();

  constructor(world: World, name: string, checker: Checker, options: OwnerOptions) {
    super(world, name);
    this.#checker = checker;
    this.#options = options;
    this.caller = new CallingParty(world, `${name}/calls`, checker);
    this.core = this.#newCore();
  }

  holds(position: bigint): boolean {
    const held = this.held.get(position);
    return held !== undefined && !held.isFrozen;
  }

  hasTurn(position: bigint): boolean {
    return [...this.#turns.keys()].some((turn) => turn.position === position);
  }

  grant(position: bigint, number: number): void {
    this.held.set(position, { since: number, number, isFrozen: false });
  }

  greeted(link: Link): void {
    this.act(() => {
      this.#links.set(link.id, link);
      this.#input(() => this.core.greet(this.now(), link.id, link.caller.name, link.nth));
    });
  }

  hear(link: Link, frame: Parameters<Turns<Slot>['receive']>[2]): void {
    this.act(() => this.#input(() => this.core.receive(this.now(), link.id, frame)));
  }

  broken(link: Link): void {
    this.act(() => {
      this.#links.delete(link.id);
      this.#input(() => this.core.linkBroken(this.now(), link.id));
    });
  }

  /** The memory of a position is gone here. */
  lose(position: bigint): void {
    this.held.delete(position);
    this.#epochs.set(position, this.#epochOf(position) + 1);
    this.act(() => this.#input(() => this.core.drop((other) => other === position)));
  }

  arrive(position: bigint, number: number, objects: readonly Envelope<Slot>[], floor: number): void {
    this.grant(position, number);
    for (const { slot } of objects) this.#checker.arrived(slot.begun, slot.ended);
    this.#input(() => this.core.arrive(this.now(), objects, floor));
  }

  crash(): void {
    this.incarnation += 1;
    this.held.clear();
    this.#turns.clear();
    this.#links.clear();
    for (const link of this.caller.links) link.break();
    this.core = this.#newCore();
    this.forget();
  }

  protected override get wakeAt(): Instant | undefined {
    return this.core.wakeAt;
  }

  protected override wake(): void {
    this.#input(() => this.core.wake(this.now()));
  }

  #newCore(): Turns<Slot> {
    const { bounds, ttlMs, idleAfterMs } = this.#options;
    const calls = new Set(['add', 'delete', 'chain']);
    return new Turns<Slot>({
      tenure: {
        numberOf: (position) => (this.holds(position) ? this.held.get(position)?.number : undefined),
        isContinuous: (position, number) => {
          const held = this.held.get(position);
          return held !== undefined && !held.isFrozen && number >= held.since && number <= held.number;
        },
      },
      kinds: new Map([['counter', { calls, reads: new Set(['look']), maxObjects: 100, ttlMs, idleAfterMs }]]),
      newSlot: () => ({ value: 0, begun: 0, ended: 0, isEvicted: false }),
      copySlot: (slot) => ({ ...slot }),
      bounds,
    });
  }

  #input(act: () => ReturnType<Turns<Slot>['wake']>): void {
    for (const effect of act()) {
      this.#note(effect);
      if (effect.do === 'send') {
        const { link: id, message } = effect;
        const link = this.#links.get(id);
        link?.down(() => link.caller.hear(link, message));
      } else if (effect.do === 'welcome') {
        const link = this.#links.get(effect.link);
        link?.down(() => link.caller.welcomed(link));
      } else if (effect.do === 'run') this.#run(effect.turn);
      else if (effect.do === 'evict') {
        this.world.count('evictions');
        effect.slot.isEvicted = true;
      } else if (this.random.chance(0.5)) this.#turns.get(effect.turn)?.(true);
    }
    this.arm();
  }

  #note(effect: ReturnType<Turns<Slot>['wake']>[number]): void {
    if (!this.world.tracing) return;
    if (effect.do === 'send')
      this.world.note(this.name, {
        what: effect.message.do,
        facts: {
          link: effect.link,
          counter: effect.message.counter,
          why: 'why' in effect.message ? effect.message.why : undefined,
        },
      });
    else if (effect.do === 'run' || effect.do === 'abort') {
      const { key, number } = effect.turn;
      this.world.note(this.name, {
        what: effect.do,
        facts: { key, number, call: this.#options.callOf(effect.turn).id },
      });
    }
  }

  #run(turn: Turn<Slot>): void {
    const { slot, position } = turn;
    slot.isEvicted = false;
    const epoch = this.#epochOf(position);
    const { incarnation } = this;
    if (!turn.isRead) slot.begun += 1;
    let isOver = false;
    const end = (): void => {
      if (isOver || incarnation !== this.incarnation) return;
      isOver = true;
      this.#turns.delete(turn);
      this.#finish(turn, epoch);
    };
    this.#turns.set(turn, () => this.world.after(0, () => this.act(end)));
    if (turn.name === 'chain') this.#options.nested(this, turn, () => this.act(end));
    else this.world.after(this.#lengthMs(), () => this.act(end));
  }

  #finish(turn: Turn<Slot>, epoch: number): void {
    const { slot, position } = turn;
    const isNew = turn.isNew && !turn.isRead;
    if (!turn.isRead) {
      slot.ended += 1;
      slot.value += 1;
    }
    // A value that no other run has.
    const result = slot.value + this.world.events / 2 ** 20;
    if (epoch === this.#epochOf(position)) this.#checker.ran(this.#options.callOf(turn), result);
    this.world.count(turn.isRead ? 'reads' : isNew ? 'objects begun' : 'turns');
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, result);
    const change = turn.name === 'delete' ? 'deleted' : 'kept';
    this.#input(() => this.core.finished(this.now(), turn, { answer: { isError: false, bytes }, change }));
  }

  #lengthMs(): number {
    return this.random.chance(0.1) ? this.random.between(0, 1_500) : this.random.between(0, 40);
  }

  #epochOf(position: bigint): number {
    return this.#epochs.get(position) ?? 0;
  }
}
