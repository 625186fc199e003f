/**
 * A deployment of objects from a seed: three owners, three callers and two positions, through moves, lapses, losses, crashes, pauses, broken links,
 * suspended callers and stale tables; then a calm in which all must end well.
 */

import { keyHash } from '../../runtime/keys/hash.ts';
import { later } from '../../runtime/time.ts';
import type { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import type { CallEnd } from '../core/caller.ts';
import { type ResultBounds, RESULT_BOUNDS } from '../core/kept-results.ts';
import type { Turn } from '../core/turns.ts';
import { Checker, type KnownCall } from './checker.ts';
import { CallingParty, Owner, type Request, type Row, type Slot } from './parties.ts';

/** Two keys with one tag, and one elsewhere. */
const KEYS = ['a', 'x{a}', 'c'] as const;
const POSITIONS: readonly bigint[] = [...new Set(KEYS.map((key) => keyHash(key)))];

const STORM_MS = 12_000;
const CALM_MS = 8_000;
const EVENTS_MAX = 400_000;

/** Results that are dropped early, so that callers come back too late. */
const FORGETFUL: ResultBounds = { keptMs: 400, maxResults: 4, maxBytes: 1_000, maxCallers: 1 };

export class Chaos {
  readonly world: World;
  readonly #random: Random;
  readonly #checker: Checker;
  readonly #owners: readonly Owner[];
  readonly #callers: readonly CallingParty[];
  readonly #rows = new Map<bigint, Row>();
  readonly #pending = new Map<Request, KnownCall>();
  /** By arguments, which name a call. */
  readonly #calls: KnownCall[] = [];
  #number = 1;
  #isProbing = false;

  constructor(seed: number, trace: boolean) {
    this.world = new World({ seed, trace });
    this.#random = this.world.random.fork('chaos');
    const isForgetful = this.#random.chance(0.5);
    this.#checker = new Checker(this.world, isForgetful);
    const never = Number.POSITIVE_INFINITY;
    const options = {
      bounds: isForgetful ? FORGETFUL : RESULT_BOUNDS,
      ttlMs: this.#random.chance(0.3) ? 700 : never,
      idleAfterMs: this.#random.chance(0.5) ? 100 : never,
      callOf: (turn: Turn<Slot>) => this.#calls[new DataView(turn.args.buffer).getUint32(0)] as KnownCall,
      nested: (owner: Owner, turn: Turn<Slot>, then: (end: CallEnd) => void) =>
        this.#nested(owner, turn, then),
    };
    this.#owners = ['o1', 'o2', 'o3'].map((name) => new Owner(this.world, name, this.#checker, options));
    this.#callers = ['c1', 'c2', 'c3'].map((name) => new CallingParty(this.world, name, this.#checker));
    for (const position of POSITIONS) this.#grant(position, this.#random.pick(this.#owners), 0);
  }

  run(): void {
    const { world } = this;
    const calls = world.every([5, 60], () => this.#askOnce());
    const faults = world.every([20, 250], () => this.#fault());
    world.run({ untilMs: STORM_MS, maxEvents: EVENTS_MAX });
    calls[Symbol.dispose]();
    faults[Symbol.dispose]();
    for (const party of [...this.#owners, ...this.#callers, ...this.#owners.map(({ caller }) => caller)])
      party.goOn();
    for (const position of POSITIONS) this.#resume(position);
    world.run({ untilMs: STORM_MS + CALM_MS / 2, maxEvents: EVENTS_MAX });
    this.#probe();
    world.run({ untilMs: STORM_MS + CALM_MS, maxEvents: EVENTS_MAX });
    for (const call of this.#pending.values()) throw world.broken('settles', `${call.id} has no end`);
  }

  // Calls.

  #askOnce(): void {
    const caller = this.#random.pick(this.#callers);
    const name = this.#random.pick(['add', 'add', 'add', 'delete', 'look', 'chain']);
    const limitMs = this.#random.chance(0.3) ? Number.POSITIVE_INFINITY : this.#random.between(50, 3_000);
    const request = this.#request(caller, this.#random.pick(KEYS), name, limitMs, []);
    caller.ask(request);
    if (this.#random.chance(0.1))
      this.world.after(this.#random.between(0, 200), () => caller.cancel(request));
  }

  #request(
    caller: CallingParty,
    key: string,
    name: string,
    limitMs: number,
    through: readonly bigint[],
    onEnd?: (end: CallEnd) => void,
  ): Request {
    const position = keyHash(key);
    const isRead = name === 'look';
    const knownNumber = caller.table.get(position)?.number ?? 0;
    const id = `${name} ${this.#calls.length} of ${key} by ${caller.name}`;
    const call: KnownCall = { id, position, isRead, knownNumber, result: undefined, hasFailed: false };
    const args = new Uint8Array(4);
    new DataView(args.buffer).setUint32(0, this.#calls.push(call) - 1);
    // Without an end, a call lasts as long as it takes.
    const until = later(caller.now(), limitMs);
    const request: Request = {
      ...{ kind: 'counter', key, position, name, args, isRead, isIdempotent: false, through, until, call },
      onEnd: (end) => {
        this.#pending.delete(request);
        onEnd?.(end);
      },
    };
    this.#pending.set(request, call);
    return request;
  }

  /** A turn calls another object, and ends after that. Two chains may wait for each other, so there is a limit. */
  #nested(owner: Owner, turn: Turn<Slot>, then: (end: CallEnd) => void): void {
    const isProbe = this.#isProbing;
    const key = isProbe ? 'x{a}' : this.#random.pick(KEYS);
    const isCycle = turn.through.includes(keyHash(key));
    const request = this.#request(owner.caller, key, 'add', 1_000, turn.through, (end) => {
      if (isCycle) this.#cycleEnded(end, isProbe);
      then(end);
    });
    owner.caller.ask(request);
  }

  #cycleEnded(end: CallEnd, isProbe: boolean): void {
    this.world.count('cycles');
    if (end.is === 'answered' || (isProbe && (end.is !== 'failed' || end.why !== 'cycle')))
      throw this.world.broken(
        'cycle',
        `a call to a position whose turn waits for it ended as ${JSON.stringify(end)}`,
      );
  }

  /** In the calm every new call is answered. */
  #probe(): void {
    this.#isProbing = true;
    for (const caller of this.#callers)
      for (const key of KEYS)
        caller.ask(
          this.#request(caller, key, key === 'a' ? 'chain' : 'add', Number.POSITIVE_INFINITY, [], (end) => {
            if (end.is !== 'answered')
              throw this.world.broken('settles', `a call in the calm ended as ${JSON.stringify(end)}`);
          }),
        );
  }

  // Faults.

  #fault(): void {
    const position = this.#random.pick(POSITIONS);
    const owner = (this.#rows.get(position) as Row).owner;
    const party = this.#random.pick(this.#callers);
    switch (this.#random.integer(0, 9)) {
      case 0:
      case 1:
        this.#beginMove(position, owner);
        break;
      case 2:
        this.#lapse(position, owner);
        break;
      case 3:
        if (owner.holds(position)) this.#renumber(position, owner);
        break;
      case 4:
        if (this.#random.chance(0.3)) this.#crash(owner);
        break;
      case 5:
        if (this.#random.chance(0.3)) this.#pause(owner);
        break;
      case 6:
        if (!party.stands) this.#suspend(party);
        break;
      default: {
        const links = [party, owner.caller].flatMap(({ links: each }) => each);
        if (links.length > 0) {
          this.#random.pick(links).break();
          this.world.count('broken links');
        }
      }
    }
  }

  /** Freezes the range when its turn has ended, or cuts the turn off; then the range arrives elsewhere, or stays. */
  #beginMove(position: bigint, owner: Owner): void {
    if (!owner.holds(position) || owner.stands) return;
    owner.core.beginMove((other) => other === position);
    const { incarnation } = owner;
    const isForced = this.#random.chance(0.6);
    this.world.after(this.#random.between(0, 400), () => {
      if (owner.incarnation !== incarnation || !owner.holds(position) || owner.stands) return;
      if (owner.hasTurn(position) && !isForced) return owner.core.endMove();
      this.#freeze(position, owner);
      this.world.after(this.#random.between(0, 200), () => {
        if (owner.incarnation === incarnation && owner.held.get(position)?.isFrozen)
          this.#move(position, owner);
      });
    });
  }

  #move(position: bigint, owner: Owner): void {
    const copy = owner.stands ? undefined : owner.core.envelopes(owner.now(), (other) => other === position);
    owner.core.endMove();
    const target = this.#random.pick(this.#owners);
    if (target === owner || target.stands || this.#random.chance(0.2)) {
      this.world.count('moves that came back');
      this.#resume(position);
      return;
    }
    if (copy === undefined) {
      this.#loseTo(position, target);
      return;
    }
    this.world.count(owner.hasTurn(position) ? 'moves, forced' : 'moves');
    owner.lose(position);
    this.#number += 1;
    // What crosses is a copy.
    const objects = copy.objects.map((object) => ({ ...object, slot: { ...object.slot } }));
    target.arrive(position, this.#number, objects, copy.floor);
    this.#publish(position, target, this.#rows.get(position)?.lostAt ?? 0);
  }

  #lapse(position: bigint, owner: Owner): void {
    if (!owner.holds(position)) return;
    this.world.count('lapses');
    this.#freeze(position, owner);
    const { incarnation } = owner;
    this.world.after(this.#random.between(10, 600), () => {
      if (owner.incarnation === incarnation && owner.held.get(position)?.isFrozen) this.#resume(position);
    });
  }

  #freeze(position: bigint, owner: Owner): void {
    const held = owner.held.get(position);
    if (held !== undefined) held.isFrozen = true;
  }

  /** The keys come back under a new number, and the memory counts. */
  #resume(position: bigint): void {
    const { owner } = this.#rows.get(position) as Row;
    const held = owner.held.get(position);
    if (held === undefined || !held.isFrozen) return;
    held.isFrozen = false;
    this.#renumber(position, owner);
  }

  #renumber(position: bigint, owner: Owner): void {
    const held = owner.held.get(position);
    if (held === undefined) return;
    this.#number += 1;
    held.number = this.#number;
    this.#publish(position, owner, this.#rows.get(position)?.lostAt ?? 0);
  }

  #crash(owner: Owner): void {
    this.world.count('crashes');
    const lost = [...owner.held.keys()];
    owner.crash();
    for (const caller of this.#allCallers())
      for (const link of caller.links) if (link.owner === owner) link.break();
    for (const position of lost) this.#loseTo(position, this.#random.pick(this.#owners));
  }

  /** Past the end of its leases: the process does not know that its keys are lost. */
  #pause(owner: Owner): void {
    if (owner.stands) return;
    this.world.count('pauses');
    owner.stand(false);
    const others = this.#owners.filter((other) => other !== owner && !other.stands);
    for (const position of [...owner.held.keys()])
      if (others.length > 0) this.#loseTo(position, this.#random.pick(others));
    this.world.after(this.#random.between(100, 2_000), () => owner.goOn());
  }

  #suspend(party: CallingParty): void {
    this.world.count('suspended callers');
    party.stand(true);
    if (this.#random.chance(0.7)) for (const link of party.links) link.break();
    this.world.after(this.#random.between(100, 1_500), () => party.goOn());
  }

  #loseTo(position: bigint, owner: Owner): void {
    this.world.count('losses');
    this.#checker.lost(position, this.#number + 1);
    this.#rows.get(position)?.owner.lose(position);
    this.#grant(position, owner, this.#number + 1);
  }

  #grant(position: bigint, owner: Owner, lostAt: number): void {
    this.#number += 1;
    owner.grant(position, this.#number);
    this.#publish(position, owner, lostAt);
  }

  /** Each caller learns of it when it does. */
  #publish(position: bigint, owner: Owner, lostAt: number): void {
    const row: Row = { owner, incarnation: owner.incarnation, number: this.#number, lostAt };
    this.#rows.set(position, row);
    if (this.world.tracing)
      this.world.note(owner.name, {
        what: 'row',
        facts: { position: position === POSITIONS[0] ? 'a' : 'c', number: row.number, lostAt },
      });
    for (const caller of this.#allCallers())
      this.world.after(this.#random.between(0, this.#random.chance(0.1) ? 1_500 : 60), () =>
        caller.learn(position, row),
      );
  }

  #allCallers(): readonly CallingParty[] {
    return [...this.#callers, ...this.#owners.map(({ caller }) => caller)];
  }
}
