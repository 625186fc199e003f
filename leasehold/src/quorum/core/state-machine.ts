/**
 * The values, with as much of their past as somebody can still ask for.
 *
 * A slot is applied as soon as it is *chosen*, but its effect may be shown only once the slot is *committed*, and commits
 * come per slot and out of order: a slow holder delays its own keys alone. A reader that waits for slot 7 must see the
 * value as of 7 even if slot 9 has been applied meanwhile. So every key has its versions since the last committed
 * one.
 *
 *     slot       5        7           9
 *     key a      x        y           z            all chosen and applied
 *                committed prefix 6 ┘              kept: x (the newest at or below 6), y, z
 *
 * A snapshot as of the committed prefix is what these versions say for that slot.
 */

import { assert } from '../../runtime/assert.ts';
import { KeyMap } from './key-map.ts';
import {
  type Action,
  type Command,
  type Condition,
  lastRevisionOf,
  NO_SESSION,
  type Operation,
  type Request,
  type Revision,
  revisionOf,
  type Value,
} from './operation.ts';
import type { Found, Result } from './result.ts';
import { type SessionLimits, Sessions, type SessionSnapshot } from './sessions.ts';

interface Version {
  readonly revision: Revision;
  readonly value: Value | undefined;
}

export interface StateSnapshot {
  readonly values: readonly Found[];
  readonly sessions: readonly SessionSnapshot[];
}

export class StateMachine {
  readonly sessions: Sessions;
  readonly #values = new KeyMap<Version[]>();
  readonly #pins = new Set<{ readonly slot: number }>();
  #applied: number;
  #bytes = 0;

  constructor(
    applied: number,
    limits: SessionLimits,
    snapshot: StateSnapshot = { values: [], sessions: [] },
  ) {
    this.#applied = applied;
    this.sessions = new Sessions(limits);
    this.load(snapshot.values, snapshot.sessions);
  }

  /** Takes over a part of a snapshot. */
  load(values: readonly Found[], sessions: readonly SessionSnapshot[]): void {
    for (const { key, value, revision } of values) {
      this.#values.set(key, [{ revision, value }]);
      this.#bytes += key.length + (value?.length ?? 0);
    }
    this.sessions.load(sessions);
  }

  /** The rough size of the keys and of all versions of their values. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Until disposed of, the values as of this slot can be asked for. */
  pin(slot: number): Disposable {
    const pin = { slot };
    this.#pins.add(pin);
    return {
      [Symbol.dispose]: () => {
        this.#pins.delete(pin);
      },
    };
  }

  /** The lowest slot that is pinned. */
  get pinned(): number {
    let lowest = Number.POSITIVE_INFINITY;
    for (const { slot } of this.#pins) lowest = Math.min(lowest, slot);
    return lowest;
  }

  /**
   * The values as of a slot, one at a time. If the slot is pinned, slots may be applied and versions dropped between two steps: a
   * key that was there as of the slot is not removed meanwhile, and a key that came later has no value as of the slot.
   */
  *valuesAt(slot: number): Generator<Found, undefined> {
    for (const key of this.#values.keys()) {
      const found = this.read(key, slot);
      if (found.value !== undefined) yield found;
    }
    return undefined;
  }

  /** All slots up to this one have been applied. */
  get applied(): number {
    return this.#applied;
  }

  /** How many keys have a value, or had one until lately. */
  get keys(): number {
    return this.#values.size;
  }

  /** Applies the next slot, and says what came of each request of its batch. */
  apply(slot: number, operation: Operation): Result[] {
    assert(slot === this.#applied + 1, `slot ${slot} applied after ${this.#applied}`);
    this.#applied = slot;
    if (operation.kind !== 'batch') return [];
    return operation.requests.map((request, place) => this.#request(request, revisionOf(slot, place)));
  }

  /** The value of a key when this slot had been applied; not for slots below the committed prefix. */
  read(key: string, slot: number): Found {
    const revision = lastRevisionOf(slot);
    const versions = this.#values.get(key);
    if (versions === undefined) return absent(key);
    for (let at = versions.length - 1; at >= 0; at -= 1) {
      const version = versions[at] as Version;
      if (version.revision > revision) continue;
      const { value } = version;
      return value === undefined ? absent(key) : { key, value, revision: version.revision };
    }
    return absent(key);
  }

  snapshotAt(slot: number): StateSnapshot {
    return { values: [...this.valuesAt(slot)], sessions: this.sessions.snapshotAt(slot) };
  }

  /** Every value there is now, in the order of the keys: two replicas that applied the same slots have the same. */
  contents(): Found[] {
    return this.snapshotAt(this.#applied).values.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  }

  #request(request: Request, revision: Revision): Result {
    const { command } = request;
    switch (command.kind) {
      case 'open-session':
        return this.sessions.begin(revision);
      case 'expire-session':
        return this.sessions.expire(command.session, revision);
      case 'transaction': {
        const apply = (): Result => this.#transaction(command, revision);
        return request.session === NO_SESSION ? apply() : this.sessions.once(request, revision, apply);
      }
    }
  }

  #transaction(
    { conditions, actions }: Extract<Command, { kind: 'transaction' }>,
    revision: Revision,
  ): Result {
    const isMet = conditions.every((condition) => this.#holds(condition));
    if (!isMet) return { kind: 'unmet', revision, found: conditions.map(({ key }) => this.#latest(key)) };
    const found: Found[] = [];
    for (const action of actions) {
      if (action.do === 'get') found.push(this.#latest(action.key));
      else this.#write(action, revision);
    }
    return { kind: 'done', revision, found };
  }

  #holds(condition: Condition): boolean {
    const { value, revision } = this.#latest(condition.key);
    switch (condition.is) {
      case 'absent':
        return value === undefined;
      case 'revision':
        return value !== undefined && revision === condition.revision;
      case 'value':
        return value !== undefined && isSame(value, condition.value);
    }
  }

  #latest(key: string): Found {
    return this.read(key, this.#applied);
  }

  #write(action: Exclude<Action, { do: 'get' }>, revision: Revision): void {
    const version = { revision, value: action.do === 'put' ? action.value : undefined };
    const versions = this.#values.get(action.key);
    this.#bytes += version.value?.length ?? 0;
    if (versions === undefined) {
      this.#values.set(action.key, [version]);
      this.#bytes += action.key.length;
    } else versions.push(version);
  }

  /** Drops the versions of these keys that nobody can ask for once everything up to this slot is committed. */
  forget(keys: Iterable<string>, committed: number): void {
    const revision = lastRevisionOf(committed);
    for (const key of keys) {
      const versions = this.#values.get(key);
      if (versions === undefined) continue;
      while ((versions[1]?.revision ?? Number.POSITIVE_INFINITY) <= revision)
        this.#bytes -= versions.shift()?.value?.length ?? 0;
      const isGone = versions.length === 1 && versions[0]?.value === undefined;
      if (!isGone || (versions[0] as Version).revision > revision) continue;
      this.#values.delete(key);
      this.#bytes -= key.length;
    }
  }
}

/** The same for a deleted key as for one that never was: replicas forget deleted keys at different times. */
const absent = (key: string): Found => ({ key, value: undefined, revision: 0 });

function isSame(a: Value, b: Value): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}
