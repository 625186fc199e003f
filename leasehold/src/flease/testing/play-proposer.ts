/**
 * For tests only: plays a script to the proposer of a, in a group of a, b and c, and records the effects.
 *
 *     <ms> acquire|try|ask <id> | cancel <id> | release [<successor>] | notify [<by>] | enqueue <member> | regroup <members> | wake
 *     <ms> <members> promised|found <attempt> [<lease>] | accepted <attempt> | refused|refused-write <attempt> <why> [<round>]
 *     <ms> written <lease>       our own acceptor has this lease
 *            > <effect>        (one line each, in order; none if nothing is to happen)
 *
 * Members are letters: `bc` are b and c. A lease is `b#7@2000`, held by b under number 7 until 2000; `free:…`; or
 * `left:c:…`, for c. Everything is about one resource unless `of <resource>` ends the line. Our own acceptor answers
 * like any other: a answers, too.
 *
 * A lease is 1000 ms, clocks are within 50, the answer timeout is 100. The random number is always a half.
 */

import type { HeldLease } from '../core/held-lease.ts';
import type { Lease } from '../core/lease.ts';
import type { Answer, Item, RefusalReason } from '../core/messages.ts';
import { resolveFleaseDurations } from '../core/options.ts';
import { Proposer } from '../core/proposer.ts';
import type { ProposerEffect, ProposerEvent } from '../core/proposer-events.ts';
import type { ResourceState } from '../core/resource-state.ts';
import { type Entry, Table } from '../core/table.ts';
import { Quorums } from '../core/view.ts';

const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const RESOURCE = 'job';
const INCARNATION = 7;

/** The script as played, and as written: a failure shows one beside the other. */
export interface Played {
  readonly went: string;
  readonly written: string;
  /** Resources with anything left in the table. */
  readonly remembered: readonly string[];
}

/** @param busyFrom from this many attempts under way, an attempt asks only a majority */
export function play(script: string, busyFrom: number = Number.POSITIVE_INFINITY): Played {
  const stage = new Stage(busyFrom);
  const lines = script
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '');
  const went: string[] = [];
  for (const line of lines) {
    if (!line.startsWith('>')) went.push(line, ...stage.perform(line).map((effect) => `> ${effect}`));
  }
  return { went: went.join('\n'), written: lines.join('\n'), remembered: stage.remembered };
}

class Stage {
  readonly #proposer: Proposer;
  #effects: string[] = [];
  /** The last item and its receivers: the same item to several is one line. */
  #said = '';
  #held: HeldLease | undefined;
  /** With the registers of our own acceptor. */
  readonly #table = new Table<ResourceState>();

  constructor(busyFrom: number) {
    this.#proposer = new Proposer(
      {
        ...{ id: 'a', incarnation: INCARNATION, durations: DURATIONS, random: () => 0.5, busyFrom },
        table: this.#table,
      },
      new Quorums({ members: ['a', 'b', 'c'], before: undefined }),
    );
  }

  get remembered(): readonly string[] {
    return [...this.#table.entries()].map(({ resource }) => resource);
  }

  perform(line: string): readonly string[] {
    this.#effects = [];
    this.#said = '';
    const [words = '', resource = RESOURCE] = line.split(' of ');
    const [ms, ...rest] = words.split(' ');
    for (const effect of this.#input(rest, resource, Number(ms))) this.#execute(effect);
    return this.#effects;
  }

  #input(
    [verb = '', ...words]: readonly string[],
    resource: string,
    nowMs: number,
  ): readonly ProposerEffect[] {
    const [word = ''] = words;
    const proposer = this.#proposer;
    switch (verb) {
      case 'acquire':
      case 'try':
      case 'ask':
        return proposer.request(resource, { kind: verb, id: Number(word) }, nowMs);
      case 'cancel':
        return proposer.cancel(resource, Number(word), nowMs);
      case 'release':
        if (this.#held === undefined) throw new Error('nothing was granted that could be released');
        return proposer.release(this.#held, nowMs, words[0]);
      case 'notify':
        return proposer.notify(resource, word, nowMs);
      case 'written':
        Object.assign(this.#table.findOrAdd(resource), ownOf(leaseOf(word)));
        return [];
      case 'enqueue':
        return proposer.enqueue(resource, word);
      case 'regroup':
        return proposer.regroup(new Quorums({ members: [...word], before: undefined }), nowMs);
      case 'wake':
        return proposer.wake(nowMs);
      default:
        return [...verb].flatMap((member) => proposer.answer(member, answerOf(words), nowMs));
    }
  }

  #execute(effect: ProposerEffect): void {
    if (effect.do === 'tell') this.#tell(effect.event);
    else for (const member of effect.to) this.#send(member, effect.item);
  }

  #send(to: string, item: Item): void {
    const said = showItem(item);
    if (said === this.#said) this.#effects[this.#effects.length - 1] += to;
    else this.#effects.push(`${said} to ${to}`);
    this.#said = said;
  }

  #tell(event: ProposerEvent): void {
    if (event.kind === 'granted') this.#held = event.held;
    this.#said = '';
    this.#effects.push(showEvent(event));
  }
}

function answerOf([kind, number, ...words]: readonly string[]): Answer {
  const attempt = Number(number);
  const [word = '', detail = '0'] = words;
  switch (kind) {
    case 'accepted':
      return { kind, attempt };
    case 'promised':
    case 'found': {
      if (word === '') return { kind, attempt, written: undefined, lease: undefined };
      const { written, lease } = ownOf(leaseOf(word));
      return { kind, attempt, written, lease };
    }
    case 'refused':
    case 'refused-write': {
      const of = kind === 'refused' ? 'read' : 'write';
      return { kind: 'refused', attempt, of, why: word as RefusalReason, detail: Number(detail) };
    }
    default:
      throw new Error(`nobody answers "${kind}"`);
  }
}

function ownOf(lease: Lease): Pick<Entry, 'promised' | 'written' | 'lease'> {
  const { holder: member, incarnation, untilMs } = lease;
  const askedMs = untilMs - DURATIONS.leaseMs;
  const ballot = { askedMs, round: 1, member, incarnation, attempt: askedMs };
  return { promised: ballot, written: ballot, lease };
}

function leaseOf(text: string): Lease {
  const parts = /^(?:(free|left):)?(?:(\w):)?(\w)#(\d+)@(\d+)$/.exec(text);
  if (parts === null) throw new Error(`"${text}" is no lease`);
  const [, state = 'held', successor, holder = '', number, untilMs] = parts;
  return {
    ...{
      holder,
      incarnation: holder === 'a' ? INCARNATION : 1,
      number: Number(number),
      untilMs: Number(untilMs),
    },
    ...{ state: state as Lease['state'], successor },
  };
}

const showLease = ({ state, successor, holder, number, untilMs }: Lease): string =>
  `${state === 'held' ? '' : `${state}:`}${successor === undefined ? '' : `${successor}:`}${holder}#${number}@${untilMs}`;

function showItem(item: Item): string {
  switch (item.kind) {
    case 'read':
    case 'query':
      return `${item.kind} ${item.attempt}${of(item)}`;
    case 'write':
      return `write ${item.attempt} ${showLease(item.lease)}${of(item)}`;
    case 'enqueue':
    case 'dequeue':
      return `${item.kind} ${item.member}${of(item)}`;
    case 'notify':
      return `notify${of(item)}`;
    default:
      throw new Error(`a proposer answers nobody, and yet it says ${item.kind}`);
  }
}

const of = ({ resource }: { readonly resource: string }): string =>
  resource === RESOURCE ? '' : ` of ${resource}`;

function showEvent(event: ProposerEvent): string {
  switch (event.kind) {
    case 'granted':
      return `granted ${event.request} until ${event.held.untilMs}`;
    case 'held':
      return `held ${event.request} ${showLease(event.lease)}`;
    case 'told':
      return `told ${event.request} ${event.lease === undefined ? 'nobody' : showLease(event.lease)}`;
    case 'failed':
      return `failed ${event.request}`;
    case 'renewed':
      return `renewed until ${event.held.untilMs}`;
    case 'ended':
      return `ended, ${event.held.ended}`;
    default:
      return event.kind;
  }
}
