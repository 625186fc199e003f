/**
 * The users of the demo. Each user is connected to one front end, changes the status now and then, and is looked up
 * through another front end by a reader that knows the expected status.
 *
 * A read is right if the reader finds at least the status that was confirmed before the read began: a newer one may be
 * on the way. A user found missing or stale is looked up again at once, and until found, so that the time to mend is
 * known.
 */

import { pause } from '../event-stream.ts';
import type { LoadCounts, Presence } from './messages.ts';
import { play } from './player.ts';
import { type Answer, ask } from './web.ts';

interface User {
  readonly name: string;
  /** The front end that the user is connected to. */
  readonly homeIndex: number;
  /** The last that was sent, and the last that was confirmed. */
  version: number;
  confirmed: number;
}

const STATUSES = ['available', 'busy', 'away', 'in a call', 'at lunch'];
const READS_PER_SECOND = 150;
const WRITES_PER_SECOND = 30;
const TICK_MS = 20;
const LOOK_AGAIN_MS = 100;
const MOST_UNDER_WAY = 256;
const CONNECTING_AT_ONCE = 16;
/** Of those found wrong, how many are looked up again each time. */
const MOST_LOOKED_UP_AGAIN = 50;
/** A wrong answer that lasts longer than this is no moment of change but a fault. */
const MOMENT_MS = 5_000;
const ANSWER_WITHIN_MS = 3_000;

export class Load {
  #frontEnds: readonly string[];
  readonly #users: readonly User[];
  /** When each user that is missing or stale was first found so. */
  readonly #foundWrongAt = new Map<User, number>();
  #underWay = 0;
  #reads = 0;
  #writes = 0;
  #wrong = 0;
  #unanswered = 0;
  #slowestRecoveryMs = 0;

  constructor(frontEnds: readonly string[], userCount: number) {
    this.#frontEnds = frontEnds;
    this.#users = Array.from({ length: userCount }, (_, index) => ({
      name: `user-${index + 1}`,
      homeIndex: index % frontEnds.length,
      version: 0,
      confirmed: 0,
    }));
  }

  get counts(): LoadCounts {
    const now = performance.now();
    const foundWrongAt = [...this.#foundWrongAt.values()];
    return {
      kind: 'load',
      reads: this.#reads,
      writes: this.#writes,
      wrong: this.#wrong,
      unanswered: this.#unanswered,
      wrongNow: foundWrongAt.length,
      wrongForLong: foundWrongAt.filter((foundAt) => now - foundAt > MOMENT_MS).length,
      slowestRecoveryMs: Math.round(this.#slowestRecoveryMs),
    };
  }

  /** A front end that was started anew knows no users: the users of that front end connect again. */
  async moveTo(frontEnds: readonly string[]): Promise<void> {
    const moved = this.#users.filter(({ homeIndex }) => this.#frontEnds[homeIndex] !== frontEnds[homeIndex]);
    this.#frontEnds = frontEnds;
    await this.#connect(moved);
  }

  async connectAll(): Promise<void> {
    await this.#connect(this.#users);
  }

  async #connect(users: readonly User[]): Promise<void> {
    const waiting = [...users];
    const worker = async (): Promise<void> => {
      for (let user = waiting.pop(); user !== undefined; user = waiting.pop()) await this.write(user);
    };
    await Promise.all(Array.from({ length: CONNECTING_AT_ONCE }, worker));
  }

  /** Until the signal aborts: so many reads and writes a second, evenly. */
  async run(signal: AbortSignal): Promise<void> {
    let [lastTickAt, readsDue, writesDue, lookAgainAt] = [performance.now(), 0, 0, 0];
    while (!signal.aborted) {
      await pause(TICK_MS, signal);
      const now = performance.now();
      const seconds = Math.min(now - lastTickAt, 10 * TICK_MS) / 1_000;
      lastTickAt = now;
      readsDue += READS_PER_SECOND * seconds;
      writesDue += WRITES_PER_SECOND * seconds;
      for (; readsDue >= 1; readsDue -= 1) this.#start(() => this.read(this.#anybody()));
      for (; writesDue >= 1; writesDue -= 1) this.#start(() => this.write(this.#anybody()));
      if (now < lookAgainAt) continue;
      lookAgainAt = now + LOOK_AGAIN_MS;
      const wrong = [...this.#foundWrongAt.keys()].slice(0, MOST_LOOKED_UP_AGAIN);
      for (const user of wrong) this.#start(() => this.read(user));
    }
  }

  async write(user: User): Promise<void> {
    const version = (user.version += 1);
    const status = STATUSES[Math.floor(Math.random() * STATUSES.length)];
    const answer = await this.#ask('PUT', user.name, user.homeIndex, { status, version });
    this.#writes += 1;
    if (answer?.status !== 204) this.#unanswered += 1;
    else user.confirmed = Math.max(user.confirmed, version);
  }

  async read(user: User): Promise<void> {
    const [expected, beganAt] = [user.confirmed, performance.now()];
    if (expected === 0) return;
    const answer = await this.#ask('GET', user.name, user.homeIndex + 1);
    this.#reads += 1;
    if (answer === undefined || (answer.status !== 200 && answer.status !== 404)) {
      this.#unanswered += 1;
      return;
    }
    const isRight = answer.status === 200 && (answer.body as Presence).version >= expected;
    if (isRight) this.#recovered(user);
    else {
      this.#wrong += 1;
      if (!this.#foundWrongAt.has(user)) this.#foundWrongAt.set(user, beganAt);
    }
  }

  #recovered(user: User): void {
    const foundAt = this.#foundWrongAt.get(user);
    if (foundAt === undefined) return;
    this.#foundWrongAt.delete(user);
    this.#slowestRecoveryMs = Math.max(this.#slowestRecoveryMs, performance.now() - foundAt);
  }

  #ask(method: string, user: string, frontEndIndex: number, body?: unknown): Promise<Answer | undefined> {
    const url = this.#frontEnds[frontEndIndex % this.#frontEnds.length];
    return ask(method, `${url}/users/${user}`, body, ANSWER_WITHIN_MS);
  }

  #anybody(): User {
    return this.#users[Math.floor(Math.random() * this.#users.length)] as User;
  }

  /** A service that does not answer is not helped by more and more questions. */
  #start(work: () => Promise<void>): void {
    if (this.#underWay >= MOST_UNDER_WAY) return;
    this.#underWay += 1;
    void work().finally(() => (this.#underWay -= 1));
  }
}

export async function runLoad(options: {
  readonly frontEnds: readonly string[];
  readonly users: number;
  readonly untilInputEnds?: true | undefined;
}): Promise<void> {
  const load = new Load(options.frontEnds, options.users);
  const stop = new AbortController();
  const running = load.connectAll().then(() => load.run(stop.signal));
  await play('', {
    untilInputEnds: options.untilInputEnds,
    counts: () => load.counts,
    hear: (line) => void load.moveTo(JSON.parse(line) as readonly string[]),
    end: async () => {
      stop.abort();
      await running;
    },
  });
}
