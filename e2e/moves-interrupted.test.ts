import { describe, expect, it } from 'vitest';
import { ManagersOnEtcd } from './harness/managers-on-etcd.ts';
import { ManagersOnQuorum } from './harness/managers-on-quorum.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene, SHORT } from './harness/scene.ts';
import { until } from './harness/time.ts';

/** So slow that a fault can be done in the middle of a move, and a drain that waits as long as that takes. */
const SLOW = { bytesPerSecond: 100_000, drainTimeoutMs: 120_000 };
const LONG_NOTE = 'x'.repeat(16_384);

/** Owners with a note for each key, each of which moves with its key; and a look-up that is told of losses. */
class Notebook {
  readonly lookup: Program;
  readonly owners: Program[] = [];
  readonly #scene: Scene;
  readonly #managers: readonly string[];
  readonly #moves: object | true;
  readonly #texts = new Map<string, string>();
  /** What the look-up was told while the owners joined, when there was nothing to lose. */
  #toldBefore = 0;

  private constructor(scene: Scene, managers: readonly string[], moves: object | true, lookup: Program) {
    this.#scene = scene;
    this.#managers = managers;
    this.#moves = moves;
    this.lookup = lookup;
  }

  static async open(
    scene: Scene,
    managers: readonly string[],
    moves: object | true = true,
    note = '',
  ): Promise<Notebook> {
    const book = new Notebook(scene, managers, moves, scene.startLookup({ managers, staleAfterMs: 60_000 }));
    for (const name of ['a', 'b', 'c']) book.owners.push(book.#start(name));
    await Promise.all([book.lookup, ...book.owners].map((program) => program.event('ready')));
    for (const owner of book.owners) scene.observer.watch(owner);
    await scene.shared(...book.owners);
    for (const owner of book.owners)
      for (const key of (await scene.numbers(owner)).keys()) {
        const text = `${key} ${note}`;
        await owner.ask('note', { key, text });
        book.#texts.set(key, text);
      }
    expect(book.#texts.size).toBe(scene.keys.length);
    book.#toldBefore = book.lookup.events.length;
    return book;
  }

  #start(name: string): Program {
    return this.#scene.startOwner({
      ...{ name, managers: this.#managers, leaveOn: ['SIGTERM'] as const },
      moves: this.#moves,
    });
  }

  /** The next process of an owner that has ended. */
  async again({ name }: Program): Promise<Program> {
    const owner = this.#start(name);
    await owner.event('ready');
    this.#scene.observer.watch(owner);
    this.owners.push(owner);
    return owner;
  }

  /** Resolves when a move has begun at an owner that was told to stop. */
  async isMoving(owner: Program): Promise<void> {
    await until(`a move of ${owner.name} is under way`, async () => {
      const { moving } = await owner.ask('moving');
      return (moving as number) > 0 ? true : undefined;
    });
  }

  /** Resolves when each key is served by a running owner: the keys whose note is gone. */
  async gone(): Promise<readonly string[]> {
    const gone: string[] = [];
    const { keys } = this.#scene;
    const running = this.owners.filter(({ ending }) => ending === undefined);
    for (const key of keys) {
      const text = await until(`${key} is served`, async () => {
        for (const owner of running) {
          const { notes } = await owner.ask('notes', { keys: [key] });
          if (notes !== undefined) return (notes as readonly (string | null)[])[0];
        }
        return undefined;
      });
      if (text !== this.#texts.get(key)) gone.push(key);
    }
    return gone;
  }

  /** What the look-up was told to be lost since there are notes. */
  get #lost(): ReadonlySet<string> {
    const told = this.lookup.events.slice(this.#toldBefore).filter(({ event }) => event === 'loss');
    return new Set(told.flatMap(({ keys }) => keys as readonly string[]));
  }

  /** Whatever was lost was told. */
  async accountedFor(): Promise<void> {
    const gone = await this.gone();
    await until(`the look-up is told of ${gone.join(', ')}`, () =>
      gone.every((key) => this.#lost.has(key)) ? true : undefined,
    );
  }

  async isWhole(): Promise<void> {
    expect(await this.gone()).toEqual([]);
    expect([...this.#lost]).toEqual([]);
  }
}

const onFile = async (scene: Scene): Promise<readonly string[]> => (await scene.manager(SHORT)).managers;

describe('owners that are restarted', () => {
  it(
    'one after another lose no note, and the look-up is told of no loss',
    onScene(async (scene) => {
      const book = await Notebook.open(scene, await onFile(scene));
      for (const owner of [...book.owners]) {
        owner.signal('SIGTERM');
        expect(await owner.ended).toEqual({ code: 0, signal: null });
        await book.isWhole();
        await book.again(owner);
      }
      await book.isWhole();
    }),
  );

  it(
    'two of three at the same instant lose no note: all keys are at the owner that stays',
    onScene(async (scene) => {
      const book = await Notebook.open(scene, await onFile(scene));
      const [a, b, c] = book.owners as [Program, Program, Program];
      for (const owner of [a, b]) owner.signal('SIGTERM');
      await Promise.all([a.ended, b.ended]);
      await book.isWhole();
      expect(scene.observer.heldBy(c)).toHaveLength(scene.keys.length);
    }),
  );
});

describe('a leader that is killed while an owner hands its keys over', () => {
  const kills = async (scene: Scene, managers: ManagersOnEtcd | ManagersOnQuorum): Promise<void> => {
    const book = await Notebook.open(scene, managers.addresses, SLOW, LONG_NOTE);
    const [a] = book.owners as [Program];
    a.signal('SIGTERM');
    await book.isMoving(a);
    const leader = await managers.leader();
    leader.signal('SIGKILL');
    await leader.ended;
    expect(await a.ended).toEqual({ code: 0, signal: null });
    await book.isWhole();
  };

  it(
    'costs no note with Managers on etcd',
    onScene(async (scene) => kills(scene, await ManagersOnEtcd.open(scene)), { needs: ['etcd'] }),
  );

  it(
    'costs no note with Managers that keep their log among themselves',
    onScene(async (scene) => kills(scene, await ManagersOnQuorum.open(scene))),
  );
});

describe('a fault in the middle of a move', () => {
  const slow = async (scene: Scene): Promise<readonly [Notebook, Program, Program, Program]> => {
    const book = await Notebook.open(scene, await onFile(scene), SLOW, LONG_NOTE);
    const [a, b, c] = book.owners as [Program, Program, Program];
    a.signal('SIGTERM');
    await book.isMoving(a);
    return [book, a, b, c];
  };

  it(
    'the source is killed: what it had not handed over is lost, and told',
    onScene(async (scene) => {
      const [book, a] = await slow(scene);
      a.signal('SIGKILL');
      await a.ended;
      await book.accountedFor();
    }),
  );

  it(
    'a target is killed: its own notes are lost and told, and the source hands the rest to the owner that is left',
    onScene(async (scene) => {
      const [book, a, b] = await slow(scene);
      b.signal('SIGKILL');
      await b.ended;
      expect(await a.ended).toEqual({ code: 0, signal: null });
      await book.accountedFor();
    }),
  );

  it(
    'the source stands still past its lease: no key has two owners, and what is lost is told',
    onScene(async (scene) => {
      const [book, a] = await slow(scene);
      const beforeMs = scene.register.refused.length;
      a.signal('SIGSTOP');
      await until('all keys are held by owners that run', () =>
        scene.keys.every((key) => scene.observer.holders(key).some((name) => name !== 'a'))
          ? true
          : undefined,
      );
      a.signal('SIGCONT');
      await a.ended;
      await book.accountedFor();
      expect(beforeMs).toBe(0);
    }),
  );

  it(
    'a target stands still past its lease: no key has two owners, and what is lost is told',
    onScene(async (scene) => {
      const [book, a, b, c] = await slow(scene);
      b.signal('SIGSTOP');
      await until('all keys are held by the owner that is left', () =>
        scene.observer.heldBy(c).length === scene.keys.length ? true : undefined,
      );
      b.signal('SIGCONT');
      await a.ended;
      await book.accountedFor();
    }),
  );
});
