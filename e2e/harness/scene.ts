/**
 * What every test stands on: a temporary directory, a register, an observer, and processes that are ended
 * whatever happens. What holds in all tests is checked at the end of each.
 *
 *     it('…', onScene(async (scene) => { … }));
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'vitest';
import type { JoinPoolOptions, ConnectLookupOptions } from 'leasehold/pool';
import type { StartManagerOptions } from 'leasehold/manager';
import { resolveDurations } from '../../leasehold/src/pool/core/options.ts';
import type { ClockChoice } from '../programs/clocks.ts';
import { Observer } from './observer.ts';
import { Program, type Start } from './program.ts';
import { Register } from './register.ts';
import { Secrets } from './secrets.ts';
import { until } from './time.ts';
import { missing, type Tool } from './tools.ts';

type ProcessConditions = Pick<Start, 'under' | 'environment' | 'onTerminal'>;

export interface OwnerStart extends Partial<JoinPoolOptions>, ProcessConditions {
  name: string;
  managers: readonly string[];
  /** What it writes to the register. @default the keys of the scene */
  keys?: readonly string[];
  clocks?: ClockChoice;
  leaveOn?: readonly NodeJS.Signals[];
}

export interface LookupStart extends Partial<ConnectLookupOptions>, ProcessConditions {
  managers: readonly string[];
  clocks?: ClockChoice;
}

/** Enough that every owner of a few has some. */
const KEYS: readonly string[] = Array.from({ length: 24 }, (_, index) => `key-${index}`);
const WRITE_EVERY_MS = 20;

/** Short, so that a test need not take long; everything else follows from it. */
export const LEASE_MS = 1_500;
export const HOLD_MS: number = resolveDurations({ leaseMs: LEASE_MS }).holdMs;
/** `http`: the program shows the state, too. */
export type ManagerProgramOptions = StartManagerOptions & { readonly http?: true };

export const SHORT: { readonly defaults: { readonly leaseMs: number } } = { defaults: { leaseMs: LEASE_MS } };

export class Scene {
  readonly keys: readonly string[] = KEYS;
  readonly directory: string;
  readonly register: Register;
  readonly observer: Observer = new Observer(KEYS);
  readonly #programs: Program[] = [];
  readonly #cleanUps: (() => Promise<void> | void)[] = [];
  readonly #secrets = new Secrets();
  /** What commands printed that ended at once. */
  #printed = '';
  #lookups = 0;

  constructor(directory: string, register: Register) {
    this.directory = directory;
    this.register = register;
  }

  /** Also done when the test fails, the last one first. */
  defer(cleanUp: () => Promise<void> | void): void {
    this.#cleanUps.push(cleanUp);
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  start(start: Start): Program {
    const program = new Program(start);
    this.#programs.push(program);
    return program;
  }

  /** Started, and perhaps not up: `ready` or `failed` is yet to come. */
  startManager(options: ManagerProgramOptions, conditions: ProcessConditions = {}): Program {
    return this.start({ name: 'manager', program: 'manager', config: options, ...conditions });
  }

  async manager(
    options: ManagerProgramOptions = SHORT,
    conditions: ProcessConditions = {},
  ): Promise<{ readonly manager: Program; readonly managers: readonly string[] }> {
    const manager = this.startManager(options, conditions);
    const { address } = await manager.event('ready');
    return { manager, managers: [String(address)] };
  }

  startOwner({
    under,
    environment,
    onTerminal,
    clocks,
    leaveOn,
    keys = KEYS,
    ...given
  }: OwnerStart): Program {
    const owner = this.start({
      name: given.name,
      program: 'owner',
      config: {
        ...{ join: { pool: 'presence', url: `http://${given.name}`, ...given }, clocks, leaveOn },
        ...{ keys, register: this.register.path, writeEveryMs: WRITE_EVERY_MS },
      },
      ...{ under, environment, onTerminal },
    });
    return owner;
  }

  /** An owner that was admitted, and is watched. */
  async owner(start: OwnerStart): Promise<Program> {
    const owner = this.startOwner(start);
    await owner.event('ready');
    this.observer.watch(owner);
    return owner;
  }

  startLookup({ under, environment, clocks, ...given }: LookupStart): Program {
    this.#lookups += 1;
    return this.start({
      name: `look-up ${this.#lookups}`,
      program: 'lookup',
      config: {
        open: { pool: 'presence', syncEveryMs: 500, staleAfterMs: 2_000, ...given },
        keys: KEYS,
        clocks,
      },
      ...{ under, environment },
    });
  }

  async lookup(start: LookupStart): Promise<Program> {
    const lookup = this.startLookup(start);
    await lookup.event('ready');
    return lookup;
  }

  /** Resolves when every key is held by one of these, and each of them has some. */
  async shared(...owners: readonly Program[]): Promise<void> {
    await until(`all keys are held by ${owners.map(({ name }) => name).join(' and ')}`, () => {
      const names = new Set(owners.map(({ name }) => name));
      const areHeld = KEYS.every((key) => this.observer.holders(key).some((name) => names.has(name)));
      const haveAll = owners.every((owner) => this.observer.heldBy(owner).length > 0);
      return areHeld && haveAll ? true : undefined;
    });
  }

  /** The number under which an owner holds a key now. */
  async numberOf(owner: Program, key: string): Promise<number | undefined> {
    const { held } = await owner.ask('check', { keys: [key] });
    return (held as readonly { numbers: readonly (number | null)[] }[])[0]?.numbers[0] ?? undefined;
  }

  /** The numbers under which an owner holds what it holds. */
  async numbers(owner: Program): Promise<ReadonlyMap<string, number>> {
    const { held } = await owner.ask('check', { keys: KEYS });
    const [first] = held as readonly { numbers: readonly (number | null)[] }[];
    const numbers = first?.numbers ?? [];
    return new Map(KEYS.flatMap((key, index) => (numbers[index] == null ? [] : [[key, numbers[index]]])));
  }

  /** From here on no process of this scene may print this, nor a part of it. */
  isSecret(text: string): void {
    this.#secrets.add(text);
  }

  printed(text: string): void {
    this.#printed += text;
  }

  /** Who has printed a secret, in whatever it said, logged or was asked. */
  leaks(): readonly string[] {
    const said = this.#programs.map((program) => [program.name, program.said] as const);
    return [...said, ['the command line', this.#printed] as const].flatMap(([who, text]) =>
      this.#secrets.areIn(text) ? [`${who} has printed a secret`] : [],
    );
  }

  /** What must hold in every test; for those with false clocks, what is left of it. */
  violations(clocks: 'honest' | 'false' = 'honest'): readonly string[] {
    const twoOwners = [...this.observer.violations(), ...this.register.staleChecks()];
    return [...this.register.sharedNumbers(), ...(clocks === 'honest' ? twoOwners : [])];
  }

  transcript(): string {
    return this.#programs.map((program) => program.transcript()).join('\n');
  }

  async clear(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill()));
    await this.observer.stop();
    for (const cleanUp of this.#cleanUps.reverse()) await cleanUp();
    await this.register[Symbol.asyncDispose]();
    await rm(this.directory, { recursive: true, force: true });
  }
}

export interface SceneOptions {
  /** What the test needs of the system. Without it the test is left out, and says so; where CI=true it fails. */
  readonly needs?: readonly Tool[];
  /** `false`: a clock in this test is beyond the bound, and only the register is safe. @default 'honest' */
  readonly clocks?: 'honest' | 'false';
}

/** The body of a test, with what it needs and what is checked after it. */
export function onScene(
  play: (scene: Scene) => Promise<void>,
  { needs = [], clocks }: SceneOptions = {},
): (context: TestContext) => Promise<void> {
  return async (context) => {
    for (const tool of needs) leaveOutWithout(await missing(tool), context);
    const directory = await mkdtemp(join(tmpdir(), 'leasehold-e2e-'));
    const scene = new Scene(directory, await Register.open(join(directory, 'register')));
    try {
      await play(scene);
      const violations = [...scene.violations(clocks), ...scene.leaks()];
      if (violations.length > 0) throw new Error(violations.slice(0, 5).join('\n'));
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : String(error)}\n${scene.transcript()}`, {
        cause: error,
      });
    } finally {
      await scene.clear();
    }
  };
}

function leaveOutWithout(lacking: string | undefined, { skip }: TestContext): void {
  if (lacking === undefined) return;
  const advice = `${lacking}. As root, node scripts/setup-tools.mjs installs what is missing.`;
  if (process.env['CI'] === 'true') throw new Error(advice);
  console.warn(`LEFT OUT: ${advice}`);
  skip(advice);
}
