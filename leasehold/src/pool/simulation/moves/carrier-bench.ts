/**
 * Two owners with production carriers on simulated lines, and a hand in place of their cores: tests of streams and stages say each effect themselves, and
 * read what is answered.
 */

import { assert } from '../../../runtime/assert.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { LogFacts, Logger } from '../../../runtime/logger.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import { World } from '../../../sim/world.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import { MoveCarrier, type MoveCarrierDependencies } from '../../shell/moves/move-carrier.ts';
import type { ItemCodec, Movable, Stage } from '../../shell/state/movable.ts';
import { SimulatedLines } from './simulated-lines.ts';

export const WHOLE: Span = { start: 0n, end: RING_SIZE };
export const TICKET = 'c4.2.1';
/** The names of both owners, as effects of the core tell them. */
export const NAMED = { fromName: 'web-1', toName: 'web-3' } as const;

/** A value, or undefined for a key that was deleted. */
export type Entry = readonly [key: string, value: unknown];

/** Plain JSON; an object of a class would not arrive as it left, and is refused. */
export const plainCodec: ItemCodec<unknown> = {
  encode: (item) => {
    const isPlain = (value: unknown): boolean =>
      typeof value !== 'object' ||
      value === null ||
      Array.isArray(value) ||
      Object.getPrototypeOf(value) === Object.prototype;
    if (Array.isArray(item) && !item.every(isPlain)) throw new Error('it has an instance of a class');
    return Buffer.from(JSON.stringify(item));
  },
  decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
};

/** State in a plain `Map`, which notes what is touched while keys of it are read. */
export class MapState implements Movable<Entry> {
  readonly entries: Map<string, unknown> = new Map<string, unknown>();
  /** How many snapshots have not ended. */
  open = 0;
  /** How each of the others ended: moved or not. */
  readonly ends: boolean[] = [];
  batch = 100;
  stageDelay: (() => Promise<void>) | undefined;
  readonly committed: { readonly keys: RangeSet; readonly number: number }[] = [];
  discarded = 0;
  /** Items in stages, now. */
  staged = 0;
  #touched = new Set<string>();
  version: number | undefined;
  reads: readonly number[] | undefined;
  codec: ItemCodec<Entry> | undefined;

  set(key: string, value: unknown): void {
    if (value === undefined) this.entries.delete(key);
    else this.entries.set(key, value);
    if (this.open === 0) return;
    this.#touched.delete(key);
    this.#touched.add(key);
  }

  snapshot(keys: RangeSet, _signal: AbortSignal): AsyncIterable<readonly Entry[]> {
    this.open += 1;
    return this.read(keys);
  }

  async *read(keys: RangeSet): AsyncIterable<readonly Entry[]> {
    const all = [...this.entries].filter(([key]) => keys.has(key));
    for (let at = 0; at < all.length; at += this.batch) yield all.slice(at, at + this.batch);
  }

  changes(keys: RangeSet): readonly Entry[] {
    const touched = [...this.#touched].filter((key) => keys.has(key));
    for (const key of touched) this.#touched.delete(key);
    return touched.map((key) => [key, this.entries.get(key) ?? null]);
  }

  done(keys: RangeSet, moved: boolean): void {
    this.ends.push(moved);
    this.open -= 1;
    if (!moved) return;
    for (const key of [...this.entries.keys()]) if (keys.has(key)) this.entries.delete(key);
  }

  stage(_keys: RangeSet): Stage<Entry> {
    const items = new Map<string, unknown>();
    let isOver = false;
    const over = (): void => {
      assert(!isOver, 'a stage ends once');
      isOver = true;
      this.staged -= items.size;
    };
    return {
      add: (entries) => {
        const add = (): void => {
          if (isOver) return;
          for (const [key, value] of entries) {
            if (!items.has(key)) this.staged += 1;
            items.set(key, value);
          }
        };
        if (this.stageDelay !== undefined) return this.stageDelay().then(add);
        add();
        return undefined;
      },
      commit: (keys, number) => {
        this.committed.push({ keys, number });
        for (const [key, value] of items)
          if (keys.has(key)) {
            if (value === null) this.entries.delete(key);
            else this.entries.set(key, value);
          }
        // No other number follows in these tests.
        over();
      },
      discard: () => {
        this.discarded += 1;
        over();
      },
    };
  }
}

export interface BenchOwner {
  readonly carrier: MoveCarrier;
  readonly runtime: SimRuntime;
  readonly signer: Signer;
  readonly state: MapState;
  readonly inputs: MoveInput[];
  /** Warnings and errors, with their facts. */
  readonly lines: string[];
}

export interface CarrierBenchOptions {
  /** Of the source and of the target. */
  readonly signers: readonly [Signer, Signer];
  readonly verifier: Verifier;
  readonly seed?: number | undefined;
  readonly delayMs?: number | undefined;
  readonly bytesPerMs?: number | undefined;
  /** Changes the state of an owner before it is registered. */
  readonly prepare?: ((address: string, state: MapState) => void) | undefined;
  readonly given?: Partial<Pick<MoveCarrierDependencies, 'bytesPerSecond' | 'stallTimeoutMs'>> | undefined;
}

export class CarrierBench {
  readonly world: World;
  readonly lines: SimulatedLines;
  readonly source: BenchOwner;
  readonly target: BenchOwner;
  readonly #options: CarrierBenchOptions;

  constructor(options: CarrierBenchOptions) {
    this.#options = options;
    const { seed = 1, delayMs, bytesPerMs, signers } = options;
    this.world = new World({ seed });
    this.lines = new SimulatedLines({ world: this.world, delayMs, bytesPerMs });
    this.source = this.owner('source:1', signers[0]);
    this.target = this.owner('target:1', signers[1]);
  }

  /** One more owner, which listens at an address of this name. */
  owner(address: string, signer: Signer): BenchOwner {
    let runtime: SimRuntime | undefined;
    const process = new SimProcess(this.world, { name: address, start: (own) => void (runtime = own) });
    process.start();
    assert(runtime !== undefined, 'a process has started');
    const inputs: MoveInput[] = [];
    const lines: string[] = [];
    const state = new MapState();
    this.#options.prepare?.(address, state);
    let nonces = 0;
    const carrier = new MoveCarrier({
      ...{ pool: 'presence', signer, runtime, defaultCodec: plainCodec, stallTimeoutMs: 10_000 },
      ...this.#options.given,
      verifier: this.#options.verifier,
      carriage: this.lines.carriage(address),
      atEndOfTurn: (callback) => void this.world.after(0, callback),
      newNonce: () => {
        nonces += 1;
        return nonces.toString(16).padStart(32, '0');
      },
      logger: loggingTo(lines),
      say: (input) => void inputs.push(input),
    });
    carrier.movable('rooms', state);
    return { carrier, runtime, signer, state, inputs, lines };
  }

  async run(ms: number): Promise<void> {
    await this.world.runAsync({ untilMs: this.world.trueMs + ms, drain });
  }

  /** Lets time pass until this is so; at most a simulated minute. */
  async until(isSo: () => boolean, what: string): Promise<void> {
    for (let step = 0; step < 60_000 && !isSo(); step += 1) await this.run(1);
    if (!isSo()) throw new Error(`never came: ${what}; ${this.told()}`);
  }

  told(): string {
    const told = [...this.source.inputs, ...this.target.inputs].map((input) => JSON.stringify(input));
    return [...told, ...this.source.lines, ...this.target.lines].join('\n');
  }

  /** As the cores of both begin a move. */
  begin(span: Span = WHOLE, ticket: string = TICKET): void {
    const [from, to] = [this.source.signer.incarnation, this.target.signer.incarnation];
    this.target.carrier.execute({ do: 'receive', ticket, span, number: 7, from, ...NAMED });
    this.source.carrier.execute({ do: 'stream', ticket, span, number: 7, to, address: 'target:1', ...NAMED });
  }

  async untilSaid(owner: BenchOwner, is: MoveInput['is']): Promise<MoveInput> {
    await this.until(() => owner.inputs.some((input) => input.is === is), is);
    return owner.inputs.find((input) => input.is === is) as MoveInput;
  }

  says(owner: BenchOwner, is: MoveInput['is']): readonly MoveInput[] {
    return owner.inputs.filter((input) => input.is === is);
  }

  /** From the stop to the grant. */
  async finish(span: Span = WHOLE, ticket: string = TICKET): Promise<void> {
    const { source, target } = this;
    await this.untilSaid(source, 'caughtUp');
    source.carrier.execute({ do: 'freeze', ticket });
    await this.untilSaid(source, 'acknowledged');
    await this.untilSaid(target, 'staged');
    source.carrier.execute({ do: 'handed', ticket });
    target.carrier.execute({ do: 'commit', ticket, spans: [{ ...span, number: 8 }] });
    source.carrier.execute({ do: 'departed', spans: [{ ...span, number: 7 }] });
    await this.run(10);
  }
}

/** As many turns as the longest chain of promises in a stream needs, and some. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await undefined;
}

function loggingTo(lines: string[]): Logger {
  const note = (message: string, facts?: LogFacts): void =>
    void lines.push(`${message} ${JSON.stringify(facts ?? {})}`);
  return { debug: () => {}, info: () => {}, warn: note, error: note };
}
