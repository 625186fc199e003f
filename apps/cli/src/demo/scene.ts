/**
 * The demo itself: starts the processes, keeps them going, and knows their state.
 *
 *     Manager ◄──── look-ups ────── front ends ◄──── load
 *        ▲                              │
 *        └── leases, certificates ── owners, each under `leasehold run`
 *
 * Several Managers (`--managers 3`) keep their log among themselves; the demo asks the one that leads.
 *
 * A Manager of several, an owner or a front end that dies is started again after some seconds, under the same name: long
 * enough to see that the others have taken over. An owner that comes back gets its part of the keys when nobody has come or gone for some
 * seconds, with what the others kept for them.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { LeaseholdError } from 'leasehold/manager';
import type { Gap, LoggedEvent, OwnersAnswer, PoolAnswer, StatusAnswer } from '../answers.ts';
import { ManagerApi, poolPath } from '../api.ts';
import { followEvents, pause } from '../event-stream.ts';
import { selfCommand } from '../self.ts';
import { DemoChild } from './child.ts';
import { DemoError } from './demo-error.ts';
import {
  type FrontEndCounts,
  type LoadCounts,
  type OwnerCounts,
  POOL,
  type Ready,
  type Report,
} from './messages.ts';
import { nameOfFrontEnd, nameOfManager, nameOfOwner } from './names.ts';
import { Rate } from './rate.ts';

export interface SceneOptions {
  readonly ownerCount: number;
  readonly frontEndCount: number;
  readonly userCount: number;
  readonly port: number;
  readonly httpPort: number;
  readonly directory: string;
  /** One for the replica of each Manager; none for one Manager with a log of its own. */
  readonly replicaPorts: readonly number[];
  readonly calledAs: string;
  /** Something happened that is worth a line. */
  onNews(news: News): void;
}

export type News = { readonly atMs: number } & (
  | { readonly kind: 'event'; readonly event: LoggedEvent | Gap; readonly isSettingUp: boolean }
  | { readonly kind: 'note'; readonly text: string }
);

export interface Player<Counts> {
  readonly name: string;
  child: DemoChild | undefined;
  ready: Ready | undefined;
  /** The signal that killed the process, if the supervisor has said so. */
  killedBy: string | undefined;
  counts: Counts | undefined;
  /** The counts of earlier incarnations. */
  readonly earlier: Counts[];
  readonly rate: Rate;
}

interface ManagerPlace {
  readonly address: string;
  readonly http: string;
  readonly pid: number;
}

const RESTART_AFTER_MS = 5_000;
const QUIET_AFTER_MS = 10_000;
const START_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 1_000;
const SETTLING_ASK_EVERY_MS = 100;

export class Scene implements AsyncDisposable {
  readonly options: SceneOptions;
  readonly owners: readonly Player<OwnerCounts>[];
  readonly frontEnds: readonly Player<FrontEndCounts>[];
  readonly load: Player<LoadCounts> = player('load');
  readonly startedAt: number = performance.now();
  /** The Manager's answer about owners, ours and others. */
  shares: OwnersAnswer['owners'] = [];
  /** Of the Manager that is asked: the one that leads, if there are several. */
  place: ManagerPlace | undefined;
  /** Several Managers; empty if there is one. */
  readonly managers: readonly Player<never>[];
  readonly #places = new Map<string, ManagerPlace>();
  /** The position of the Manager's log at which every owner had a share; undefined until then. */
  #sharedOutAt: number | undefined;
  #manager: DemoChild | undefined;
  readonly #over = new AbortController();
  readonly #failure = new AbortController();
  readonly #complaints: string[] = [];
  #onReport: (() => void)[] = [];

  constructor(options: SceneOptions) {
    this.options = options;
    const { ownerCount, frontEndCount, replicaPorts } = options;
    this.managers = replicaPorts.map((_, index) => player(nameOfManager(index)));
    this.owners = Array.from({ length: ownerCount }, (_, index) => player(nameOfOwner(index)));
    this.frontEnds = Array.from({ length: frontEndCount }, (_, index) => player(nameOfFrontEnd(index)));
  }

  /** Aborts with a {@link DemoError} if the demo cannot go on. */
  get failure(): AbortSignal {
    return this.#failure.signal;
  }

  /** Resolves when everything runs. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.managers.length === 0) this.#manager = this.#startManager();
    for (const manager of this.managers) this.#startMember(manager);
    const isUp = (): boolean => this.#places.size >= this.managers.length;
    const place = await this.#until('the Managers', () => (isUp() ? this.place : undefined), signal);
    const api = new ManagerApi(place.http, this.options.calledAs);
    if (this.managers.length === 0) void this.#follow(api, this.#over.signal);
    else void this.#followAll();
    void this.#askShares();
    for (const owner of this.owners) this.#startOwner(owner);
    for (const frontEnd of this.frontEnds) this.#startFrontEnd(frontEnd);
    await this.#until('the owners', () => this.owners.every(isReady) || undefined, signal);
    await this.#until('the front ends', () => this.frontEnds.every(isReady) || undefined, signal);
    await this.#untilSharedOut(signal);
    this.#startLoad();
    await this.#until('the load', () => this.load.counts, signal);
  }

  /** The clients first, the Manager last. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.load.child?.stop();
    await Promise.all(this.frontEnds.map(({ child }) => child?.stop()));
    await Promise.all(this.owners.map(({ child }) => child?.stop()));
    await this.#manager?.stop();
    await Promise.all(this.managers.map(({ child }) => child?.stop()));
  }

  /** Without a word: for the last moment of this process. */
  kill(): void {
    for (const { child } of [...this.owners, ...this.frontEnds, this.load, ...this.managers]) child?.kill();
    this.#manager?.kill();
  }

  #startManager(): DemoChild {
    const { port, httpPort, directory } = this.options;
    const listen = ['--listen', `127.0.0.1:${port}`, '--http', String(httpPort)];
    return new DemoChild({
      name: 'manager',
      ...selfCommand([
        'manager',
        'start',
        '--data',
        directory,
        ...listen,
        ...this.#configured(),
        '--first-start',
        '--json',
        '--until-input-ends',
      ]),
      onLine: (line) => {
        this.place = JSON.parse(line) as ManagerPlace;
        this.#reported();
      },
      onComplaint: (line) => this.#complaint('the Manager', line),
      onGone: (how) => this.#fail(`the Manager ended (${how})`),
    });
  }

  /** Keys are evened out sooner than by default, while somebody looks. */
  #configured(): readonly string[] {
    const file = join(this.options.directory, 'pools.json');
    writeFileSync(file, JSON.stringify({ defaults: { quietAfterMs: QUIET_AFTER_MS } }));
    return ['--config', file];
  }

  /** One of several, with a replica in its process. */
  #startMember(manager: Player<never>): void {
    const { port, httpPort, directory, replicaPorts } = this.options;
    const peers = this.managers.map(({ name }, index) => `${name}=127.0.0.1:${replicaPorts[index]}`);
    const known = this.#places.get(manager.name);
    const isFirst = manager === this.managers[0];
    const listen = known
      ? ['--listen', known.address, '--http', portOf(known.http)]
      : ['--listen', `127.0.0.1:${isFirst ? port : 0}`, '--http', isFirst ? String(httpPort) : '0'];
    manager.child = new DemoChild({
      name: manager.name,
      ...selfCommand([
        ...['manager', 'start', '--store', 'quorum', '--name', manager.name, '--peers', peers.join(',')],
        ...['--data', join(directory, manager.name), ...listen, ...this.#configured()],
        ...['--first-start', '--json', '--until-input-ends'],
      ]),
      onLine: (line) => {
        const place = JSON.parse(line) as ManagerPlace;
        this.#places.set(manager.name, place);
        this.place ??= place;
        manager.ready = { kind: 'ready', pid: place.pid, url: place.http };
        this.#reported();
      },
      onComplaint: (line) => this.#complaint(manager.name, line),
      onGone: (how) => void this.#gone(manager, how, () => this.#startMember(manager)),
    });
  }

  /** Of one of several Managers, the same after a restart. */
  placeOf(manager: string): Pick<ManagerPlace, 'address' | 'http'> | undefined {
    return this.#places.get(manager);
  }

  /** All Managers, for owners and look-ups. */
  get #addresses(): string {
    const places = this.#places.size === 0 ? [this.place as ManagerPlace] : [...this.#places.values()];
    return places.map(({ address }) => address).join(',');
  }

  /** Finds the Manager that leads, and follows its events until another does. */
  async #followAll(): Promise<void> {
    const { signal } = this.#over;
    let followed: { readonly place: ManagerPlace; readonly end: AbortController } | undefined;
    while (!signal.aborted) {
      const place = await this.#leading();
      if (place !== undefined && place !== followed?.place) {
        if (followed !== undefined) this.#note(`${this.#managerAt(place)} leads now`);
        followed?.end.abort();
        followed = { place, end: new AbortController() };
        this.place = place;
        void this.#follow(this.#api, AbortSignal.any([signal, followed.end.signal]));
      }
      await pause(ASK_EVERY_MS, signal);
    }
  }

  #managerAt(place: ManagerPlace): string {
    return [...this.#places].find(([, each]) => each === place)?.[0] ?? place.address;
  }

  async #leading(): Promise<ManagerPlace | undefined> {
    for (const place of this.#places.values()) {
      try {
        const api = new ManagerApi(place.http, this.options.calledAs);
        const { role } = await api.get<StatusAnswer>('/v1/status');
        if (role === 'leading') return place;
      } catch (error) {
        if (!(error instanceof LeaseholdError)) throw error; // It has ended, or is busy.
      }
    }
    return undefined;
  }

  #startOwner(owner: Player<OwnerCounts>): void {
    const address = this.#addresses;
    const { command, args } = selfCommand([
      'demo-owner',
      '--name',
      owner.name,
      '--managers',
      address,
      '--until-input-ends',
    ]);
    const run = ['run', '--managers', address, '--certify-for', '3s', '--', command, ...args];
    owner.child = this.#startPlayer(owner, selfCommand(run), () => this.#startOwner(owner));
  }

  get #api(): ManagerApi {
    return new ManagerApi(this.place?.http ?? '', this.options.calledAs);
  }

  #startFrontEnd(frontEnd: Player<FrontEndCounts>): void {
    const address = this.#addresses;
    const program = selfCommand([
      'demo-front-end',
      '--name',
      frontEnd.name,
      '--managers',
      address,
      '--until-input-ends',
    ]);
    frontEnd.child = this.#startPlayer(frontEnd, program, () => this.#startFrontEnd(frontEnd));
  }

  #startLoad(): void {
    const { userCount } = this.options;
    const program = selfCommand([
      ...['demo-load', '--users', String(userCount), '--until-input-ends'],
      ...['--front-ends', this.#frontEndUrls().join(',')],
    ]);
    this.load.child = this.#startPlayer(this.load, program, () => this.#startLoad());
  }

  #startPlayer<Counts>(
    player: Player<Counts>,
    program: { readonly command: string; readonly args: readonly string[] },
    again: () => void,
  ): DemoChild {
    return new DemoChild({
      ...{ name: player.name, ...program },
      onLine: (line) => this.#report(player, JSON.parse(line) as Report),
      onComplaint: (line) => {
        player.killedBy = parsed(line).signal ?? player.killedBy;
        this.#complaint(player.name, line);
      },
      onGone: (how) => void this.#gone(player, how, again),
    });
  }

  #report<Counts>(player: Player<Counts>, report: Report): void {
    if (report.kind === 'ready') {
      player.ready = report;
      if (player.earlier.length > 0) this.#note(`${player.name} is up again, as process ${report.pid}`);
      if (this.load.child !== undefined && this.frontEnds.every(isReady)) {
        this.load.child.say(JSON.stringify(this.#frontEndUrls()));
      }
    } else {
      player.counts = report as Counts;
      if (report.kind === 'owner') player.rate.see(report.requests);
      if (report.kind === 'load') player.rate.see(report.reads);
    }
    this.#reported();
  }

  async #gone<Counts>(player: Player<Counts>, how: string, again: () => void): Promise<void> {
    const ended = player.killedBy === undefined ? `ended (${how})` : `was killed (${player.killedBy})`;
    if (player.counts !== undefined) player.earlier.push(player.counts);
    Object.assign(player, { child: undefined, ready: undefined, counts: undefined, killedBy: undefined });
    player.rate.forget();
    this.#note(`${player.name} ${ended}; it is started again in ${RESTART_AFTER_MS / 1_000} s`);
    await pause(RESTART_AFTER_MS, this.#over.signal);
    if (this.#over.signal.aborted) return;
    this.#note(`${player.name} is started again`);
    again();
  }

  async #follow(api: ManagerApi, signal: AbortSignal): Promise<void> {
    try {
      for await (const event of followEvents({ api, signal })) {
        const isSettingUp = 'position' in event && !this.#isAfterSettingUp(event.position);
        this.options.onNews({ kind: 'event', event, isSettingUp, atMs: event.atMs });
      }
    } catch (error) {
      this.#note(
        `the Manager's events cannot be followed: ${error instanceof Error ? error.message : error}`,
      );
    }
  }

  async #askShares(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const api = this.#api;
      try {
        this.shares = (await api.get<OwnersAnswer>(poolPath(POOL, '/owners'))).owners;
      } catch (error) {
        if (!(error instanceof LeaseholdError)) throw error; // No owner has joined yet, or the Manager is busy.
      }
      await pause(ASK_EVERY_MS, signal);
    }
  }

  /**
   * Owners come one after the other, and each takes a share from the owners before. Connected users would have to be
   * published anew with every owner that comes.
   */
  async #untilSharedOut(signal: AbortSignal): Promise<void> {
    const pool = await this.#until(
      'the sharing out of the keys',
      async () => {
        const found = await this.#api.get<PoolAnswer>(poolPath(POOL));
        const isShared = found.unownedPercent === 0 && found.misplacedPercent === 0;
        return found.owners >= this.options.ownerCount && isShared ? found : undefined;
      },
      signal,
      SETTLING_ASK_EVERY_MS,
    );
    this.#sharedOutAt = pool.changedAt;
    this.#note('The keys are shared out; nobody was connected, so nothing was lost.');
  }

  #isAfterSettingUp(position: number): boolean {
    return this.#sharedOutAt !== undefined && position > this.#sharedOutAt;
  }

  #frontEndUrls(): readonly string[] {
    return this.frontEnds.map(({ ready }) => ready?.url ?? '');
  }

  /** The last complaints explain an end; errors are news at once. */
  #complaint(who: string, line: string): void {
    const { message, level, error } = parsed(line);
    this.#complaints.push(error?.message ?? message ?? line);
    if (error !== undefined && who === 'the Manager')
      this.#failure.abort(new DemoError(error.message, error.code));
    else if (level === 'error' || message === undefined)
      this.#note(`${who}: ${error?.message ?? message ?? line}`);
  }

  #fail(what: string): void {
    const why = this.#complaints.at(-1);
    this.#failure.abort(new DemoError(why === undefined ? what : `${what}: ${why}`));
    this.#reported();
  }

  #note(text: string): void {
    this.options.onNews({ kind: 'note', text, atMs: Date.now() });
  }

  #reported(): void {
    for (const tell of this.#onReport.splice(0)) tell();
  }

  /** Looks after every report, and at least so often. */
  async #until<T>(
    what: string,
    look: () => T | undefined | Promise<T | undefined>,
    signal: AbortSignal,
    lookEveryMs: number = START_WITHIN_MS,
  ): Promise<T> {
    const late = AbortSignal.timeout(START_WITHIN_MS);
    const any = AbortSignal.any([signal, this.failure, late]);
    for (;;) {
      this.failure.throwIfAborted();
      signal.throwIfAborted();
      const found = await look();
      if (found !== undefined) return found;
      if (late.aborted) throw new DemoError(`${what} did not start within ${START_WITHIN_MS / 1_000} s`);
      const report = new AbortController();
      this.#onReport.push(() => report.abort());
      await pause(lookEveryMs, AbortSignal.any([any, report.signal]));
    }
  }
}

const player = <Counts>(name: string): Player<Counts> => ({
  ...{ name, child: undefined, ready: undefined, killedBy: undefined, counts: undefined },
  ...{ earlier: [], rate: new Rate() },
});

const portOf = (address: string): string => /(\d+)\/?$/.exec(address)?.[1] ?? '0';

const isReady = ({ ready }: { readonly ready: Ready | undefined }): boolean => ready !== undefined;

interface Complaint {
  readonly message?: string;
  readonly level?: string;
  readonly signal?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A line of a log or an error, if the line is one. */
function parsed(line: string): Complaint {
  try {
    return JSON.parse(line) as Complaint;
  } catch {
    return {};
  }
}

/** In every case no process is left behind. */
export function killAtExit(scene: Scene, alsoAtExit: () => void): Disposable {
  const onExit = (): void => {
    scene.kill();
    alsoAtExit();
  };
  process.once('exit', onExit);
  return { [Symbol.dispose]: () => void process.off('exit', onExit) };
}
