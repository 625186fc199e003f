/**
 * The log of a simulated pool: what Managers have in production, the log on etcd (`log/etcd/`), each with a client of
 * one simulated etcd. This file has what can befall that log, by the names of the Managers, and what a world wants to
 * know about it at an instant, which it reads from the keys (`log/etcd/layout.ts`).
 *
 * Leases of this etcd last for `leaderKeyMs` whatever a Manager asks for, so that a world may have leases that are
 * shorter than a second of etcd.
 */

import { decodeJson } from '../../etcd/values.ts';
import type { EtcdOperation, EtcdTransaction } from '../../etcd/client.ts';
import { type ClientFaults, noFaults, SimulatedEtcdClient } from '../../etcd/simulation/simulated-client.ts';
import { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import type { Change } from '../../etcd/simulation/simulated-store.ts';
import { OpenEtcdLog } from '../../log/etcd/etcd-log.ts';
import { decodeHead, decodeMeta, encodeMeta, Layout, type Meta } from '../../log/etcd/layout.ts';
import { resolveEtcdLogOptions } from '../../log/etcd/options.ts';
import { Requester } from '../../log/etcd/requester.ts';
import type { FencedLog, LogBatch } from '../../log/log.ts';
import { digest } from '../../runtime/digest.ts';
import { silent } from '../../runtime/logger.ts';
import type { Span } from '../../sim/network.ts';
import type { SimProcess, SimRuntime } from '../../sim/process.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';

const CLUSTER = 'simulated';
/** What happens at one member happens to one client in so many. */
const MEMBERS = 3;
const layout = new Layout('/pool/');

/** A request of a Manager to the log, as far as worlds wait for one. */
export type Asked =
  /** The leader has kept its lease alive, and reads whether the key is still its own. */
  | { readonly ask: 'confirm' }
  /** An elected candidate reads the batches that it will lead from. */
  | { readonly ask: 'read' }
  /** A standby asks how far the log goes. */
  | { readonly ask: 'head' }
  | { readonly ask: 'append'; readonly batch: LogBatch };

/** The faults of all ways to etcd, as drawn. */
export type LogLinks = Partial<Pick<ClientFaults, 'lossChance' | 'delayMs' | 'slowChance' | 'slowMs'>>;

export interface PoolLogOptions {
  readonly history: string;
  /** How long etcd keeps the key of a leader that it does not hear. */
  readonly leaderKeyMs: number;
  /** By how much more at the most, until etcd looks. @default 0 */
  readonly sweepMs?: number | undefined;
  readonly links?: LogLinks | undefined;
  /** The probability that etcd refuses an append. @default 0 */
  readonly refuseChance?: number | undefined;
}

export interface OpenOptions {
  readonly leaderLeaseMs: number;
  readonly retryMs: number;
  /** The log is not where this Manager left the log: the store was put back meanwhile. Nothing is told any more. */
  strayed?(): void;
}

interface Way {
  readonly faults: ClientFaults;
  process: SimProcess | undefined;
}

export class PoolLog {
  readonly #world: World;
  readonly #random: Random;
  readonly #etcd: SimulatedEtcd;
  readonly #links: LogLinks;
  readonly #ways = new Map<string, Way>();
  #term = 0;
  #isDown = false;
  #isHealed = false;
  /** Told of a Manager's request at the instant before etcd carries the request out. */
  onAsk: (manager: string, asked: Asked) => void = () => {};
  /** Told of every batch at the instant of the commit. */
  onCommit: (batch: LogBatch) => void = () => {};
  /** Told of every snapshot at the instant from which it replaces the batches up to this position. */
  onCompact: (upTo: number) => void = () => {};

  constructor(world: World, options: PoolLogOptions) {
    const { history, leaderKeyMs, sweepMs = 0, links = {}, refuseChance = 0 } = options;
    this.#world = world;
    this.#random = world.random.fork('pool log');
    this.#links = links;
    this.#etcd = new SimulatedEtcd(world, { leaseMs: Math.ceil(leaderKeyMs), lateMs: sweepMs });
    this.#etcd.onTransact = (transaction, who) => this.#asked(transaction, who);
    this.#etcd.onRange = ({ key }, who) => {
      const isElected = this.leader?.startsWith(`${who}.`) === true;
      if (isElected && layout.positionOf(key) !== undefined) this.#tell(who, { ask: 'read' });
    };
    this.#etcd.onChange = (changes) => {
      for (const change of changes) this.#changed(change);
    };
    this.#begin({ history, termBase: 0, floor: 0 });
    this.#etcd.refuseChance = refuseChance;
  }

  /** The log of one incarnation of a Manager. */
  open(process: SimProcess, runtime: SimRuntime, options: OpenOptions): FencedLog {
    const { leaderLeaseMs, retryMs, strayed } = options;
    const way = this.#wayOf(process.name);
    way.process = process;
    const resolved = resolveEtcdLogOptions({
      client: new SimulatedEtcdClient(this.#etcd, process, runtime, way.faults),
      ...{ prefix: layout.prefix, cluster: CLUSTER, runtime, logger: silent, leaderLeaseMs },
      ...{ requestTimeoutMs: leaderLeaseMs / 2, retryMs: Math.min(retryMs, leaderLeaseMs / 4) / 2 },
      pollMs: leaderLeaseMs,
      randomId: () => `${process.name} ${runtime.random()}`,
      onFatal: () => strayed?.(),
    });
    return new OpenEtcdLog(resolved, new Requester(resolved), layout);
  }

  get head(): number {
    return decodeHead(this.#etcd.store.at(layout.head));
  }

  get history(): string {
    return this.#meta.history;
  }

  /** The candidate that was elected, while its key is there. */
  get leader(): string | undefined {
    const found = this.#etcd.store.at(layout.leader);
    return found === undefined ? undefined : String(decodeJson(found.value)['candidate']);
  }

  /** The last that was given. */
  get term(): number {
    return this.#term;
  }

  /** Whether a Manager has noted that the log went back in time. */
  get isHalted(): boolean {
    return this.#etcd.store.at(layout.halted) !== undefined;
  }

  /** The leader's lease is ended early. */
  dropLeader(): void {
    this.#etcd.endLeaseOf(layout.leader);
  }

  /** While true there is no majority: etcd carries nothing out, and no lease ends. Afterwards leases begin anew. */
  get down(): boolean {
    return this.#isDown;
  }

  set down(down: boolean) {
    this.#isDown = down;
    this.#etcd.isDown = down;
  }

  /** etcd's own leader is killed: for so long there is no majority, and watches at that member end. */
  changeLeader(ms: number): void {
    this.#etcd.breakWatches(1 / MEMBERS, 'end');
    this.#etcd.isDown = true;
    this.#world.after(ms, () => (this.#etcd.isDown = this.#isDown));
  }

  /** For so long a member is stopped: requests arrive late where it was asked, and its watches are deaf. */
  stopMember(ms: number): void {
    this.#etcd.breakWatches(1 / MEMBERS, 'deafen');
    for (const { faults } of this.#ways.values()) {
      if (!this.#random.chance(1 / MEMBERS)) continue;
      Object.assign(faults, { slowChance: 1, slowMs: ms });
      this.#world.after(ms, () => {
        const { slowChance, slowMs } = this.#usual();
        Object.assign(faults, { slowChance, slowMs });
      });
    }
  }

  /** For so long a Manager reaches only a member that was replaced and does not know: it calls the lease alive. */
  strand(name: string, ms: number): void {
    const { faults, process } = this.#wayOf(name);
    this.#etcd.goStale(`${name}.${process?.incarnation}`);
    faults.hasNoLeader = true;
    this.#world.after(ms, () => {
      faults.hasNoLeader = false;
      this.#etcd.endStaleness();
    });
  }

  /** For so long what is written is written, and the writer does not hear so. */
  withholdOutcomes(ms: number): void {
    this.#etcd.withholdsOutcomes = true;
    this.#world.after(ms, () => (this.#etcd.withholdsOutcomes = false));
  }

  /** For so long a Manager hears of no change, and can read no batch. */
  deafen(name: string, ms: number): void {
    const { faults } = this.#wayOf(name);
    faults.isDeaf = true;
    this.#world.after(ms, () => (faults.isDeaf = false));
  }

  /** Nothing passes between a Manager and etcd, or no answer does. */
  cut(name: string, way: 'both' | 'answers' = 'both'): void {
    const { faults } = this.#wayOf(name);
    if (way === 'both') Object.assign(faults, { isCut: true, isDeaf: true });
    else faults.losesAnswers = true;
  }

  restore(name: string): void {
    Object.assign(this.#wayOf(name).faults, { isCut: false, isDeaf: false, losesAnswers: false });
  }

  /** The answers to this Manager take so much longer. */
  delayAnswers(name: string, answerMs: Span): void {
    this.#wayOf(name).faults.answerMs = answerMs;
  }

  /** All troubles are over, also what was drawn for the links. */
  heal(): void {
    const etcd = this.#etcd;
    this.down = false;
    etcd.refuseChance = 0;
    etcd.withholdsOutcomes = false;
    etcd.endStaleness();
    for (const { faults } of this.#ways.values()) Object.assign(faults, noFaults(), { delayMs: [1, 5] });
    this.#isHealed = true;
  }

  /** Everything stored, to go back to later; with the leader's key, under a lease that begins anew, or without. */
  backup(): (keepsLeader?: boolean) => void {
    const restore = this.#etcd.backup();
    const term = this.#term;
    return (keepsLeader = false) => {
      restore(true);
      this.#term = term;
      if (!keepsLeader) this.dropLeader();
    };
  }

  /** Becomes a copy of another log as that is now, without a leader. */
  copy(original: PoolLog): void {
    original.#etcd.store.backup()(this.#etcd.store);
    this.#etcd.store.write([{ do: 'delete', key: layout.leader }]);
    this.#term = original.#term;
  }

  /**
   * The operator's step after a backup was put back (`log/etcd/counters.ts`): terms and positions start above all that
   * anybody has seen, in a new history, so that look-ups take everything for lost.
   */
  jump(term: number, floor: number): void {
    const { history, termBase, floor: before } = this.#meta;
    const highest = termBase + this.#etcd.store.revision;
    this.#begin({
      history: `${history}'`,
      termBase: Math.max(highest, term),
      floor: Math.max(before, floor),
    });
  }

  get #meta(): Meta {
    const found = this.#etcd.store.at(layout.meta);
    if (found === undefined) throw new Error('there is no log');
    return decodeMeta(found, CLUSTER);
  }

  #begin(meta: Pick<Meta, 'history' | 'termBase' | 'floor'>): void {
    const value = encodeMeta({ cluster: CLUSTER, key: digest(`the key of ${meta.history}`), ...meta });
    const success = [
      { do: 'put', key: layout.meta, value },
      { do: 'delete', key: layout.halted },
    ] as const;
    const { refuseChance } = this.#etcd;
    this.#etcd.refuseChance = 0;
    this.#etcd.transact({ compare: [], success, failure: [] }, 'operator');
    this.#etcd.refuseChance = refuseChance;
  }

  #usual(): ClientFaults {
    return { ...noFaults(), delayMs: [1, 5], ...(this.#isHealed ? {} : this.#links) };
  }

  #wayOf(name: string): Way {
    let way = this.#ways.get(name);
    if (way === undefined) this.#ways.set(name, (way = { faults: this.#usual(), process: undefined }));
    return way;
  }

  #asked({ success }: EtcdTransaction, who: string): void {
    const asked = whatIsAsked(success);
    if (asked !== undefined) this.#tell(who, asked);
  }

  #tell(who: string, asked: Asked): void {
    this.onAsk(who.slice(0, who.lastIndexOf('.')), asked);
  }

  #changed({ key, value, createRevision }: Change): void {
    if (value === undefined) return;
    const position = layout.positionOf(key);
    if (position !== undefined) this.onCommit({ position, bytes: value });
    else if (key === layout.leader) this.#term = this.#meta.termBase + createRevision;
    else if (key === layout.snapshot) this.onCompact(Number(decodeJson(value)['position']));
  }
}

function whatIsAsked(operations: readonly EtcdOperation[]): Asked | undefined {
  for (const operation of operations) {
    const position = operation.do === 'put' ? layout.positionOf(operation.key) : undefined;
    if (operation.do === 'put' && position !== undefined)
      return { ask: 'append', batch: { position, bytes: operation.value } };
  }
  const [first, , third] = operations.map(({ key }) => key);
  if (operations.length !== 3) return undefined;
  if (first === layout.leader && third === layout.halted) return { ask: 'confirm' };
  return first === layout.meta && third === layout.snapshot ? { ask: 'head' } : undefined;
}
