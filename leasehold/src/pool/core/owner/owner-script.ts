/**
 * For tests only: plays a script (see `../script.ts`) to an owner `a` that knows the Managers m1
 * and m2. A lease lasts 9000 ms; it reports every 1500 ms, asks again after 500, and gives keys back
 * within 3000.
 *
 *     wake
 *     update <term>.<sequence> ack=<report> <spans>    from m1, or from=<Manager>; of history h; admitted=no
 *     notLeader <term> <Manager>                       from m1, or from=<Manager>: another leads
 *     loaded | flushed <spans>                         the application has done so
 *     roles <Manager>=<history> …                      see `../roles-script.ts`
 *     leave
 *     suspended
 *     moves                                            from here on the owner has an address for state
 *     move <what> <ticket> digest=<digest> bytes=<n>   the shell says so (`../moves/seam.ts`)
 *     drain | drain <until>                            stays, or drains
 *     knows                                            > <intent>, targets <number or ?>, heard at <when>, and drained, if so
 *     check <sixteenth>                                > held #7, or > not held
 *     since <sixteenth> <number>                       > continuous, or > broken
 *     hold <sixteenth>                                 > handle #7, or > not held; then
 *     ask                                              the handle: > continuous, or > broken
 *
 * An update has `moves=<ticket>:0-4#7>b`, `incoming=<ticket>:0-4#7<b` and `arrived=<ticket>:0-4#9`. A report tells the same of this owner,
 * with the digest behind a `=`.
 *
 * A report that asks for an answer is `report 3?`, a mere acknowledgement `report 3`.
 */

import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import type { Intent, Report, TicketSpan, Update, OwnerPace } from '../messages.ts';
import type { MoveInput } from '../moves/seam.ts';
import { resolveDurations, ownerPace } from '../options.ts';
import {
  at,
  granted,
  list,
  numbered,
  option,
  plainWords,
  play,
  showLetGo,
  showNumbered,
  ticketsOf,
} from '../script.ts';
import { ScriptedRoles } from '../roles-script.ts';
import type { Handle } from './handle.ts';
import { Owner, type OwnerEffect } from './owner.ts';

export interface OwnerScriptOptions {
  /** Whether loading takes time. */
  readonly loads?: boolean;
  /** Whether flushing takes time. */
  readonly flushes?: boolean;
}

export function playOwner(script: string, options: OwnerScriptOptions = {}): ReturnType<typeof play> {
  const identity = { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined };
  const owner = new Owner(
    {
      identity,
      managers: ['m1', 'm2'],
      durations: resolveDurations(),
      loads: options.loads ?? false,
      flushes: options.flushes ?? false,
      random: () => 0.5,
    },
    instant(0),
  );
  let handle: Handle | undefined;
  const roles = new ScriptedRoles(script);
  return play(script, (verb, words, now) => {
    if (verb === 'hold') {
      const position = at(Number(words[0]));
      handle = owner.hold(highOf(position), lowOf(position), now);
      return [handle === undefined ? 'not held' : `handle #${handle.number}`];
    }
    if (verb === 'knows') return [shownKnowledge(owner)];
    if (verb === 'ask') return [handle?.isHeld(now) ? 'continuous' : 'broken'];
    if (verb === 'check' || verb === 'since') return [checked(owner, verb, words, now)];
    const effects = verb === 'roles' ? roles.answer(owner, words, now) : performed(owner, verb, words, now);
    return roles.after(effects, owner, now).flatMap(shown);
  });
}

function performed(owner: Owner, verb: string, words: readonly string[], now: Instant): OwnerEffect[] {
  switch (verb) {
    case 'wake':
      return owner.wake(now);
    case 'update':
      return owner.receive(option(words, 'from') ?? 'm1', updateOf(words), now);
    case 'notLeader': {
      const [term, leader = ''] = plainWords(words);
      const message = { pool: 'p', incarnation: 'a.1', term: Number(term), leader } as const;
      return owner.redirected(option(words, 'from') ?? 'm1', { kind: 'notLeader', ...message }, now);
    }
    case 'loaded':
      return owner.loaded(words.map(numbered), now);
    case 'flushed':
      return owner.flushed(words.map(numbered), now);
    case 'leave':
      return owner.leave(now);
    case 'suspended':
      return owner.suspended(now);
    case 'moves':
      owner.transfer = { address: 'a:1', names: [] };
      return [];
    case 'move':
      return owner.hearMove(moveInput(words), now);
    case 'drain':
      return owner.drain(words[0] === undefined ? undefined : instant(Number(words[0])), now);
    default:
      throw new Error(`unknown in a script: ${verb}`);
  }
}

const shownKnowledge = ({ intent, targets, heardAt, isDrained }: Owner): string =>
  `${intent}, targets ${targets ?? '?'}, heard at ${heardAt ?? '?'}${isDrained ? ', drained' : ''}`;

function moveInput(words: readonly string[]): MoveInput {
  const [is = '', ticket = ''] = plainWords(words);
  const bytes = Number(option(words, 'bytes') ?? 0);
  return { is, ticket, bytes, digest: option(words, 'digest'), why: 'because' } as MoveInput;
}

/** `every=<ms>`: how often to report. The rest is as usual. */
function paceOf(words: readonly string[]): OwnerPace {
  const usual = ownerPace(resolveDurations());
  const every = option(words, 'every');
  return every === undefined ? usual : { ...usual, renewEveryMs: Number(every) };
}

function updateOf(words: readonly string[]): Update {
  const [order = '', ...spans] = plainWords(words);
  const [term, sequence] = order.split('.').map(Number);
  return {
    kind: 'update',
    pool: option(words, 'pool') ?? 'p',
    incarnation: option(words, 'incarnation') ?? 'a.1',
    history: option(words, 'history') ?? 'h',
    term: term ?? 0,
    sequence: sequence ?? 0,
    position: Number(option(words, 'position') ?? 0),
    acknowledges: Number(option(words, 'ack')),
    leaseMs: Number(option(words, 'lease') ?? 9_000),
    pace: paceOf(words),
    admitted: option(words, 'admitted') !== 'no',
    spans: spans.map(granted),
    moves: ticketsOf(words, 'moves').map(({ other: to, digest: _, ...ticket }) => ({
      ...{ ...ticket, to, toName: to, address: to },
    })),
    incoming: ticketsOf(words, 'incoming').map(({ other: from, digest: _, ...ticket }) => ({
      ...{ ...ticket, from, fromName: from },
    })),
    arrived: ticketsOf(words, 'arrived').map(({ other: _, digest: __, ...ticket }) => ticket),
    asked: option(words, 'asked') as Intent | undefined,
    targets: option(words, 'targets') === undefined ? undefined : Number(option(words, 'targets')),
  };
}

function checked(owner: Owner, verb: 'check' | 'since', words: readonly string[], now: Instant): string {
  const key = at(Number(words[0]));
  const [high, low] = [highOf(key), lowOf(key)];
  if (verb === 'check') {
    const number = owner.check(high, low, now);
    return number === undefined ? 'not held' : `held #${number}`;
  }
  return owner.isHeld(high, low, Number(words[1]), now) ? 'continuous' : 'broken';
}

function shown(effect: OwnerEffect): string[] {
  switch (effect.do) {
    case 'send':
      return effect.message.kind === 'report' ? [`${effect.to}: ${showReport(effect.message)}`] : [];
    case 'trace':
      return [];
    case 'admitted':
    case 'left':
    case 'agree':
      return [effect.do];
    case 'disagree':
      return [
        `disagree ${effect.histories.map(({ manager, history }) => `${manager}=${history}`).join(' ')}`,
      ];
    case 'commit':
      return [`commit ${effect.ticket}${list(effect.spans, showNumbered)}`];
    case 'stream':
      return [
        `stream ${effect.ticket} ${showNumbered({ ...effect.span, number: effect.number })} to ${effect.toName}`,
      ];
    case 'receive':
      return [
        `receive ${effect.ticket} ${showNumbered({ ...effect.span, number: effect.number })} from ${effect.fromName}`,
      ];
    case 'stop':
      return [`stop ${effect.ticket} by ${effect.by}${effect.isLast ? ', the last' : ''}`];
    case 'resume':
    case 'freeze':
    case 'handed':
    case 'abandon':
    case 'discard':
      return [`${effect.do} ${effect.ticket}`];
    default:
      return [`${effect.do}${list(effect.spans, showNumbered)}`];
  }
}

function showReport(report: Report): string {
  const { sequence, wantsAnswer, held, letGo, leaving } = report;
  const parts = [`report ${sequence}${wantsAnswer ? '?' : ''}`];
  if (held.length > 0) parts.push(`held${list(held, showNumbered)}`);
  if (letGo.length > 0) parts.push(`let go${list(letGo, showLetGo)}`);
  if (leaving) parts.push('leaving');
  if (report.intent !== undefined && report.intent !== 'stay') parts.push(report.intent);
  const told = (what: string, tickets: readonly TicketSpan[] = []): void => {
    if (tickets.length > 0) parts.push(`${what}${list(tickets, showTicket)}`);
  };
  told('moving', report.moving);
  const bytes = report.moving?.reduce((sum, one) => sum + one.bytes, 0) ?? 0;
  if (bytes > 0) parts.push(`${bytes} bytes`);
  told('receiving', report.receiving);
  told('handed', report.handed);
  return parts.join(', ');
}

const showTicket = (one: TicketSpan & { readonly digest?: string | undefined }): string =>
  `${one.ticket}:${showNumbered(one)}${one.digest === undefined ? '' : `=${one.digest}`}`;
