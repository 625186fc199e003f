/**
 * Carries the state of keys between this owner and others: the registry of what can move, the streams of the tickets by which keys leave, and the
 * stages of those by which keys come.
 *
 * **Every input is said in a later turn than the effect that it answers**, so the core is never entered while it tells effects; but `sealed`, which
 * belongs to the turn of the freeze. Inputs are said in the order of their events.
 *
 * **A state that is registered while keys leave** is not in the names that their target has agreed to, and would stay behind in silence. So these moves
 * fail, and the next ticket has all names.
 */

import { invalidOption } from '../../../runtime/errors.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { type AtEndOfTurn, OncePerTurn } from '../../../runtime/turn.ts';
import { MOST_TICKETS } from '../../core/moves/limits.ts';
import type { MovableName, MoveInput } from '../../core/moves/seam.ts';
import type { ItemCodec, Movable } from '../state/movable.ts';
import type { CarriedState } from './carried-state.ts';
import type { Carriage } from './carriage.ts';
import type { Carried, CarrierEffect, KeyCarrier } from './key-carrier.ts';
import { OutgoingStream } from './outgoing-stream.ts';
import { SendLimits } from './send-limits.ts';
import { Stages } from './stages.ts';

export interface MoveCarrierDependencies {
  readonly pool: string;
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly carriage: Carriage;
  readonly runtime: Runtime;
  readonly atEndOfTurn: AtEndOfTurn;
  /** 16 random bytes, in hexadecimal. */
  readonly newNonce: () => string;
  readonly logger: Logger;
  readonly bytesPerSecond?: number | undefined;
  readonly stallTimeoutMs: number;
  readonly defaultCodec: ItemCodec<unknown>;
  say(input: MoveInput): void;
}

export class MoveCarrier implements KeyCarrier {
  readonly #given: MoveCarrierDependencies;
  readonly #states = new Map<string, CarriedState>();
  readonly #streams = new Map<string, OutgoingStream>();
  readonly #stages: Stages;
  readonly #limits: SendLimits;
  readonly #sent = { items: 0, bytes: 0 };
  readonly #received = { items: 0, bytes: 0 };
  readonly #telling: OncePerTurn;
  #inputs: MoveInput[] = [];
  #isClosed = false;

  constructor(given: MoveCarrierDependencies) {
    this.#given = given;
    this.#limits = new SendLimits(given);
    this.#telling = new OncePerTurn(given.atEndOfTurn, () => {
      const inputs = this.#inputs;
      this.#inputs = [];
      for (const input of inputs) if (!this.#isClosed) given.say(input);
    });
    this.#stages = new Stages({
      ...given,
      state: (name) => this.#states.get(name),
      say: (input) => this.#say(input),
      counted: (items, bytes) => count(this.#received, items, bytes),
    });
    given.carriage.accept(this.#stages.accept);
  }

  get address(): string {
    return this.#given.carriage.address;
  }

  get names(): readonly MovableName[] {
    return this.#sorted().map(({ name, version, reads }) => ({ name, version, reads }));
  }

  get sent(): Carried {
    return { ...this.#sent };
  }

  get received(): Carried {
    return { ...this.#received };
  }

  movable<Item>(name: string, state: Movable<Item>): void {
    if (this.#states.has(name))
      throw invalidOption(
        'name',
        name,
        'this owner has state of that name: give each state a name of its own',
      );
    if (this.#states.size >= MOST_TICKETS)
      throw invalidOption('name', name, `${MOST_TICKETS} states move already: put several into one`);
    const { version = 1, reads = [], codec = this.#given.defaultCodec } = state;
    // What this owner reads goes back to the very state it is of, so the type of its items need not be known here.
    const carried: CarriedState = {
      ...{ name, version, reads },
      state: state as unknown as Movable<unknown>,
      codec: codec as ItemCodec<unknown>,
    };
    this.#states.set(name, carried);
    for (const stream of this.#streams.values())
      stream.fail(`the state ${name} was added while the keys were on their way`);
    this.#forgetOver();
  }

  execute(effect: CarrierEffect): void {
    if (this.#isClosed) return;
    switch (effect.do) {
      case 'stream':
        this.#stream(effect);
        break;
      case 'resume':
        this.#streams.get(effect.ticket)?.resume();
        break;
      case 'freeze':
        this.#streams.get(effect.ticket)?.freeze();
        break;
      case 'handed':
        this.#streams.get(effect.ticket)?.handed();
        break;
      case 'abandon':
        this.#streams.get(effect.ticket)?.end();
        break;
      case 'receive': {
        const { ticket, span, from, fromName } = effect;
        this.#stages.receive({ ticket, span, from, fromName });
        break;
      }
      case 'commit':
        this.#stages.commit(effect.ticket, effect.spans);
        break;
      case 'discard':
        this.#stages.discard(effect.ticket);
        break;
      case 'departed':
        this.#decided(effect.spans, true);
        break;
      case 'returned':
        this.#decided(effect.spans, false);
        break;
    }
    this.#forgetOver();
  }

  #stream(effect: CarrierEffect & { readonly do: 'stream' }): void {
    const { ticket, span, to, toName, address } = effect;
    if (this.#streams.has(ticket)) return;
    // Keys that are held again are not handed any more, whatever has become of them meanwhile.
    this.#decided([span], false);
    const keys = RangeSet.of([span]);
    const order = { ticket, keys, to, toName, address, states: this.#sorted() };
    const stream = new OutgoingStream(order, {
      ...this.#given,
      limits: this.#limits,
      say: (input) => this.#say(input),
      sayNow: (input) => this.#given.say(input),
      counted: (items, bytes) => count(this.#sent, items, bytes),
    });
    this.#streams.set(ticket, stream);
  }

  #decided(spans: readonly Span[], moved: boolean): void {
    for (const stream of this.#streams.values()) stream.decided(spans, moved);
  }

  /** A stream that has failed is over: an acknowledgement that was not told yet must not hand keys over whose memory nobody would free. */
  #say(input: MoveInput): void {
    if (input.is === 'failed') this.#inputs = this.#inputs.filter(({ ticket }) => ticket !== input.ticket);
    this.#inputs.push(input);
    this.#telling.soon();
    this.#forgetOver();
  }

  #forgetOver(): void {
    for (const [ticket, stream] of this.#streams) if (stream.isOver) this.#streams.delete(ticket);
  }

  /** In the same order at both ends, whenever they were registered. */
  #sorted(): readonly CarriedState[] {
    return [...this.#states.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of this.#streams.values()) stream.end();
    this.#streams.clear();
    this.#stages[Symbol.dispose]();
    await this.#given.carriage[Symbol.asyncDispose]();
  }
}

function count(carried: { items: number; bytes: number }, items: number, bytes: number): void {
  carried.items += items;
  carried.bytes += bytes;
}
