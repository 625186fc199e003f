/// <reference lib="esnext.disposable" preserve="true" />

/** A simulated etcd without faults except the test's, and processes with logs on that etcd. */

import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import { World } from '../../../sim/world.ts';
import type { DeposedReason, Leadership, LogStart } from '../../log.ts';
import type { RaisedCounters } from '../../file/raise-counters.ts';
import type { EtcdAnswer, EtcdClient, EtcdRefusalReason } from '../../../etcd/client.ts';
import { beginRaising, beginReading, type EtcdCounters, type RaiseEtcdCountersOptions } from '../counters.ts';
import { beginEtcdLog, type OpenEtcdLog } from '../etcd-log.ts';
import { type EtcdLogOptions, resolveEtcdLogOptions } from '../options.ts';
import {
  type ClientFaults,
  noFaults,
  SimulatedEtcdClient,
} from '../../../etcd/simulation/simulated-client.ts';
import { SimulatedEtcd } from '../../../etcd/simulation/simulated-etcd.ts';
import { noSpace, refused } from '../../../etcd/simulation/simulated-store.ts';

export const PREFIX = '/test/';

/**
 * The fate of a request: lost; carried out and the answer lost; carried out, and etcd says that there is no room;
 * carried out so much later, when nobody waits for the answer any more; refused.
 */
export type Fate =
  | 'lost'
  | 'unanswered'
  | 'crossing-the-quota'
  | { readonly lateMs: number }
  | { readonly refused: EtcdRefusalReason };

type Method = 'grant' | 'keepAlive' | 'revoke' | 'transact' | 'range';

/** A client of which the next request of a kind can be told to fail. */
export class TroubledClient implements EtcdClient {
  readonly asked: string[] = [];
  readonly #world: World;
  readonly #planned: { readonly method: Method; readonly fate: Fate; readonly puts: string | undefined }[] =
    [];

  readonly grant: EtcdClient['grant'];
  readonly keepAlive: EtcdClient['keepAlive'];
  readonly revoke: EtcdClient['revoke'];
  readonly range: EtcdClient['range'];
  readonly transact: EtcdClient['transact'];
  readonly watch: EtcdClient['watch'];
  readonly health: EtcdClient['health'];

  constructor(client: EtcdClient, world: World) {
    this.#world = world;
    const troubled =
      <Asked, T>(
        method: Method,
        ask: (asked: Asked, timeoutMs: number, hear: (answer: EtcdAnswer<T>) => void) => void,
      ) =>
      (asked: Asked, timeoutMs: number, hear: (answer: EtcdAnswer<T>) => void): void => {
        this.asked.push(method);
        this.#ask(method, asked, (answer) => ask(asked, timeoutMs, answer), hear);
      };
    this.grant = troubled('grant', (asked, timeoutMs, hear) => client.grant(asked, timeoutMs, hear));
    this.keepAlive = troubled('keepAlive', (asked, timeoutMs, hear) =>
      client.keepAlive(asked, timeoutMs, hear),
    );
    this.revoke = troubled('revoke', (asked, timeoutMs, hear) => client.revoke(asked, timeoutMs, hear));
    this.range = troubled('range', (asked, timeoutMs, hear) => client.range(asked, timeoutMs, hear));
    this.transact = troubled('transact', (asked, timeoutMs, hear) => client.transact(asked, timeoutMs, hear));
    this.watch = (key, end, from, events) => {
      this.asked.push('watch');
      return client.watch(key, end, from, events);
    };
    this.health = (timeoutMs, answer) => client.health(timeoutMs, answer);
  }

  /** `puts`: only a transaction that puts a key which begins so after the prefix. */
  fail(method: Method, fate: Fate, puts?: string): void {
    this.#planned.push({ method, fate, puts });
  }

  #ask<T>(
    method: Method,
    asked: unknown,
    ask: (hear: (answer: EtcdAnswer<T>) => void) => void,
    hear: (answer: EtcdAnswer<T>) => void,
  ): void {
    const place = this.#planned.findIndex(
      ({ method: planned, puts }) =>
        planned === method &&
        (puts === undefined || JSON.stringify(asked).includes(`"do":"put","key":"${PREFIX}${puts}`)),
    );
    const [plan] = place < 0 ? [] : this.#planned.splice(place, 1);
    const fate = plan?.fate;
    const say = (answer: EtcdAnswer<T>): void => void this.#world.after(5, () => hear(answer));
    if (fate === undefined) ask(hear);
    else if (fate === 'unanswered') ask(() => say({ kind: 'unknown', why: 'the answer was lost' }));
    else if (fate === 'crossing-the-quota') ask(() => say(noSpace()));
    else if (fate === 'lost') say({ kind: 'unknown', why: 'it was lost' });
    else if ('refused' in fate) say(refused(fate.refused));
    else {
      say({ kind: 'unknown', why: 'it is stuck' });
      this.#world.after(fate.lateMs, () => ask(() => {}));
    }
  }
}

/** The highest that anybody has seen. */
type Counters = Pick<RaiseEtcdCountersOptions, 'term' | 'position'>;

export interface Machine {
  readonly process: SimProcess;
  readonly runtime: SimRuntime;
  readonly faults: ClientFaults;
  readonly client: TroubledClient;
}

export class QuietEtcd {
  readonly world: World = new World({ seed: 1 });
  readonly etcd: SimulatedEtcd = new SimulatedEtcd(this.world);
  /** `warn no answer from etcd` */
  readonly lines: string[] = [];
  readonly fatal: LeaseholdError[] = [];
  readonly logger: Logger = {
    debug: () => {},
    info: (message) => void this.lines.push(`info ${message}`),
    warn: (message) => void this.lines.push(`warn ${message}`),
    error: (message) => void this.lines.push(`error ${message}`),
  };
  #ids = 0;

  pass(ms: number): void {
    this.world.run({ untilMs: this.world.trueMs + ms });
  }

  until(condition: () => boolean): void {
    for (let steps = 0; !condition(); steps++) {
      if (steps > 5_000) throw new Error('it never happened');
      this.pass(2);
    }
  }

  machine(name: string): Machine {
    let runtime: SimRuntime | undefined;
    const process = new SimProcess(this.world, {
      name,
      start: (incarnation) => void (runtime = incarnation),
    });
    process.start();
    if (runtime === undefined) throw new Error('it did not start');
    const faults = noFaults();
    const client = new TroubledClient(
      new SimulatedEtcdClient(this.etcd, process, runtime, faults),
      this.world,
    );
    return { process, runtime, faults, client };
  }

  options({ runtime, client }: Machine, options: Partial<EtcdLogOptions> = {}): EtcdLogOptions {
    return {
      ...{ client, runtime, logger: this.logger, prefix: PREFIX, cluster: 'c', leaderLeaseMs: 2_000 },
      ...{ pollMs: 300, requestTimeoutMs: 500, retryMs: 20, chunkBytes: 4 },
      randomId: () => `history-${++this.#ids}`,
      onFatal: (error) => void this.fatal.push(error),
      ...options,
    };
  }

  /** A log without a floor, so that positions in tests are small; a new log takes the floor from the clock. */
  open(machine: Machine, options: Partial<EtcdLogOptions> = {}): OpenEtcdLog {
    if (this.get('meta') === undefined) {
      const history = this.options(machine).randomId();
      this.put('meta', JSON.stringify({ format: 1, cluster: 'c', history, termBase: 0, floor: 0 }));
    }
    const { log, error } = this.tryToOpen(machine, options);
    if (log === undefined) throw error;
    return log;
  }

  tryToOpen(
    machine: Machine,
    options: Partial<EtcdLogOptions> = {},
  ): { readonly log: OpenEtcdLog | undefined; readonly error: LeaseholdError | undefined } {
    let outcome: ReturnType<QuietEtcd['tryToOpen']> | undefined;
    beginEtcdLog(resolveEtcdLogOptions(this.options(machine, options)), (log, error) => {
      outcome = { log, error };
    });
    this.until(() => outcome !== undefined);
    return outcome as NonNullable<typeof outcome>;
  }

  /** Raises the counters, as an operator would, in a history called `raised`. */
  raise(machine: Machine, seen: Counters): RaisedCounters {
    const { raised, error } = this.tryToRaise(machine, seen);
    if (raised === undefined) throw error;
    return raised;
  }

  tryToRaise(
    machine: Machine,
    seen: Counters,
  ): { readonly raised: RaisedCounters | undefined; readonly error: LeaseholdError | undefined } {
    let outcome: ReturnType<QuietEtcd['tryToRaise']> | undefined;
    beginRaising(this.raising(machine, seen), (raised, error) => (outcome = { raised, error }));
    this.until(() => outcome !== undefined);
    return outcome as NonNullable<typeof outcome>;
  }

  tryToRead(machine: Machine): {
    readonly found: EtcdCounters | undefined;
    readonly error: LeaseholdError | undefined;
  } {
    let outcome: ReturnType<QuietEtcd['tryToRead']> | undefined;
    beginReading(this.raising(machine), (found, error) => (outcome = { found, error }));
    this.until(() => outcome !== undefined);
    return outcome as NonNullable<typeof outcome>;
  }

  raising({ runtime, client }: Machine, seen: Counters = { term: 0, position: 0 }): RaiseEtcdCountersOptions {
    return {
      ...{ client, runtime, logger: this.logger, prefix: PREFIX, cluster: 'c' },
      ...{ ...seen, withinMs: 3_000, randomId: () => 'raised' },
    };
  }

  /** Writes as a stranger would. */
  put(key: string, value: string): void {
    this.etcd.transact(
      { compare: [], success: [{ do: 'put', key: PREFIX + key, value: bytes(value) }], failure: [] },
      'stranger',
    );
  }

  delete(key: string, end?: string): void {
    const operation = { do: 'delete', key: PREFIX + key, end: end && PREFIX + end } as const;
    this.etcd.transact({ compare: [], success: [operation], failure: [] }, 'stranger');
  }

  get(key: string): string | undefined {
    const found = this.etcd.store.at(PREFIX + key);
    return found && text(found.value);
  }

  /** `log/0000000000000001`, … all that there are. */
  keys(under = ''): readonly string[] {
    return this.etcd.store
      .keysIn(PREFIX + under, `${PREFIX}${under}~`)
      .map((key) => key.slice(PREFIX.length));
  }
}

/** One campaign and its events. */
export class Standing {
  readonly told: string[] = [];
  readonly outcomes: string[] = [];
  leadership: Leadership | undefined;
  /** In true milliseconds. */
  untilMs = 0;
  readonly campaign: Disposable;
  readonly #bench: QuietEtcd;

  constructor(bench: QuietEtcd, { process }: Machine, log: OpenEtcdLog, candidate: string) {
    this.#bench = bench;
    this.campaign = log.campaign(candidate, {
      elected: (leadership, until) => {
        this.leadership = leadership;
        this.untilMs = process.trueMsOf(until);
        this.told.push('elected');
      },
      extended: (until) => {
        this.untilMs = process.trueMsOf(until);
        this.told.push('extended');
      },
      deposed: (reason: DeposedReason) => this.told.push(`deposed ${reason}`),
    });
  }

  get leading(): Leadership {
    if (this.leadership === undefined) throw new Error('not elected');
    return this.leadership;
  }

  elected(): this {
    this.#bench.until(() => this.leadership !== undefined);
    return this;
  }

  submit(position: number, what: string): void {
    this.leading.append({ position, bytes: bytes(what) }, (outcome) =>
      this.outcomes.push(`${outcome} ${position}`),
    );
  }

  append(position: number, what: string): string | undefined {
    const before = this.outcomes.length;
    this.submit(position, what);
    this.#bench.until(() => this.outcomes.length > before);
    return this.outcomes.at(-1);
  }
}

export const bytes = (of: string): Uint8Array => new TextEncoder().encode(of);
export const text = (of: Uint8Array): string => new TextDecoder().decode(of);

/** `[2 snapshot] 3 c 4 d` */
export const contents = ({ snapshot, batches }: LogStart): string =>
  [
    ...(snapshot ? [`[${snapshot.position} ${text(snapshot.bytes)}]`] : []),
    ...batches.map((batch) => `${batch.position} ${text(batch.bytes)}`),
  ].join(' ');
