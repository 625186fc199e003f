/**
 * One turn of one object: the handler runs with the state, and whatever it does becomes an answer.
 *
 *     args ─► state, onLoad ─► handler ─► result as plain data ─► state saved ─► finished
 *               └─ throws: the object is as it was
 *                                 └─ throws: answered by the error; what it changed stays
 *
 * The handler has a context that ends with the turn: a handler that goes on in the background would change the state within another turn, so
 * whatever it still asks of its context is refused.
 */

import type { AbortReason, Turn, TurnEnd } from '../core/turns.ts';
import type {
  AnyKind,
  CheckedDefinition,
  Handler,
  HeldObject,
  ObjectContext,
  Objects,
} from '../core/define-object.ts';
import { changedByRead, turnOver } from '../core/errors.ts';
import { present } from '../../runtime/assert.ts';
import { decodePlain } from '../wire/plain-data.ts';
import { errorAnswer, valueAnswer } from '../wire/thrown.ts';
import type { ObjectSlot } from './object-slot.ts';

export type SlotTurn = Turn<ObjectSlot>;

/** What a turn asks of its process. */
export interface TurnSurroundings {
  isHeld(turn: SlotTurn): boolean;
  /** Calls to other objects, from within the turn. */
  objects<K extends AnyKind>(kind: K, turn: SlotTurn): Objects<K>;
}

export class TurnRunner {
  readonly #definition: CheckedDefinition;
  readonly #turn: SlotTurn;
  readonly #stop = new Stop();
  readonly #context: TurnContext;
  #isDeleted = false;

  constructor(surroundings: TurnSurroundings, definition: CheckedDefinition, turn: SlotTurn) {
    this.#definition = definition;
    this.#turn = turn;
    this.#context = new TurnContext(turn, this.#stop, surroundings, () => (this.#isDeleted = true));
  }

  /** The handler is asked to stop. The turn goes on until the handler does. */
  abort(why: AbortReason): void {
    this.#stop.abort(why);
  }

  /** Never rejects. */
  async run(): Promise<TurnEnd> {
    await undefined; // The caller has its promise before any code of the application runs.
    const { slot } = this.#turn;
    try {
      const how = slot.load(this.#definition, this.#turn.key);
      if (how !== undefined) await this.#definition.onLoad?.(this.#context, how);
      if (how === 'stored') slot.save(this.#definition); // A read is compared with what onLoad has made of it.
    } catch (error) {
      slot.takeBack();
      this.#context.end();
      return { answer: errorAnswer(error), change: 'none' };
    }
    const end = await this.#handle();
    this.#context.end();
    return end;
  }

  async #handle(): Promise<TurnEnd> {
    const { isRead, slot } = this.#turn;
    const change = (): TurnEnd['change'] => (this.#isDeleted ? 'deleted' : 'kept');
    try {
      const { name, args } = this.#turn;
      const { calls, reads } = this.#definition;
      const handler: Handler = present((isRead ? reads : calls)[name], 'a call that was checked');
      const result = await handler(this.#context, ...(decodePlain(args) as readonly unknown[]));
      const answer = valueAnswer(result);
      this.#keep();
      return { answer, change: change() };
    } catch (error) {
      return { answer: this.#keepAfter(error), change: isRead ? 'none' : change() };
    } finally {
      if (isRead && this.#turn.isNew) slot.takeBack();
    }
  }

  #keepAfter(error: unknown): TurnEnd['answer'] {
    try {
      this.#keep();
    } catch (why) {
      return errorAnswer(why); // A state that cannot be saved is worse than what the handler threw.
    }
    return errorAnswer(error);
  }

  #keep(): void {
    const { isRead, slot } = this.#turn;
    if (!isRead) {
      if (!this.#isDeleted) slot.save(this.#definition);
    } else if (!slot.isUnchanged(this.#definition)) {
      slot.takeBack();
      throw changedByRead(this.#turn);
    }
  }
}

const REASONS: Readonly<Record<AbortReason, string>> = {
  over: 'the time of the call is over',
  cancelled: 'the caller has given the call up',
  lost: 'the key was lost',
  closed: 'the objects are being closed',
};

/** A signal that is made when a handler first looks at it: most never do, and a signal costs as much as the rest of a turn. */
class Stop {
  #controller: AbortController | undefined;
  #why: AbortReason | undefined;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#why !== undefined) this.abort(this.#why);
    }
    return this.#controller.signal;
  }

  abort(why: AbortReason): void {
    this.#why ??= why;
    this.#controller?.abort(new DOMException(REASONS[this.#why], 'AbortError'));
  }
}

class HeldTurn implements HeldObject {
  readonly key: string;
  readonly number: number;
  readonly #turn: SlotTurn;
  readonly #stop: Stop;
  readonly #surroundings: TurnSurroundings;

  constructor(turn: SlotTurn, stop: Stop, surroundings: TurnSurroundings) {
    this.key = turn.key;
    this.number = turn.number;
    this.#turn = turn;
    this.#stop = stop;
    this.#surroundings = surroundings;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  isHeld(): boolean {
    return this.#surroundings.isHeld(this.#turn);
  }
}

class TurnContext implements ObjectContext<unknown> {
  readonly key: string;
  readonly held: HeldObject;
  readonly #turn: SlotTurn;
  readonly #surroundings: TurnSurroundings;
  readonly #onDelete: () => void;
  #isOver = false;

  constructor(turn: SlotTurn, stop: Stop, surroundings: TurnSurroundings, onDelete: () => void) {
    this.key = turn.key;
    this.held = new HeldTurn(turn, stop, surroundings);
    this.#turn = turn;
    this.#surroundings = surroundings;
    this.#onDelete = onDelete;
  }

  get state(): unknown {
    return this.#live().state;
  }

  set state(state: unknown) {
    this.#live().state = state;
  }

  objects<K extends AnyKind>(kind: K): Objects<K> {
    this.#live();
    return this.#surroundings.objects(kind, this.#turn);
  }

  delete(): void {
    this.#live();
    this.#onDelete();
  }

  end(): void {
    this.#isOver = true;
  }

  #live(): { state: unknown } {
    const { kind, key, slot } = this.#turn;
    if (this.#isOver) throw turnOver(kind, key);
    return present(slot.live, 'the state of an object in its turn');
  }
}
