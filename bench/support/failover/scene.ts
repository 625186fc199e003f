/**
 * Three Managers on three members of etcd, a hundred owners and two hundred look-ups with clients behind them, and
 * what can be done to the Manager that leads.
 *
 * Between two faults the scene waits only until all is as before: whoever was killed is back, one leads, and it has
 * heard every owner. What must hold is looked for all the time (`owners-process.ts`, `lookups-process.ts`,
 * `register.ts`) and collected after every fault.
 */

import { EtcdCluster } from '../../../leasehold/src/etcd/testing/etcd-cluster.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program } from '../processes/program.ts';
import { freePort, type Workshop } from '../processes/workshop.ts';
import { Grounds } from './grounds.ts';
import type { LookupsConfig, LookupsTally } from './lookups-process.ts';
import type { ManagerConfig, ManagerView } from './manager-process.ts';
import type { Holdings, OwnersConfig, OwnersTally } from './owners-process.ts';
import { Register } from './register.ts';

export const MANAGERS = 3;
export const OWNERS = 100;
export const LOOKUPS = 200;
const KEYS: readonly string[] = Array.from({ length: 300 }, (_, index) => `key-${index}`);
export const POOL = 'failover';
const MORTAL = 'mortal';
const PATIENCE_MS = 90_000;

export interface Fault {
  /** From the fault until somebody who was not the leader answers an owner as the leader; undefined: nobody did. */
  readonly newLeaderMs: number | undefined;
  /** The longest time in which no owner was answered by anybody. */
  readonly silenceMs: number;
}

/** All that must not be, of the whole run. */
export class Findings {
  requests = 0;
  looks = 0;
  leastLeftMs: number = Number.POSITIVE_INFINITY;
  readonly leases: string[] = [];
  readonly refused: string[] = [];
  readonly stale: string[] = [];
  readonly falseLosses: string[] = [];
  readonly unreported: string[] = [];
  readonly warnings: string[] = [];

  /** How much there is of each kind of harm, and of each the last; empty if nobody was harmed. */
  get harm(): readonly string[] {
    const { leases, refused, stale, falseLosses, unreported } = this;
    const kinds = { leases, refused, stale, 'false losses': falseLosses, 'unreported losses': unreported };
    return Object.entries(kinds).flatMap(([kind, found]) =>
      found.length === 0 ? [] : [`${found.length} ${kind}, the last: ${String(found.at(-1))}`],
    );
  }
}

interface Manager {
  readonly config: ManagerConfig;
  readonly under: readonly string[];
  readonly index: number;
  program: Program;
}

export class FailoverScene implements AsyncDisposable {
  readonly findings: Findings = new Findings();
  readonly cluster: EtcdCluster;
  readonly grounds: Grounds;
  readonly #workshop: Workshop;
  readonly #register: Register;
  readonly #bundles: Readonly<Record<'manager' | 'owners' | 'lookups', string>>;
  readonly #managers: Manager[] = [];
  readonly #owners: Program[] = [];
  readonly #lookups: Program[] = [];
  #mortal: Program | undefined;
  #alive: number = OWNERS;

  private constructor(
    workshop: Workshop,
    grounds: Grounds,
    cluster: EtcdCluster,
    register: Register,
    bundles: Readonly<Record<'manager' | 'owners' | 'lookups', string>>,
  ) {
    this.#workshop = workshop;
    this.grounds = grounds;
    this.cluster = cluster;
    this.#register = register;
    this.#bundles = bundles;
  }

  static async open(workshop: Workshop, report: (line: string) => void): Promise<FailoverScene> {
    const bundles = {
      manager: await workshop.bundle('failover/manager-process'),
      owners: await workshop.bundle('failover/owners-process'),
      lookups: await workshop.bundle('failover/lookups-process'),
    };
    const grounds = await Grounds.open(MANAGERS);
    const cluster = await EtcdCluster.start(grounds.etcd);
    const register = await Register.open(`${workshop.directory}/register`);
    const scene = new FailoverScene(workshop, grounds, cluster, register, bundles);
    try {
      await scene.#populate(report);
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
    return scene;
  }

  get managers(): readonly string[] {
    return this.#managers.map(({ config: { listen = '' } }) => listen);
  }

  get registerPath(): string {
    return this.#register.path;
  }

  /** How often etcd was written so far, by its own count. */
  async revision(): Promise<number> {
    const [member] = this.cluster.members;
    if (member === undefined) throw new Error('etcd has no member');
    const { text } = await this.cluster.ask(member, '/v3/kv/range', { key: 'AA==' });
    return Number((JSON.parse(text) as { header: { revision: string } }).header.revision);
  }

  get writes(): number {
    return this.#register.writes;
  }

  async #populate(report: (line: string) => void): Promise<void> {
    const hosts = this.cluster.endpoints.map((endpoint) => new URL(endpoint).host);
    const store = `etcd://${hosts.join(',')}/failover`;
    for (let index = 0; index < MANAGERS; index += 1) {
      const { host, under } = this.grounds.manager(index);
      const config = {
        store,
        listen: `${host}:${await freePort()}`,
        name: `manager-${index}`,
        insecure: true,
      };
      const program = this.#start(config, under);
      this.#managers.push({ config, under, index, program });
    }
    await Promise.all(this.#managers.map(({ program }) => program.heard('ready')));
    report(`${MANAGERS} Managers run; ${OWNERS} owners join`);
    const names = Array.from({ length: OWNERS - 1 }, (_, index) => `owner-${index}`);
    const half = Math.ceil(names.length / 2);
    this.#owners.push(this.#startOwners(names.slice(0, half)), this.#startOwners(names.slice(half)));
    this.#mortal = this.#startOwners([MORTAL]);
    await Promise.all([...this.#owners, this.#mortal].map((program) => program.heard('ready')));
    report(`${LOOKUPS} look-ups open`);
    const config: LookupsConfig = { managers: this.managers, pool: POOL, lookups: LOOKUPS / 2, keys: KEYS };
    for (const name of ['look-ups, first half', 'look-ups, second half']) {
      this.#lookups.push(this.#workshop.start(name, this.#bundles.lookups, config));
    }
    await Promise.all(this.#lookups.map((program) => program.heard('ready')));
    await this.settled();
  }

  /** Resolves when each key has one owner, every look-up knows it, and the leader has heard everybody. */
  async settled(): Promise<void> {
    await this.#until('everybody agrees on who has what', async () => {
      const holdings = await this.#holdings();
      if (KEYS.some((key) => holdings[key] === undefined)) return undefined;
      if (!Object.values(holdings).some(({ name }) => name === MORTAL)) return undefined;
      const owners = Object.fromEntries(Object.entries(holdings).map(([key, { name }]) => [key, name]));
      const answers = this.#lookups.map((program) => program.ask<{ astray: number }>('astray', { owners }));
      return (await Promise.all(answers)).every(({ astray }) => astray === 0) || undefined;
    });
    await this.everybodyHeard();
  }

  /** Clients ask from here on, and every lease is watched. Those of the mortal one too, unless it is about to die. */
  async watch(isMortalToDie = false): Promise<readonly string[]> {
    await this.#drop();
    const holdings = await this.#holdings();
    const mortals = KEYS.filter((key) => holdings[key]?.name === MORTAL);
    const free = isMortalToDie ? mortals : [];
    const watching = [...this.#owners, ...(isMortalToDie ? [] : [this.#mortal as Program])];
    await Promise.all(watching.map((program) => program.ask('watch', { free })));
    const asked = KEYS.filter((key) => !free.includes(key));
    await Promise.all(this.#lookups.map((program) => program.ask('expect', { keys: free })));
    await Promise.all(this.#lookups.map((program) => program.ask('ask', { keys: asked })));
    return mortals;
  }

  async rest(): Promise<void> {
    await Promise.all(this.#lookups.map((program) => program.ask('ask', { keys: [] })));
    await this.#collect();
    const watching = [...this.#owners, this.#mortal as Program];
    await Promise.all(watching.map((program) => program.ask('rest')));
  }

  /** The leader is killed, and started again at once. */
  async killLeader(watching?: readonly Program[]): Promise<Fault> {
    const leader = await this.#leader();
    const { newLeader, atMs } = this.#awaited();
    leader.program.kill();
    await leader.program.ended;
    leader.program = this.#start(leader.config, leader.under);
    const answeredMs = await newLeader(leader.program);
    await leader.program.heard('ready');
    return await this.#over(answeredMs - atMs, undefined, watching);
  }

  /** The leader stands still until another leads, and goes on as if nothing had happened. */
  async stopLeader(): Promise<Fault> {
    const leader = await this.#leader();
    const { newLeader, atMs } = this.#awaited();
    leader.program.signal('SIGSTOP');
    const answeredMs = await newLeader();
    leader.program.signal('SIGCONT');
    return await this.#over(answeredMs - atMs, leader);
  }

  /** The leader cannot reach etcd; owners and look-ups can reach it. */
  async cutLeader(): Promise<Fault> {
    const leader = await this.#leader();
    const { newLeader, atMs } = this.#awaited();
    await this.grounds.cut(leader.index);
    const answeredMs = await newLeader();
    await this.grounds.heal(leader.index);
    return await this.#over(answeredMs - atMs, leader);
  }

  /** The member of etcd that leads is killed, and started again at once. The Manager that leads may go on. */
  async killEtcdLeader(): Promise<Fault> {
    const before = await this.#leader();
    const said = this.#managers.map(({ program }) => program.said.length);
    const member = await this.cluster.whenLed();
    const atMs = nowMs();
    await member.kill();
    await member.start();
    await this.cluster.whenWell();
    await this.everybodyHeard();
    const answers = this.#managers.flatMap(({ program }, index) =>
      program.said.slice(said[index]).filter(({ event }) => event === 'answering'),
    );
    const isAnother = (await this.#leader()) !== before || answers.length > 0;
    return await this.#over(isAnother ? Math.max(...answers.map((each) => each.atMs)) - atMs : undefined);
  }

  /** The leader and an owner are killed at the same time: every look-up is to be told of that owner's keys. */
  async killLeaderAndOwner(): Promise<number> {
    const mortals = await this.watch(true);
    const atMs = nowMs();
    this.#mortal?.kill();
    this.#alive = OWNERS - 1;
    await this.killLeader(this.#owners);
    const told = await Promise.all(this.#lookups.map((program) => program.ask<{ isTold: boolean }>('told')));
    const toldMs = nowMs() - atMs;
    if (mortals.length === 0 || told.some(({ isTold }) => !isTold)) {
      this.findings.unreported.push(`${mortals.length} keys of an owner that was killed with the leader`);
    }
    await this.#until('the keys of the dead are served', async () => {
      const holdings = await this.#holdings(this.#owners);
      return KEYS.every((key) => holdings[key] !== undefined) || undefined;
    });
    await Promise.all(this.#lookups.map((program) => program.ask('ask', { keys: [] })));
    await this.#collect(this.#owners);
    await Promise.all(this.#owners.map((program) => program.ask('rest')));
    this.#mortal = this.#startOwners([MORTAL]);
    await this.#mortal.heard('ready');
    this.#alive = OWNERS;
    // What moves to it now is handed over; whatever is told of that counts for nothing.
    await this.settled();
    return toldMs;
  }

  /** What Managers have said since, for whoever wonders what went wrong. */
  words(sinceMs: number): readonly string[] {
    return this.#managers.flatMap(({ program, config }) =>
      program.said
        .filter(({ atMs }) => atMs >= sinceMs)
        .map(
          ({ event, atMs, ...facts }) =>
            `${config.name} +${(atMs - sinceMs).toFixed(0)} ${event} ${JSON.stringify(facts)}`,
        ),
    );
  }

  /** Resolves when one Manager leads, and has heard everybody since it does. */
  async everybodyHeard(): Promise<void> {
    await this.#until('the leader has heard everybody', async () => {
      const views = await this.#views();
      const [leader, ...others] = views.filter(({ role }) => role === 'leading');
      const isAlone = leader !== undefined && others.length === 0;
      return isAlone && leader.heard >= this.#alive ? true : undefined;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const managers = this.#managers.map(({ program }) => program);
    const programs = [
      ...managers,
      ...this.#owners,
      ...this.#lookups,
      ...(this.#mortal ? [this.#mortal] : []),
    ];
    for (const program of programs) program.kill();
    await Promise.all(programs.map(({ ended }) => ended));
    await this.cluster[Symbol.asyncDispose]();
    await this.#register[Symbol.asyncDispose]();
    await this.grounds[Symbol.asyncDispose]();
  }

  #start(config: ManagerConfig, under: readonly string[]): Program {
    return this.#workshop.start(config.name ?? 'a Manager', this.#bundles.manager, config, under);
  }

  #startOwners(names: readonly string[]): Program {
    const { path: register } = this.#register;
    const config: OwnersConfig = { managers: this.managers, pool: POOL, names, keys: KEYS, register };
    return this.#workshop.start(`${names.length} owners`, this.#bundles.owners, config);
  }

  async #leader(): Promise<Manager> {
    const views = await this.#views();
    const leader = this.#managers[views.findIndex(({ role }) => role === 'leading')];
    if (leader === undefined) throw new Error('no Manager leads');
    return leader;
  }

  async #views(): Promise<readonly ManagerView[]> {
    return await Promise.all(this.#managers.map(({ program }) => program.ask<ManagerView>('view')));
  }

  /** What is said from here on; call it just before the fault. */
  #awaited(): { readonly atMs: number; newLeader(successor?: Program): Promise<number> } {
    const before = this.#managers.map(({ program }) => ({ program, after: program.said.length }));
    const newLeader = async (successor?: Program): Promise<number> => {
      const running = before.filter(({ program }) => !program.isOver);
      const watched = [...running, ...(successor === undefined ? [] : [{ program: successor, after: 0 }])];
      return await this.#until('a new leader answers', () => {
        const said = watched.flatMap(({ program, after }) => program.said.slice(after));
        return said.find(({ event }) => event === 'answering')?.atMs;
      });
    };
    return { atMs: nowMs(), newLeader };
  }

  async #over(
    newLeaderMs: number | undefined,
    deposed?: Manager,
    watching?: readonly Program[],
  ): Promise<Fault> {
    if (deposed !== undefined) await this.#knows(deposed);
    await this.everybodyHeard();
    return { newLeaderMs, silenceMs: await this.#collect(watching) };
  }

  /** Resolves when one that led, and was out of touch, knows that it does not any more. */
  async #knows({ program }: Manager): Promise<void> {
    await this.#until('the old leader knows', async () => {
      const { role } = await program.ask<ManagerView>('view');
      return role === 'leading' ? undefined : true;
    });
  }

  async #holdings(programs?: readonly Program[]): Promise<Holdings> {
    const asked = programs ?? [...this.#owners, this.#mortal as Program];
    const all = await Promise.all(asked.map((program) => program.ask<{ holdings: Holdings }>('holdings')));
    return Object.assign({}, ...all.map(({ holdings }) => holdings)) as Holdings;
  }

  /** Takes down what was seen since the last time; says how long nobody was answered. */
  async #collect(programs?: readonly Program[]): Promise<number> {
    const { findings } = this;
    const asked = programs ?? [...this.#owners, this.#mortal as Program];
    const owners = await Promise.all(asked.map((program) => program.ask<OwnersTally>('tally')));
    const lookups = await Promise.all(this.#lookups.map((program) => program.ask<LookupsTally>('tally')));
    for (const { faults, warnings, looks, leastLeftMs } of owners) {
      findings.leases.push(...faults);
      findings.warnings.push(...warnings);
      findings.looks += looks;
      findings.leastLeftMs = Math.min(findings.leastLeftMs, leastLeftMs ?? Number.POSITIVE_INFINITY);
    }
    for (const { requests, refused, falseLosses, warnings } of lookups) {
      findings.requests += requests;
      findings.refused.push(...refused);
      findings.falseLosses.push(...falseLosses);
      findings.warnings.push(...warnings);
    }
    findings.stale.push(...this.#register.faults.splice(0));
    // Half of the owners hear half of the answers: what is silence to all is no longer than to either.
    return Math.min(...owners.slice(0, 2).map(({ silenceMs }) => silenceMs));
  }

  /** Forgets what was seen while keys were on the move, and what they were compared with. */
  async #drop(): Promise<void> {
    const owners = [...this.#owners, this.#mortal as Program];
    await Promise.all(owners.map((program) => program.ask('rest')));
    await Promise.all([...owners, ...this.#lookups].map((program) => program.ask('tally')));
  }

  async #until<T>(what: string, ask: () => T | undefined | Promise<T | undefined>): Promise<T> {
    const deadline = nowMs() + PATIENCE_MS;
    for (;;) {
      const answer = await ask();
      if (answer !== undefined) return answer;
      if (nowMs() > deadline) {
        const words = this.#managers.map(({ program }) =>
          program.said.slice(-4).map((each) => JSON.stringify(each)),
        );
        throw new Error(`not within ${PATIENCE_MS / 1_000} s: ${what}\n${words.flat().join('\n')}`);
      }
      await pause(10);
    }
  }
}
