/**
 * Serves the callers of one replica: clients over TCP, and the client in the replica's own process.
 *
 * The calls of one packet are one input of the replica, and the answers to them are one packet back.
 * Watches are served from the history of changes; a caller that does not read is cut off by the transport, not here.
 */

import type { Answer } from '../core/answer.ts';
import { type Found, foundBytes, omitted } from '../core/result.ts';
import type { Change } from '../core/membership.ts';
import type { ReplicaCall } from '../core/requests.ts';
import { nameOf } from '../core/founding.ts';
import { ANSWER_BYTES_MAX } from '../wire/bounds.ts';
import { ANSWER_TOO_LARGE, type Call, type KeyRange, type Reply } from '../wire/calls.ts';
import type { HistoryEvents, SlotChanges } from './change-history.ts';
import { packets, replyBytes } from './packets.ts';
import type { AnswerPort, ReplicaHost } from './replica-host.ts';

/** The replica around the core, as the desk needs it. */
export interface DeskOptions {
  readonly host: ReplicaHost;
  /** The state of this replica, as JSON. */
  status(): string;
  /** Storage ids of replicas that were heard of under a name, the newest first; members and others. */
  storagesOf(name: string): readonly string[];
  isConnected(storage: string): boolean;
  addressOf(storage: string): string | undefined;
}

interface Watch extends KeyRange {
  readonly caller: Caller;
  readonly id: number;
  /** The last position that the caller was told. */
  position: number;
}

export class Caller implements AnswerPort {
  readonly #send: (replies: readonly Reply[]) => void;
  #replies: Reply[] = [];

  constructor(send: (replies: readonly Reply[]) => void) {
    this.#send = send;
  }

  answered(id: number, answer: Answer): void {
    this.#replies.push({ kind: 'answer', id, answer });
  }

  reply(reply: Reply): void {
    this.#replies.push(reply);
  }

  flush(): void {
    if (this.#replies.length === 0) return;
    const replies = this.#replies.map(withinBounds);
    this.#replies = [];
    for (const packet of packets(replies, replyBytes)) this.#send(packet);
  }
}

/** A client would refuse the whole packet, and wait in vain: it is told instead that the answer is too large. */
function withinBounds(reply: Reply): Reply {
  const bytes = replyBytes(reply);
  if (bytes <= ANSWER_BYTES_MAX) return reply;
  if (reply.kind === 'answer' && reply.answer.kind === 'result')
    return { ...reply, answer: { ...reply.answer, result: omitted(reply.answer.result) } };
  return { kind: 'failed', id: reply.id, code: ANSWER_TOO_LARGE, message: String(bytes) };
}

/** Collects the answers to reads of one key each. */
class FoundTogether implements AnswerPort {
  readonly #caller: Caller;
  readonly #id: number;
  readonly #found: Found[];
  #left: number;
  #refused: Answer | undefined;

  constructor(caller: Caller, id: number, found: Found[], left: number) {
    this.#caller = caller;
    this.#id = id;
    this.#found = found;
    this.#left = left;
  }

  answered(place: number, answer: Answer): void {
    this.#left -= 1;
    if (answer.kind === 'read') this.#found[place] = answer.found[0] as Found;
    else this.#refused = answer;
    if (this.#left === 0) this.reply();
  }

  flush(): void {
    this.#caller.flush();
  }

  /** If one of them was refused, the caller asks for all of them again. */
  reply(): void {
    const id = this.#id;
    if (this.#refused !== undefined) {
      this.#caller.answered(id, this.#refused);
      return;
    }
    const parts = packets(this.#found, (each) => foundBytes([each]));
    let first = 0;
    parts.forEach((found, at) => {
      this.#caller.reply({ kind: 'found', id, first, found, isLast: at === parts.length - 1 });
      first += found.length;
    });
  }
}

/** Watchers hear at least this often, in slots, the present position, even if no watched key has changed. */
const QUIET_SLOTS = 1_000;

export class CallDesk implements HistoryEvents {
  readonly #options: DeskOptions;
  readonly #watches = new Set<Watch>();

  constructor(options: DeskOptions) {
    this.#options = options;
  }

  get watches(): number {
    return this.#watches.size;
  }

  take(caller: Caller, calls: readonly Call[]): void {
    const direct = calls.filter((call) => call.kind === 'submit' || call.kind === 'read');
    if (direct.length > 0) this.#options.host.takeAll(direct, caller);
    if (direct.length < calls.length) for (const call of calls) this.#other(caller, call);
    caller.flush();
  }

  /** The caller is gone. Its writes go on. */
  gone(caller: Caller): void {
    for (const watch of this.#watches) if (watch.caller === caller) this.#watches.delete(watch);
  }

  /** The changes of the next committed slot. */
  changed({ slot, found }: SlotChanges): void {
    for (const watch of this.#watches) {
      if (watch.position >= slot) continue;
      const own = found.filter(({ key }) => isWithin(watch, key));
      if (own.length === 0 && slot - watch.position < QUIET_SLOTS) continue;
      this.#tell(watch, slot, own, false);
      watch.caller.flush();
    }
  }

  /** Watches that are not yet at this position are over, and told so; their callers begin them anew with all values. */
  skipped(position: number): void {
    for (const watch of [...this.#watches]) {
      if (watch.position >= position) continue;
      this.#watches.delete(watch);
      watch.caller.reply({ kind: 'watch-behind', id: watch.id, oldest: position });
      watch.caller.flush();
    }
  }

  #other(caller: Caller, call: Call): void {
    switch (call.kind) {
      case 'submit':
      case 'read':
        return;
      case 'read-each':
        this.#readEach(caller, call);
        return;
      case 'watch':
        this.#watch(caller, call);
        return;
      case 'unwatch':
        this.#unwatch(caller, call.id);
        return;
      case 'status':
        caller.reply({ kind: 'status', id: call.id, json: this.#options.status() });
        return;
      case 'change':
        this.#change(caller, call.id, call.change);
        return;
      case 'resolve':
        this.#resolve(caller, call.id, call.name);
        return;
      case 'step-down':
        this.#stepDown(caller, call.id, call.to);
        return;
    }
  }

  #readEach(caller: Caller, { id, mode, keys }: Extract<Call, { kind: 'read-each' }>): void {
    const { host } = this.#options;
    const found = mode === 'best' ? host.peekEach(keys) : new Array<Found | undefined>(keys.length);
    const calls: ReplicaCall[] = [];
    keys.forEach((key, place) => {
      if (found[place] === undefined) calls.push({ kind: 'read', id: place, mode, keys: [key] });
    });
    const together = new FoundTogether(caller, id, found as Found[], calls.length);
    if (calls.length === 0) together.reply();
    else host.takeAll(calls, together);
  }

  #unwatch(caller: Caller, id: number): void {
    for (const watch of this.#watches)
      if (watch.caller === caller && watch.id === id) this.#watches.delete(watch);
  }

  #watch(caller: Caller, { id, from, first, end }: Extract<Call, { kind: 'watch' }>): void {
    this.#unwatch(caller, id); // A watch that is begun again is one watch.
    const { history, replica } = this.#options.host;
    if (history === undefined || replica === undefined) {
      caller.answered(id, { kind: 'refused', why: 'not-ready' });
      return;
    }
    const watch: Watch = { caller, id, first, end, position: from ?? 0 };
    if (from === undefined) {
      const { position } = history;
      const all = replica.view.machine.snapshotAt(position).values;
      this.#tell(
        watch,
        position,
        all.filter(({ key }) => isWithin(watch, key)),
        true,
      );
    } else {
      const missed = history.since(from);
      if (missed === undefined) {
        caller.reply({ kind: 'watch-behind', id, oldest: history.oldest });
        return;
      }
      for (const { slot, found } of missed) {
        const own = found.filter(({ key }) => isWithin(watch, key));
        if (own.length > 0) this.#tell(watch, slot, own, false);
      }
    }
    this.#watches.add(watch);
  }

  #tell(watch: Watch, position: number, found: readonly Found[], isWhole: boolean): void {
    watch.position = position;
    watch.caller.reply({ kind: 'changes', id: watch.id, position, isWhole, found });
  }

  #change(caller: Caller, id: number, change: Change): void {
    if (!this.#isElsewhere(caller, id)) this.#options.host.change(change, caller, id);
  }

  /** The caller decides which directory is meant, once; a repeated change then names the same one. */
  #resolve(caller: Caller, id: number, name: string): void {
    if (this.#isElsewhere(caller, id)) return;
    const { host, storagesOf, isConnected } = this.#options;
    const { members = [], removed = [] } = host.replica?.view.log.newestConfiguration ?? {};
    const known = storagesOf(name);
    const member = members.find(({ storage }) => known.includes(storage))?.storage;
    const newcomers = known.filter(
      (storage) =>
        isConnected(storage) &&
        !removed.includes(storage) &&
        !members.some((each) => each.storage === storage),
    );
    const isMemberConnected = member !== undefined && isConnected(member);
    const wasRemoved = removed.some((storage) => nameOf(storage) === name || storage === name);
    caller.reply({ kind: 'resolved', id, member, isMemberConnected, newcomers, wasRemoved });
  }

  #stepDown(caller: Caller, id: number, to: string | undefined): void {
    if (this.#isElsewhere(caller, id)) return;
    const { host, storagesOf } = this.#options;
    const members = this.#members();
    const known = to === undefined ? members : storagesOf(to);
    const member = members.find((storage) => known.includes(storage));
    if (member === undefined || members.length === 1) {
      const why = member === undefined ? 'not-a-member' : 'no-other-member';
      caller.answered(id, { kind: 'not-changed', why });
      return;
    }
    host.stepDown(to === undefined ? undefined : member);
    caller.answered(id, { kind: 'changed', position: 0 });
  }

  /** Only the leader can change anything: the caller is told the leader's address. */
  #isElsewhere(caller: Caller, id: number): boolean {
    const { replica } = this.#options.host;
    if (replica?.role === 'leader') return false;
    const leader = replica?.leader;
    const address = leader === undefined ? undefined : this.#options.addressOf(leader);
    caller.reply({ kind: 'failed', id, code: 'not-leader', message: address ?? '' });
    return true;
  }

  #members(): readonly string[] {
    const { replica } = this.#options.host;
    return replica?.view.log.newestConfiguration.members.map(({ storage }) => storage) ?? [];
  }
}

const isWithin = ({ first, end }: KeyRange, key: string): boolean =>
  key >= first && (end === undefined || key < end);
