import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import { initialConfiguration } from './configuration.ts';
import type { Effect } from './context.ts';
import { type Command, compareAndSet, NO_SESSION, put } from './operation.ts';
import { DEFAULT_LIMITS, resolveQuorumDurations } from './options.ts';
import { recover } from './recovery.ts';
import { Replica } from './replica.ts';

const LEASE_MS = 1_000;
const value = new Uint8Array([1]);
const NAMES = ['a', 'b', 'c'];

/** Three replicas with quick disks and links; every effect is kept in order. */
class Trio {
  readonly effects = new Map<string, Effect[]>(NAMES.map((name) => [name, []]));
  readonly #replicas = new Map<string, Replica>();
  #nowMs = 0;
  #ids = 0;
  #numbers = 0;
  #session = NO_SESSION;

  constructor(mode: 'all' | 'leader' = 'all') {
    const initial = initialConfiguration(
      NAMES.map((storage, seat) => ({ seat, storage })),
      { mode },
    );
    const recovery = recover([]);
    if (recovery.kind !== 'recovered') throw new Error('an empty disk is whole');
    const durations = resolveQuorumDurations({ leaseMs: LEASE_MS, electionMs: 300 });
    for (const self of NAMES) {
      const options = { self, life: 1, recovered: recovery.state, initial, contacts: [], durations };
      const random = (): number => NAMES.indexOf(self) / 3;
      this.#replicas.set(self, new Replica({ ...options, limits: DEFAULT_LIMITS, random }, this.now));
    }
    this.pass(1_500);
    const opened = this.submit('a', { kind: 'open-session' });
    this.#session = 'session' in opened ? opened.session : NO_SESSION;
  }

  replica(name: string): Replica {
    return this.#replicas.get(name) as Replica;
  }

  /** The leader proposes that these hold every key; nothing is delivered yet. */
  place(mode: 'all' | 'leader'): void {
    const leader = NAMES.find((name) => this.replica(name).role === 'leader') as string;
    this.#ids += 1;
    const change = { kind: 'placement', placement: { mode } } as const;
    this.input(leader, (replica) => replica.reconfigure(this.#ids, change, this.now));
  }

  /** A replica that does not lead. */
  get follower(): string {
    return NAMES.find((name) => this.replica(name).role !== 'leader') as string;
  }

  get now(): Instant {
    return instant(this.#nowMs);
  }

  input(name: string, act: (replica: Replica) => Effect[]): void {
    for (const effect of act(this.#replicas.get(name) as Replica)) {
      this.effects.get(name)?.push(effect);
      if (effect.do === 'persist') this.#later(() => this.input(name, (replica) => replica.synced(this.now)));
      if (effect.do === 'send')
        this.#later(() =>
          this.input(effect.to, (replica) => replica.receive(name, effect.message, this.now)),
        );
    }
  }

  pass(ms: number): void {
    for (const endMs = this.#nowMs + ms; this.#nowMs < endMs; this.#nowMs += 5) {
      for (let act = this.#due.shift(); act !== undefined; act = this.#due.shift()) act();
      for (const name of NAMES) this.input(name, (replica) => replica.wake(this.now));
    }
  }

  /** One message or sync arrives. False if nothing is under way. */
  step(): boolean {
    const act = this.#due.shift();
    act?.();
    return act !== undefined;
  }

  submit(name: string, command: Command): { readonly revision: number } | { readonly session: number } {
    this.#ids += 1;
    this.#numbers += 1;
    const id = this.#ids;
    const [session, number] = command.kind === 'transaction' ? [this.#session, this.#numbers] : [0, 0];
    this.input(name, (replica) =>
      replica.submit(id, { session, number, answeredBelow: 0, command }, this.now),
    );
    this.pass(100);
    const answered = this.effects.get(name)?.find((effect) => effect.do === 'answer' && effect.id === id);
    if (answered?.do !== 'answer' || answered.answer.kind !== 'result') throw new Error('no answer');
    const { result } = answered.answer;
    if (result.kind === 'opened') return { session: result.session };
    if (result.kind !== 'done' && result.kind !== 'unmet') throw new Error(result.kind);
    return { revision: result.revision };
  }

  /** Writes the key at a replica, and claims it there. */
  claimed(name: string): number {
    const written = this.submit(name, put('term', value));
    const revision = 'revision' in written ? written.revision : 0;
    this.effects.get(name)?.splice(0);
    this.input(name, (replica) => replica.claim({ key: 'term', revision }, this.now));
    return revision;
  }

  /** The effects of a replica about claims, and acknowledgements. */
  story(name: string): string[] {
    return (this.effects.get(name) ?? []).flatMap((effect) => {
      if (effect.do === 'claim-ended') return [`ended: ${effect.why}`];
      if (effect.do === 'claim-extended') return ['extended'];
      return effect.do === 'send' && effect.message.kind === 'accepted'
        ? [`up to ${effect.message.upTo}`]
        : [];
    });
  }

  readonly #due: (() => void)[] = [];
  #later(act: () => void): void {
    this.#due.push(act);
  }
}

describe('a claim on a key', () => {
  it('is told at once, for at most a lease, and extended with every renewal', () => {
    const trio = new Trio();
    trio.claimed('b');
    trio.pass(2 * LEASE_MS);
    const extensions = (trio.effects.get('b') ?? []).filter((effect) => effect.do === 'claim-extended');
    expect(extensions.length).toBeGreaterThan(4);
    expect(trio.story('b')[0]).toBe('extended');
    expect(Math.max(...extensions.map(({ until }) => until - trio.now))).toBeLessThanOrEqual(LEASE_MS);
  });

  it('ends before the replica acknowledges another write of the key', () => {
    const trio = new Trio();
    const slot = Math.floor(trio.claimed('b') / 4_096);
    const written = trio.submit('a', put('term', value));
    const later = Math.floor(('revision' in written ? written.revision : 0) / 4_096);
    expect(later).toBeGreaterThan(slot);
    const story = trio.story('b');
    expect(story).toContain('ended: overwritten');
    expect(story.indexOf('ended: overwritten')).toBeLessThan(story.indexOf(`up to ${later}`));
    expect(story.slice(story.indexOf('ended: overwritten'))).not.toContain('extended');
  });

  it('is not ended by a write that names another revision of the key', () => {
    const trio = new Trio();
    const revision = trio.claimed('b');
    trio.submit('a', compareAndSet({ key: 'term', is: 'revision', revision: revision - 1 }, value));
    trio.submit('a', compareAndSet({ key: 'term', is: 'absent' }, value));
    expect(trio.story('b')).not.toContain('ended: overwritten');
    trio.submit('a', compareAndSet({ key: 'term', is: 'revision', revision }, value));
    expect(trio.story('b')).toContain('ended: overwritten');
  });

  it('ends before the replica acknowledges a configuration under which it does not hold the key', () => {
    const trio = new Trio();
    const { follower } = trio;
    trio.claimed(follower);
    trio.place('leader');
    trio.pass(50);
    const story = trio.story(follower);
    const { log } = trio.replica(follower).view;
    const acknowledged = story.indexOf(`up to ${log.newestConfigurationSlot}`);
    expect(story).toContain('ended: shortened');
    expect(acknowledged).toBeGreaterThan(story.indexOf('ended: shortened'));
  });

  it('is not told before every configuration that counts lets the replica hold the key', () => {
    const trio = new Trio('leader');
    const { follower } = trio;
    trio.claimed(follower);
    trio.pass(LEASE_MS);
    expect(trio.story(follower)).not.toContain('extended');
    trio.place('all');
    let wasBetween = false;
    while (!trio.story(follower).includes('extended') && trio.step()) {
      const counting = trio.replica(follower).view.log.countingConfigurations.length;
      wasBetween ||= counting > 1;
    }
    expect(wasBetween).toBe(true);
    expect(trio.story(follower)).toContain('extended');
    expect(trio.replica(follower).view.log.countingConfigurations).toHaveLength(1);
  });

  it('ends with a suspension, and with a release before the grantors hear of the release', () => {
    const suspended = new Trio();
    suspended.claimed('b');
    suspended.input('b', (replica) => replica.suspended(suspended.now));
    expect(suspended.story('b').at(-1)).toBe('ended: shortened');
    const released = new Trio();
    released.claimed('b');
    released.input('b', (replica) => replica.release(released.now));
    const effects = released.effects.get('b') ?? [];
    const end = effects.findIndex((effect) => effect.do === 'claim-ended');
    const said = effects.findIndex((effect) => effect.do === 'send' && effect.message.kind === 'release');
    expect(end).toBeGreaterThanOrEqual(0);
    expect(end).toBeLessThan(said);
  });
});
