/**
 * The demo itself: starts its processes, keeps them going, and knows how they are.
 *
 *     Manager ◄──── look-ups ────── front ends ◄──── load
 *        ▲                              │
 *        └── leases, certificates ── owners, each under `leasehold run`
 *
 * An owner or a front end that dies is started again after some seconds, under the same name: long
 * enough to see that the others have taken over.
 */

import process from 'node:process';
import { LeaseholdError } from 'leasehold/manager';
import type { Gap, LoggedEvent, OwnersAnswer } from '../answers.ts';
import { ManagerApi, poolPath } from '../api.ts';
import { followEvents, pause } from '../event-stream.ts';
import { selfCommand } from '../self.ts';
import { DemoChild } from './child.ts';
import {
  type FrontEndCounts,
  type LoadCounts,
  type OwnerCounts,
  POOL,
  type Ready,
  type Report,
} from './messages.ts';
import { nameOfFrontEnd, nameOfOwner } from './names.ts';
import { Rate } from './rate.ts';

export interface SceneOptions {
  readonly owners: number;
  readonly frontEnds: number;
  readonly users: number;
  readonly port: number;
  readonly httpPort: number;
  readonly directory: string;
  readonly calledAs: string;
  /** Something happened that is worth a line. */
  onNews(news: News): void;
}

export type News = { readonly atMs: number } & (
  | { readonly kind: 'event'; readonly event: LoggedEvent | Gap }
  | { readonly kind: 'note'; readonly text: string }
);

/** A process of the demo did not start, or ended at once. */
export class DemoError extends LeaseholdError {
  override readonly name = 'DemoError';
  readonly code: string;
  readonly retryable = true;

  constructor(message: string, code = 'DEMO_FAILED') {
    super(message);
    this.code = code;
  }
}

export interface Player<Counts> {
  readonly name: string;
  child: DemoChild | undefined;
  ready: Ready | undefined;
  counts: Counts | undefined;
  /** What earlier lives of it have counted. */
  readonly earlier: Counts[];
  readonly rate: Rate;
}

interface ManagerPlace {
  readonly address: string;
  readonly http: string;
  readonly pid: number;
}

const RESTART_AFTER_MS = 5_000;
const START_WITHIN_MS = 30_000;
const ASK_EVERY_MS = 1_000;

export class Scene implements AsyncDisposable {
  readonly options: SceneOptions;
  readonly owners: readonly Player<OwnerCounts>[];
  readonly frontEnds: readonly Player<FrontEndCounts>[];
  readonly load: Player<LoadCounts> = player('load');
  readonly startedAt: number = performance.now();
  /** What the Manager says about owners, ours and others. */
  shares: OwnersAnswer['owners'] = [];
  place: ManagerPlace | undefined;
  #manager: DemoChild | undefined;
  readonly #over = new AbortController();
  readonly #failure = new AbortController();
  readonly #complaints: string[] = [];
  #onReport: (() => void)[] = [];

  constructor(options: SceneOptions) {
    this.options = options;
    this.owners = Array.from({ length: options.owners }, (_, at) => player(nameOfOwner(at)));
    this.frontEnds = Array.from({ length: options.frontEnds }, (_, at) => player(nameOfFrontEnd(at)));
  }

  /** Aborts with a {@link DemoError} if it cannot go on. */
  get failure(): AbortSignal {
    return this.#failure.signal;
  }

  /** Resolves when everything runs. */
  async start(signal: AbortSignal): Promise<void> {
    this.#manager = this.#startManager();
    const place = await this.#until('the Manager', () => this.place, signal);
    void this.#follow(new ManagerApi(place.http, this.options.calledAs));
    for (const owner of this.owners) this.#startOwner(owner);
    for (const frontEnd of this.frontEnds) this.#startFrontEnd(frontEnd);
    await this.#until('the owners', () => this.owners.every(isReady) || undefined, signal);
    await this.#until('the front ends', () => this.frontEnds.every(isReady) || undefined, signal);
    this.#startLoad();
    await this.#until('the load', () => this.load.counts, signal);
  }

  /** The askers first, the one who answers last. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.load.child?.stop();
    await Promise.all(this.frontEnds.map(({ child }) => child?.stop()));
    await Promise.all(this.owners.map(({ child }) => child?.stop()));
    await this.#manager?.stop();
  }

  /** Without a word: for the last moment of this process. */
  kill(): void {
    for (const { child } of [...this.owners, ...this.frontEnds, this.load]) child?.kill();
    this.#manager?.kill();
  }

  #startManager(): DemoChild {
    const { port, httpPort, directory } = this.options;
    const listen = ['--port', String(port), '--http-port', String(httpPort)];
    return new DemoChild({
      name: 'manager',
      ...selfCommand(['manager', '--data', directory, ...listen, '--json', '--until-input-ends']),
      onLine: (line) => {
        this.place = JSON.parse(line) as ManagerPlace;
        this.#reported();
      },
      onComplaint: (line) => this.#complaint('the Manager', line),
      onGone: (how) => this.#fail(`the Manager ended (${how})`),
    });
  }

  #startOwner(owner: Player<OwnerCounts>): void {
    const { address } = this.place as ManagerPlace;
    const { command, args } = selfCommand([
      'demo-owner',
      '--name',
      owner.name,
      '--managers',
      address,
      '--until-input-ends',
    ]);
    const run = ['run', '--managers', address, '--certify-for', '3', '--', command, ...args];
    owner.child = this.#startPlayer(owner, selfCommand(run), () => this.#startOwner(owner));
  }

  #startFrontEnd(frontEnd: Player<FrontEndCounts>): void {
    const { address } = this.place as ManagerPlace;
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
    const { users } = this.options;
    const program = selfCommand([
      ...['demo-load', '--users', String(users), '--until-input-ends'],
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
      onComplaint: (line) => this.#complaint(player.name, line),
      onGone: (how) => void this.#gone(player, how, again),
    });
  }

  #report<Counts>(player: Player<Counts>, report: Report): void {
    if (report.kind === 'ready') {
      player.ready = report;
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
    if (player.counts !== undefined) player.earlier.push(player.counts);
    [player.child, player.ready, player.counts] = [undefined, undefined, undefined];
    player.rate.forget();
    this.#note(`${player.name} ended (${how}); it is started again in ${RESTART_AFTER_MS / 1_000} s`);
    await pause(RESTART_AFTER_MS, this.#over.signal);
    if (this.#over.signal.aborted) return;
    this.#note(`${player.name} is started again`);
    again();
  }

  async #follow(api: ManagerApi): Promise<void> {
    const { signal } = this.#over;
    void this.#askShares(api);
    try {
      for await (const event of followEvents({ api, signal })) {
        this.options.onNews({ kind: 'event', event, atMs: event.atMs });
      }
    } catch (error) {
      this.#note(
        `the Manager's events cannot be followed: ${error instanceof Error ? error.message : error}`,
      );
    }
  }

  async #askShares(api: ManagerApi): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        this.shares = (await api.get<OwnersAnswer>(poolPath(POOL, '/owners'))).owners;
      } catch (error) {
        if (!(error instanceof LeaseholdError)) throw error; // Nobody has joined yet, or it is busy.
      }
      await pause(ASK_EVERY_MS, signal);
    }
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

  async #until<T>(what: string, look: () => T | undefined, signal: AbortSignal): Promise<T> {
    const late = AbortSignal.timeout(START_WITHIN_MS);
    const any = AbortSignal.any([signal, this.failure, late]);
    for (;;) {
      this.failure.throwIfAborted();
      signal.throwIfAborted();
      const found = look();
      if (found !== undefined) return found;
      if (late.aborted) throw new DemoError(`${what} did not start within ${START_WITHIN_MS / 1_000} s`);
      const report = new AbortController();
      this.#onReport.push(() => report.abort());
      await pause(START_WITHIN_MS, AbortSignal.any([any, report.signal]));
    }
  }
}

const player = <Counts>(name: string): Player<Counts> => ({
  ...{ name, child: undefined, ready: undefined, counts: undefined },
  ...{ earlier: [], rate: new Rate() },
});

const isReady = ({ ready }: { readonly ready: Ready | undefined }): boolean => ready !== undefined;

interface Complaint {
  readonly message?: string;
  readonly level?: string;
  readonly error?: { readonly code: string; readonly message: string };
}

/** A line of a log or an error, if it is one. */
function parsed(line: string): Complaint {
  try {
    return JSON.parse(line) as Complaint;
  } catch {
    return {};
  }
}

/** Whatever happens, nobody is left behind. */
export function killAtExit(scene: Scene, alsoAtExit: () => void): Disposable {
  const onExit = (): void => {
    scene.kill();
    alsoAtExit();
  };
  process.once('exit', onExit);
  return { [Symbol.dispose]: () => void process.off('exit', onExit) };
}
