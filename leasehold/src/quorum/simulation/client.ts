/**
 * Clients: each has a session, a replica that it likes best, and a few requests under way at a time. A write that is not answered is
 * repeated under its number, here or elsewhere, until somebody says what came of it; a read is given up.
 */

import type { Network } from '../../sim/network.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type { Answer } from '../core/answer.ts';
import { type Action, type Command, type Condition, NO_SESSION, transaction } from '../core/operation.ts';
import type { ReadMode } from '../core/reads.ts';
import type { Call, Reply } from './node.ts';
import { type Called, encode } from './operations.ts';

export interface ClientOptions {
  readonly name: string;
  readonly world: World;
  readonly network: Network<Call | Reply>;
  readonly random: Random;
  readonly keys: readonly string[];
  /** How many requests at a time. */
  readonly lanes: number;
  readonly thinkMs: number;
  readonly patienceMs: number;
  readonly writeShare: number;
  /** The replicas that it knows of, the one it likes best first. */
  replicas(): readonly string[];
  readonly operations: Called[];
}

type CallBody = Call extends infer Each ? (Each extends Call ? Omit<Each, 'id' | 'client'> : never) : never;

type Session =
  | { readonly state: 'none' }
  | { readonly state: 'opening' }
  | { readonly state: 'open'; readonly id: number; numbers: number; readonly unanswered: Set<number> };

export class Client {
  readonly #options: ClientOptions;
  #session: Session = { state: 'none' };
  #calls = 0;
  #values = 0;
  #isResting = false;
  /** What was last seen of each key: conditions are about it. */
  readonly #seen = new Map<string, { readonly revision: number }>();
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #busyLanes = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    options.network.attach(options.name, (_, message) => {
      if (message.kind === 'reply') this.#hear(message);
    });
    for (let lane = 0; lane < options.lanes; lane += 1) this.#think();
  }

  /** Whether anything is under way. */
  get isBusy(): boolean {
    return this.#busyLanes > 0;
  }

  /** From now on nothing new is begun. */
  rest(): void {
    this.#isResting = true;
  }

  wakeUp(): void {
    this.#isResting = false;
  }

  #think(): void {
    const { world, random, thinkMs } = this.#options;
    world.after(random.exponential(thinkMs), () => {
      if (this.#isResting) this.#think();
      else if (this.#session.state === 'none') this.#openSession();
      else if (random.chance(this.#options.writeShare)) this.#write();
      else this.#read();
    });
  }

  /** Sends, and tells what was answered; undefined if nothing was in time. */
  #call(to: string, body: CallBody, heard: (answer: Answer | undefined) => void): void {
    const { world, network, name, patienceMs } = this.#options;
    this.#calls += 1;
    const id = this.#calls;
    const end = (answer: Answer | undefined): void => {
      this.#pending.delete(id);
      timer[Symbol.dispose]();
      heard(answer);
    };
    const timer = world.after(patienceMs, () => end(undefined));
    this.#pending.set(id, end);
    network.send(name, to, { ...body, id, client: name } as Call);
  }

  #hear({ id, answer }: Reply): void {
    this.#pending.get(id)?.(answer);
  }

  #replica(attempt: number): string {
    const replicas = this.#options.replicas();
    const { random } = this.#options;
    const first = replicas[0] as string;
    return attempt === 0 && random.chance(0.9) ? first : random.pick(replicas);
  }

  #openSession(attempt = 0): void {
    this.#session = { state: 'opening' };
    const submission = {
      ...{ session: NO_SESSION, number: 0, answeredBelow: 0 },
      command: { kind: 'open-session' } as Command,
    };
    this.#call(this.#replica(attempt), { kind: 'submit', submission }, (answer) => {
      if (answer?.kind === 'result' && answer.result.kind === 'opened') {
        const id = answer.result.session;
        this.#session = { state: 'open', id, numbers: 0, unanswered: new Set() };
        this.#think();
      } else this.#openSession(attempt + 1);
    });
  }

  #read(): void {
    const { random, keys, name, world, operations } = this.#options;
    const several = random.chance(0.2);
    const wanted = several ? random.shuffle(keys).slice(0, 2) : [random.pick(keys)];
    const mode: ReadMode = random.chance(0.85) ? 'best' : random.pick(['quorum', 'log', 'weak']);
    const operation: Called = {
      ...{ kind: 'read', client: name, keys: wanted, calledMs: world.trueMs },
      ...{ returnedMs: undefined, answer: undefined },
    };
    if (mode !== 'weak') operations.push(operation);
    this.#busyLanes += 1;
    this.#call(this.#replica(0), { kind: 'read', keys: wanted, mode }, (answer) => {
      this.#busyLanes -= 1;
      if (answer?.kind === 'read') {
        operation.returnedMs = world.trueMs;
        operation.answer = answer;
        for (const found of answer.found) this.#seen.set(found.key, found);
      }
      this.#think();
    });
  }

  #write(): void {
    const session = this.#session;
    if (session.state !== 'open') {
      this.#think();
      return;
    }
    const { name, world, operations } = this.#options;
    const command = this.#drawCommand();
    session.numbers += 1;
    const number = session.numbers;
    session.unanswered.add(number);
    const operation: Called = {
      ...{ kind: 'write', client: name, command, session: session.id, number, calledMs: world.trueMs },
      ...{ returnedMs: undefined, result: undefined },
    };
    operations.push(operation);
    this.#busyLanes += 1;
    this.#send(operation, session, 0);
  }

  #send(
    operation: Extract<Called, { kind: 'write' }>,
    session: Extract<Session, { state: 'open' }>,
    attempt: number,
  ): void {
    const { command, number } = operation;
    const answeredBelow = Math.min(...session.unanswered);
    const submission = { session: session.id, number, answeredBelow, command };
    this.#call(this.#replica(attempt), { kind: 'submit', submission }, (answer) => {
      if (answer?.kind !== 'result') {
        this.#send(operation, session, attempt + 1);
        return;
      }
      const { result } = answer;
      const told = result.kind === 'omitted' ? { ...result, kind: result.of, found: [] } : result;
      if (told.kind === 'done' || told.kind === 'unmet') {
        operation.returnedMs = this.#options.world.trueMs;
        operation.result = told;
        for (const found of told.found) this.#seen.set(found.key, found);
      } else if (result.kind === 'no-session' && this.#session === session) this.#session = { state: 'none' };
      session.unanswered.delete(number);
      this.#busyLanes -= 1;
      this.#think();
    });
  }

  #drawCommand(): Extract<Command, { kind: 'transaction' }> {
    const { random, keys } = this.#options;
    const [one, other] = random.shuffle(keys) as [string, string];
    const put = (key: string): Action => ({ do: 'put', key, value: encode(this.#value()) });
    const kind = random.pick([
      'put',
      'put',
      'put',
      'delete',
      'compare',
      'compare',
      'two',
      'read-and-write',
      'guarded',
    ] as const);
    switch (kind) {
      case 'put':
        return drawn([], [put(one)]);
      case 'delete':
        return drawn([], [{ do: 'delete', key: one }]);
      case 'compare':
        return drawn([this.#condition(one)], [put(one)]);
      case 'two':
        return drawn([], [put(one), put(other)]);
      case 'read-and-write':
        return drawn([], [{ do: 'get', key: one }, put(other)]);
      case 'guarded':
        return drawn([this.#condition(one)], [put(other)]);
    }
  }

  #condition(key: string): Condition {
    const revision = this.#seen.get(key)?.revision ?? 0;
    return revision === 0 ? { key, is: 'absent' } : { key, is: 'revision', revision };
  }

  #value(): string {
    this.#values += 1;
    return `${this.#options.name}:${this.#values}`;
  }
}

const drawn = (conditions: readonly Condition[], actions: readonly Action[]) =>
  transaction(conditions, actions) as Extract<Command, { kind: 'transaction' }>;
