/**
 * The target's half of moves: what is taken in, from whom, and what becomes of it.
 *
 *     receive          hello, proofs            names, chunks              last, same digest
 *     ───────► known ───────────────► proved ───────────────► staging ───────────────────────► complete ──► commit or discard
 *                ▲                       line lost, another attempt │
 *                └───────────── the stage is emptied ◄──────────────┘
 *
 * **A frame counts only** for a ticket that the core has named, from the incarnation that the core has named, proved on this very line, if the line is that of
 * the latest attempt, and if it has the next number. A ticket that the core did not name is refused before any signature is made or checked,
 * so strangers cost no more than their connection; and a line that is not proved displaces nothing.
 *
 * **An acknowledgement means that the items are staged**: it is sent when `stage.add` has resolved, and no frame is looked at before the one ahead is staged. So
 * at most the source's window waits here, and a source that sends more than that is refused.
 *
 * **A complete import is kept** until the core commits or discards it, whatever becomes of the line: the digest may have been reported, and then a
 * Manager may commit the move without another word. No further attempt of its ticket is taken.
 *
 * One chunk is decoded in a turn of the event loop, because that takes time from requests.
 */

import { assert } from '../../../runtime/assert.ts';
import { type LeaseholdError, MalformedMessageError, RefusedError } from '../../../runtime/errors.ts';
import { TransportClosedError } from '../../../node/tcp/errors.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { AtEndOfTurn } from '../../../runtime/turn.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import { isTransferProof, proveTransfer, type TransferFacts } from '../../core/moves/proof.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import {
  type ChunkFrame,
  decodeFromSource,
  encodeFromTarget,
  formatDigest,
  type FromSource,
  type FromTarget,
  type LastFrame,
  type NamesFrame,
  type SourceHello,
  type TransferFrame,
  type TransferProofMessage,
  WINDOW_BYTES,
} from '../../wire/transfer.ts';
import type { Stage } from '../state/movable.ts';
import { type CarriedState, reason } from './carried-state.ts';
import type { AcceptedLine, LineEnd } from './carriage.ts';
import { bytesOf, FrameDigest, isSameDigest } from './frame-digest.ts';

/** From the opening of a line to the proof of the source. */
const PROOF_MS = 2_000;

export interface StageDependencies {
  readonly pool: string;
  readonly signer: Signer;
  readonly verifier: Verifier;
  readonly runtime: Runtime;
  readonly atEndOfTurn: AtEndOfTurn;
  readonly logger: Logger;
  readonly stallTimeoutMs: number;
  state(name: string): CarriedState | undefined;
  /** In a later turn. */
  say(input: MoveInput): void;
  /** Items and bytes of items that were staged. */
  counted(items: number, bytes: number): void;
}

/** A ticket that the core has named. */
export interface ReceiveOrder {
  readonly ticket: string;
  readonly span: Span;
  /** The incarnation that brings the state. */
  readonly from: string;
  readonly fromName: string;
}

export class Stages implements Disposable {
  readonly #given: StageDependencies;
  readonly #imports = new Map<string, Import>();

  constructor(given: StageDependencies) {
    this.#given = given;
  }

  receive(order: ReceiveOrder): void {
    if (!this.#imports.has(order.ticket)) this.#imports.set(order.ticket, new Import(order, this.#given));
  }

  /** In the turn of the grant. */
  commit(ticket: string, spans: readonly NumberedSpan[]): void {
    this.#imports.get(ticket)?.commit(spans);
    this.#imports.delete(ticket);
  }

  discard(ticket: string): void {
    this.#imports.get(ticket)?.end('the keys do not come by this ticket any more');
    this.#imports.delete(ticket);
  }

  /** A peer has connected. */
  readonly accept = (line: AcceptedLine): LineEnd => new Visitor(line, this.#given, this.#imports);

  [Symbol.dispose](): void {
    for (const ticket of [...this.#imports.keys()]) this.discard(ticket);
  }
}

const notAllowed = (why: string): RefusedError => new RefusedError('NOT_ALLOWED', why, { module: 'pool' });

/** A peer, from its connection to its end: first a stranger, then the source of one import. */
class Visitor implements LineEnd {
  readonly #line: AcceptedLine;
  readonly #given: StageDependencies;
  readonly #imports: ReadonlyMap<string, Import>;
  readonly #deadline: Disposable;
  #hello: SourceHello | undefined;
  #import: Import | undefined;
  #isOver = false;

  constructor(line: AcceptedLine, given: StageDependencies, imports: ReadonlyMap<string, Import>) {
    this.#line = line;
    this.#given = given;
    this.#imports = imports;
    const { runtime } = given;
    this.#deadline = runtime.wakeAt(later(runtime.now(), PROOF_MS), () =>
      this.refuse('NOT_PROVED', `no proof came within ${PROOF_MS} ms`),
    );
  }

  /** @internal */
  received(frame: Uint8Array): void {
    if (this.#isOver) return;
    let message: FromSource;
    try {
      message = decodeFromSource(frame);
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error;
      this.refuse(error.code, error.message);
      return;
    }
    if (message.kind === 'hello') this.#greet(message);
    else if (message.kind === 'proof') this.#prove(message);
    else if (this.#import === undefined) this.refuse('NOT_PROVED', `${message.kind} came before the proof`);
    else this.#import.take(this, message, frame);
  }

  /** @internal */
  closed(): void {
    this.#end();
    this.#import?.lost(this);
  }

  #greet(hello: SourceHello): void {
    const { ticket, from, to } = hello;
    const { signer } = this.#given;
    const known = this.#imports.get(ticket);
    if (this.#hello !== undefined) this.refuse('OUT_OF_TURN', 'a second hello');
    else if (known?.order.from !== from || to !== signer.incarnation)
      this.refuse('UNKNOWN_TICKET', 'this owner awaits nothing by this ticket from this incarnation');
    else {
      const refusal = this.#line.refuses(known.order.fromName);
      if (refusal !== undefined) {
        this.refuse(refusal.code, refusal.message);
        return;
      }
      this.#hello = hello;
      this.say({ kind: 'proof', ...proveTransfer(signer, 'target', this.#facts(hello)) });
    }
  }

  #facts({ ticket, nonce, from, to }: SourceHello): TransferFacts {
    return { nonce, channel: this.#line.channel, pool: this.#given.pool, ticket, from, to };
  }

  #prove(proof: TransferProofMessage): void {
    const hello = this.#hello;
    if (hello === undefined || this.#import !== undefined) {
      this.refuse('OUT_OF_TURN', 'a proof out of turn');
      return;
    }
    if (!isTransferProof(proof, 'source', this.#facts(hello), this.#given.verifier)) {
      this.refuse('NOT_PROVED', 'the signature does not prove the incarnation of the source on this line');
      return;
    }
    const known = this.#imports.get(hello.ticket); // It may be over by now.
    if (known === undefined)
      this.refuse('UNKNOWN_TICKET', 'this owner awaits nothing by this ticket any more');
    else if (known.isComplete) this.refuse('COMPLETE', 'everything of this ticket is staged already');
    else if (hello.attempt <= known.attempt) this.refuse('OLD_ATTEMPT', 'a later attempt has been here');
    else {
      this.#deadline[Symbol.dispose]();
      this.#line.admit();
      this.#import = known;
      known.begin(this, hello.attempt);
      this.say({ kind: 'ready' });
    }
  }

  say(message: FromTarget): void {
    if (!this.#isOver) this.#line.send(encodeFromTarget(message));
  }

  /** The peer breaks the protocol. */
  refuse(code: string, why: string): void {
    this.#dismiss(code, why, notAllowed(why));
  }

  /** The peer has done nothing wrong, but nothing more is taken from it. */
  dismiss(code: string, why: string): void {
    this.#dismiss(code, why, new TransportClosedError(why));
  }

  #dismiss(code: string, why: string, error: LeaseholdError): void {
    if (this.#isOver) return;
    this.#end();
    this.#line.close(error, encodeFromTarget({ kind: 'refused', code, why }));
    this.#import?.lost(this);
  }

  #end(): void {
    this.#isOver = true;
    this.#deadline[Symbol.dispose]();
  }
}

interface Waiting {
  readonly message: TransferFrame;
  readonly frame: Uint8Array;
}

/** What comes by one ticket. */
class Import {
  readonly order: ReceiveOrder;
  readonly #given: StageDependencies;
  readonly #keys: RangeSet;
  /** The latest that was proved. */
  attempt = 0;
  isComplete = false;
  #visitor: Visitor | undefined;
  #states: readonly CarriedState[] = [];
  #stages: Stage<unknown>[] = [];
  #received = new FrameDigest();
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #isStaging = false;
  #progressAt: Instant;
  #looking: Disposable | undefined;

  constructor(order: ReceiveOrder, given: StageDependencies) {
    this.order = order;
    this.#given = given;
    this.#keys = RangeSet.of([order.span]);
    this.#progressAt = given.runtime.now();
  }

  /** A proved source begins an attempt: nothing of the earlier one counts. */
  begin(visitor: Visitor, attempt: number): void {
    const earlier = this.#visitor;
    this.#visitor = undefined;
    earlier?.dismiss('OLD_ATTEMPT', 'a later attempt has begun');
    this.#empty();
    this.attempt = attempt;
    this.#visitor = visitor;
    this.#progressAt = this.#given.runtime.now();
    this.#look();
  }

  /** The line of this visitor is over. */
  lost(visitor: Visitor): void {
    if (this.#visitor !== visitor) return;
    this.#visitor = undefined;
    if (!this.isComplete) this.#empty();
  }

  take(visitor: Visitor, message: TransferFrame, frame: Uint8Array): void {
    if (this.#visitor !== visitor) return;
    const next = this.#received.next;
    const isTooMuch = this.#waiting.length > 0 && this.#waitingBytes + frame.length > WINDOW_BYTES;
    if (this.isComplete) visitor.refuse('COMPLETE', 'everything of this ticket is staged already');
    else if (message.sequence !== next)
      visitor.refuse('OUT_OF_ORDER', `frame ${message.sequence} came where ${next} was to come`);
    else if ((message.kind === 'names') !== (message.sequence === 1))
      visitor.refuse('OUT_OF_TURN', 'the names are the first frame, and no other');
    else if (isTooMuch)
      visitor.refuse('TOO_MUCH', `more than ${WINDOW_BYTES} bytes without an acknowledgement`);
    else {
      if (message.kind !== 'last') this.#received.add(frame, message.kind === 'chunk' ? message.items : []);
      this.#waiting.push({ message, frame });
      this.#waitingBytes += frame.length;
      if (!this.#isStaging) this.#stageNext();
    }
  }

  #stageNext(): void {
    const next = this.#waiting[0];
    const visitor = this.#visitor;
    if (next === undefined || visitor === undefined) return;
    const { message } = next;
    this.#isStaging = true;
    if (message.kind === 'last') this.#finish(visitor, message);
    else if (message.kind === 'names') this.#open(visitor, message);
    else this.#stage(visitor, message);
  }

  /** The frame at the head of the queue is staged. */
  #staged(visitor: Visitor): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#waitingBytes -= next.frame.length;
    this.#progressAt = this.#given.runtime.now();
    visitor.say({ kind: 'acknowledged', sequence: next.message.sequence });
    this.#given.atEndOfTurn(() => {
      if (this.#visitor !== visitor) return;
      this.#isStaging = false;
      this.#stageNext();
    });
  }

  #open(visitor: Visitor, { names }: NamesFrame): void {
    const states: CarriedState[] = [];
    for (const { name, version } of names) {
      const state = this.#given.state(name);
      if (state === undefined) {
        this.#fail(visitor, 'UNKNOWN_NAME', `this owner has no state of the name ${name}`);
        return;
      }
      if (state.version !== version && !state.reads.includes(version)) {
        const why = `this owner does not read version ${version} of ${name}, but ${[state.version, ...state.reads].join(', ')}`;
        this.#fail(visitor, 'UNREADABLE_VERSION', why);
        return;
      }
      states.push(state);
    }
    this.#states = states;
    for (const { name, state } of states) {
      try {
        this.#stages.push(state.stage(this.#keys));
      } catch (thrown) {
        this.#fail(visitor, 'STAGE_FAILED', `no stage for ${name}: ${reason(thrown)}`);
        return;
      }
    }
    this.#staged(visitor);
  }

  #stage(visitor: Visitor, { place, items }: ChunkFrame): void {
    const stage = this.#stages[place];
    const state = this.#states[place];
    if (items.length === 0) {
      this.#staged(visitor); // A sign of life.
      return;
    }
    if (stage === undefined || state === undefined) {
      this.#fail(visitor, 'OUT_OF_TURN', `there is no name at place ${place}`);
      return;
    }
    const failed = (thrown: unknown): void =>
      this.#fail(visitor, 'STAGE_FAILED', `items of ${state.name} cannot be staged: ${reason(thrown)}`);
    let added: Promise<void> | void;
    try {
      added = stage.add(items.map((item) => state.codec.decode(item)));
    } catch (thrown) {
      failed(thrown);
      return;
    }
    const done = (): void => {
      // The ticket, or the attempt, may be over by now.
      if (this.#visitor !== visitor || this.#stages[place] !== stage) return;
      this.#given.counted(items.length, bytesOf(items));
      this.#staged(visitor);
    };
    if (added === undefined) done();
    else Promise.resolve(added).then(done, failed);
  }

  #finish(visitor: Visitor, { digest }: LastFrame): void {
    if (!isSameDigest(digest, this.#received.digest)) {
      const [theirs, ours] = [formatDigest(digest), formatDigest(this.#received.digest)];
      this.#fail(visitor, 'WRONG_DIGEST', `the source has sent ${theirs}, and ${ours} arrived`);
      return;
    }
    this.isComplete = true;
    this.#waiting = [];
    this.#looking?.[Symbol.dispose]();
    visitor.say({ kind: 'staged', digest });
    this.#given.say({ is: 'staged', ticket: this.order.ticket, digest: formatDigest(digest) });
  }

  #fail(visitor: Visitor, code: string, why: string): void {
    if (this.#visitor !== visitor || this.isComplete) return;
    const { ticket, from } = this.order;
    this.#given.logger.warn('state that another owner brings is refused; its keys stay there', {
      ...{ ticket, from, code, why },
    });
    visitor.dismiss(code, why);
    this.#given.say({ is: 'unstaged', ticket });
  }

  /** Looks four times in each time limit whether anything comes, or gets staged. */
  #look(): void {
    const { runtime, stallTimeoutMs } = this.#given;
    this.#looking = runtime.wakeAt(later(runtime.now(), stallTimeoutMs / 4), () => {
      const visitor = this.#visitor;
      if (visitor === undefined || this.isComplete) return;
      if (runtime.now() < later(this.#progressAt, stallTimeoutMs)) this.#look();
      else if (this.#isStaging)
        this.#fail(visitor, 'STALLED', `a stage did not take items within ${stallTimeoutMs} ms`);
      else this.#fail(visitor, 'STALLED', `nothing came for ${stallTimeoutMs} ms`);
    });
  }

  /** Drops what is staged. */
  #empty(): void {
    this.#looking?.[Symbol.dispose]();
    const stages = this.#stages;
    this.#stages = [];
    this.#received = new FrameDigest();
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#isStaging = false;
    for (const [place, stage] of stages.entries()) this.#try('discard', place, () => stage.discard());
  }

  /** These keys are this owner's now; what is staged for others goes. */
  commit(spans: readonly NumberedSpan[]): void {
    assert(this.isComplete, 'only a complete import is committed');
    const byNumber = new Map<number, NumberedSpan[]>();
    for (const span of spans) byNumber.set(span.number, [...(byNumber.get(span.number) ?? []), span]);
    for (const [number, numbered] of byNumber) {
      const keys = RangeSet.of(numbered).intersect(this.#keys);
      for (const [place, stage] of this.#stages.entries())
        this.#try('commit', place, () => stage.commit(keys, number));
    }
    this.#stages = [];
    this.end('the keys have arrived');
  }

  /** The ticket is over. */
  end(why: string): void {
    const visitor = this.#visitor;
    this.#visitor = undefined;
    visitor?.dismiss('OVER', why);
    this.#empty();
  }

  #try(what: 'commit' | 'discard', place: number, run: () => void): void {
    try {
      run();
    } catch (thrown) {
      const state = this.#states[place]?.name ?? '';
      const { logger } = this.#given;
      const facts = { state, ticket: this.order.ticket, why: reason(thrown) };
      if (what === 'commit') logger.error('commit failed; state that has arrived may be missing here', facts);
      else logger.error('discard failed; state that does not come may still be in memory', facts);
    }
  }
}
