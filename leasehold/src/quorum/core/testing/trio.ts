/** A cell of three cores for unit tests: messages and syncs arrive in order, at once or when a test says so. */

import { type Instant, instant } from '../../../runtime/time.ts';
import { initialConfiguration } from '../configuration.ts';
import type { Effect } from '../context.ts';
import type { Message } from '../messages.ts';
import { type Command, NO_SESSION, put } from '../operation.ts';
import { DEFAULT_LIMITS, resolveQuorumDurations } from '../options.ts';
import { recover } from '../recovery.ts';
import { Replica } from '../replica.ts';

export const LEASE_MS = 1_000;
const value = new Uint8Array([1]);
const NAMES = ['a', 'b', 'c'];

/** Three replicas with quick disks and links; every effect is kept in order. */
export class Trio {
  readonly effects: ReadonlyMap<string, Effect[]> = new Map(NAMES.map((name) => [name, []]));
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
    this.#ids += 1;
    const change = { kind: 'placement', placement: { mode } } as const;
    this.input(this.leader, (replica) => replica.reconfigure(this.#ids, change, this.now));
  }

  get leader(): string {
    return NAMES.find((name) => this.replica(name).role === 'leader') as string;
  }

  /** A replica that does not lead. */
  get follower(): string {
    return NAMES.find((name) => this.replica(name).role !== 'leader') as string;
  }

  get now(): Instant {
    return instant(this.#nowMs);
  }

  readonly #clocks = new Map<
    string,
    { readonly rate: number; readonly fromMs: number; readonly shown: number }
  >();

  /** From now on the clock of this replica runs at this rate. */
  setRate(name: string, rate: number): void {
    this.#clocks.set(name, { rate, fromMs: this.#nowMs, shown: this.nowOf(name) });
  }

  /** The clock of a replica. */
  nowOf(name: string): Instant {
    const { rate, fromMs, shown } = this.#clocks.get(name) ?? { rate: 1, fromMs: 0, shown: 0 };
    return instant(shown + (this.#nowMs - fromMs) * rate);
  }

  /** Replicas that hear nobody, and that nobody hears. */
  readonly cutOff: Set<string> = new Set();

  input(name: string, act: (replica: Replica) => Effect[]): void {
    for (const effect of act(this.#replicas.get(name) as Replica)) {
      this.effects.get(name)?.push(effect);
      if (effect.do === 'persist') this.#persist(name);
      if (effect.do === 'send') this.#later(() => this.#deliver(name, effect.to, effect.message));
    }
  }

  /** Messages of this kind wait until {@link release}. */
  late: Message['kind'] | undefined;
  readonly #late: (() => void)[] = [];

  /** The late messages arrive. */
  release(): void {
    this.late = undefined;
    for (const arrive of this.#late.splice(0)) arrive();
  }

  #deliver(from: string, to: string, message: Message): void {
    if (this.cutOff.has(from) || this.cutOff.has(to)) return;
    if (message.kind === this.late) {
      this.#late.push(() => this.#deliver(from, to, message));
      return;
    }
    this.input(to, (replica) => replica.receive(from, message, this.nowOf(to)));
  }

  pass(ms: number): void {
    for (const endMs = this.#nowMs + ms; this.#nowMs < endMs; this.#nowMs += 5) {
      for (let act = this.#due.shift(); act !== undefined; act = this.#due.shift()) act();
      for (const name of NAMES) this.input(name, (replica) => replica.wake(this.nowOf(name)));
    }
  }

  /** One message or sync arrives. False if nothing is under way. */
  step(): boolean {
    const act = this.#due.shift();
    act?.();
    return act !== undefined;
  }

  /** Submits a command, and waits for nothing; the number of the call. */
  begin(name: string, command: Command): number {
    this.#ids += 1;
    this.#numbers += 1;
    const id = this.#ids;
    const [session, number] = command.kind === 'transaction' ? [this.#session, this.#numbers] : [0, 0];
    this.input(name, (replica) =>
      replica.submit(id, { session, number, answeredBelow: 0, command }, this.nowOf(name)),
    );
    return id;
  }

  submit(name: string, command: Command): { readonly revision: number } | { readonly session: number } {
    const id = this.begin(name, command);
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

  /** The disk of this replica has no room, or has room again. */
  setFull(name: string, isFull: boolean): void {
    if (isFull) this.#full.add(name);
    else if (this.#full.delete(name) && this.#unwritten.delete(name)) this.#persist(name);
  }

  #persist(name: string): void {
    if (this.#full.has(name)) {
      this.#unwritten.add(name);
      this.#later(() => this.input(name, (replica) => replica.diskFull(this.nowOf(name))));
    } else this.#later(() => this.input(name, (replica) => replica.synced(this.nowOf(name))));
  }

  readonly #full = new Set<string>();
  readonly #unwritten = new Set<string>();
  readonly #due: (() => void)[] = [];
  #later(act: () => void): void {
    this.#due.push(act);
  }
}
