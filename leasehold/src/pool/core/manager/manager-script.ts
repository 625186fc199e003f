/**
 * For tests only: plays a script (see `../script.ts`) to the Manager m1. Leases last 9000 ms and
 * holds 9750; what a new leader finds it keeps for 11979.3. The policy shares the ring out evenly,
 * by name. The log is in the script's hands:
 *
 *     standing                         its campaign begins
 *     elected <term> <until>           starts from what the log has
 *     extended <until>
 *     appended | refused               the batch in flight is in the log, or is not
 *     deposed | suspended | wake
 *     reset                            as a standby, starts from what the log has
 *     followed <position> <term> <records>
 *     head <position> <asked at>
 *     report <owner> <number>[?] [heard] seen=<term>.<position> proof=<secret>
 *            <held> <let go> [leaving] url=<another than its own> from=<another connection than its own>
 *            [moves] intent=<intent>      the owner has an address for state
 *            moving=<ticket>:0-4#7>b receiving=<ticket>:0-4#7<a[=<digest>] handed=<ticket>:0-4#7>b=<digest>
 *     sync <look-up> <number> seen=<term>.<position> history=<another than this log's>
 *                                      id=<look-up> for another incarnation at the same address
 *                                      `forged`: no Manager has stamped what it says it has seen
 *     certificate <secret>
 *     order <owner> <order>            an operator wants this; `none`: nothing any more
 *     configure lease=<ms>             with the durations that follow from it
 *     log <position> <term> <records>  another leader has written this; whoever takes over from it
 *                                      must wait takeover=<ms>
 *
 * Records are `join:a`, `leave:a:expired`, `grant:a:0-8,8-16`, `free:0-8`, and so on; rows of a table
 * `0-8:a#2~5`, the last for where they were lost. An owner `a.2` is the second incarnation of `a`.
 *
 * An update that says something of moves ends with `move <ticket>:0-4#7>b`, `expect <ticket>:0-4#7<a`, `arrived <ticket>:0-4#9`,
 * `asked <intent>` and `targets <number>`. The Manager's tickets are `m1.<term>.1`, `m1.<term>.2`, and so on.
 *
 * An append reads `append 2 term 2 <records>`, with `takeover=<ms>` if that is not the usual 11979.3.
 * `heard` says that the owner has heard the last update to it; without it, it has heard no more than
 * before. An update to one that is no member reads `update ack=1 candidate`, one that gives another lease
 * `update ack=1 lease=18000`. Sequences are not shown:
 * that they grow, whoever is told, is checked for every script.
 */

import type { LogBatch, LogStart } from '../../../log/log.ts';
import { digest } from '../../../runtime/digest.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import type {
  FromManager,
  Intent,
  Report,
  Seen,
  TableRow,
  TicketSpan,
  ToManager,
  Update,
} from '../messages.ts';
import { type ResolvedDurations, resolveDurations, takeoverHoldMs } from '../options.ts';
import type { Policy } from '../policy/policy.ts';
import {
  letGo,
  list,
  numbered,
  option,
  plainWords,
  play,
  showGranted,
  showNumbered,
  showSpan,
  span,
  ticketsOf,
} from '../script.ts';
import { type Batch, decodeBatch, encodeBatch } from '../state.ts';
import type { LeaveReason, MemberOrder, TableRecord } from '../table.ts';
import { Manager, type ManagerEffect } from './manager.ts';
import { MANAGER_LIMITS, type ManagerSettings } from './settings.ts';
import { Stamps } from './stamps.ts';

export interface ManagerScriptOptions {
  readonly maxSpansPerBatch?: number;
  readonly compactEveryBatches?: number;
  readonly floor?: number;
  readonly maxBatchBytes?: number;
  readonly declared?: readonly string[];
  /** When the process opened the log. */
  readonly openedAt?: number;
  /** The process begins the log, and its operator says that there was none before. */
  readonly firstStart?: boolean;
  /** Nobody knew the address before. */
  readonly isAddressNew?: boolean;
  readonly mostPoolsPerAddress?: number;
  readonly mostPools?: number;
  readonly mostCandidates?: number;
  readonly quietAfterMs?: number;
}

const HISTORY = { history: 'h', key: digest('the key of h') };
const stamps = new Stamps(HISTORY);

/** With a hold of 65/60 of the lease, as in the papers: the scripts count in these figures, whatever the defaults are. */
export const scriptDurations = (leaseMs: number = 9_000): ResolvedDurations =>
  resolveDurations({ leaseMs, holdMs: (leaseMs * 65) / 60 });

const USUAL_TAKEOVER_MS = takeoverHoldMs(scriptDurations());

export const evenShares: Policy = {
  name: 'even-shares',
  adaptive: false,
  place: ({ members }) => {
    const names = [...members].sort((one, other) => (one.name < other.name ? -1 : 1));
    const share = RING_SIZE / BigInt(Math.max(1, names.length));
    return names.map(({ incarnation }, index) => ({
      start: share * BigInt(index),
      end: index === names.length - 1 ? RING_SIZE : share * BigInt(index + 1),
      incarnation,
    }));
  },
};

export function playManager(script: string, options: ManagerScriptOptions = {}): ReturnType<typeof play> {
  const bench = new Bench(options);
  return play(script, (verb, words, now) =>
    bench.perform(verb, words, now).flatMap((effect) => bench.show(effect)),
  );
}

type Heard = NonNullable<Report['heard']>;

class Bench {
  readonly #manager: Manager;
  readonly #settings: ManagerSettings;
  readonly #floor: number;
  readonly #log: LogBatch[] = [];
  readonly #heard = new Map<string, Heard>();
  readonly #lastTo = new Map<string, Heard>();
  readonly #owners = new Map<string, Pick<Report, 'url' | 'proof'>>();
  #last: Heard = { term: 0, sequence: 0 };
  #inFlight: LogBatch | undefined;

  constructor(options: ManagerScriptOptions) {
    const { maxSpansPerBatch = 100, compactEveryBatches = 100, floor = 0, declared } = options;
    this.#floor = floor;
    this.#settings = {
      id: 'm1',
      ...{ durations: scriptDurations(), policy: evenShares, quietAfterMs: options.quietAfterMs },
      pools: new Map(declared?.map((pool) => [pool, { durations: scriptDurations(), policy: evenShares }])),
      declaredOnly: declared !== undefined,
      openedAt: options.openedAt === undefined ? undefined : instant(options.openedAt),
      ...{ firstStart: options.firstStart, isAddressNew: options.isAddressNew },
      ...{ maxSpansPerBatch, compactEveryBatches, maxBatchBytes: options.maxBatchBytes },
      limits: {
        ...MANAGER_LIMITS,
        pools: options.mostPools ?? MANAGER_LIMITS.pools,
        poolsPerAddress: options.mostPoolsPerAddress ?? MANAGER_LIMITS.poolsPerAddress,
        candidates: options.mostCandidates ?? MANAGER_LIMITS.candidates,
      },
    };
    this.#manager = new Manager(this.#settings);
  }

  perform(verb: string, words: readonly string[], now: Instant): ManagerEffect[] {
    const manager = this.#manager;
    const [first = '', second = ''] = words;
    switch (verb) {
      case 'standing':
        manager.standing();
        return [];
      case 'elected':
        return manager.elected(Number(first), this.#start(), instant(Number(second)), now);
      case 'extended':
        return manager.extended(instant(Number(first)), now);
      case 'appended':
        return this.#appended(now);
      case 'refused':
        return manager.refused(now);
      case 'deposed':
        return manager.deposed('superseded', now);
      case 'suspended':
        return manager.suspended(now);
      case 'order':
        return manager.order('p', first, orderOf(second), now);
      case 'wake':
        return manager.wake(now);
      case 'reset':
        return manager.reset(this.#start(), now);
      case 'followed':
        return manager.followed(batchOf(words), now);
      case 'head':
        return manager.head(Number(first), instant(Number(second)), now);
      case 'configure': {
        const durations = scriptDurations(Number(option(words, 'lease')));
        return manager.configure({ ...this.#settings, durations }, now);
      }
      case 'log': {
        const batch = batchOf(words);
        this.#log.push(batch);
        for (const { records } of decodeBatch(batch.bytes).pools)
          for (const made of records)
            if (made.kind === 'join') this.#owners.set(made.member.incarnation, made.member);
        return [];
      }
      default:
        return manager.receive(
          verb === 'certificate' ? 'supervisor' : (option(words, 'from') ?? first),
          this.#message(verb, words),
          now,
        );
    }
  }

  show(effect: ManagerEffect): string[] {
    switch (effect.do) {
      case 'send':
        if (effect.message.kind === 'update') this.#note(effect.to, effect.message);
        return [`${effect.to}: ${showMessage(effect.message, effect.to)}`];
      case 'append': {
        this.#inFlight = effect;
        const { term, takeoverMs, pools } = decodeBatch(effect.bytes);
        const takeover = takeoverMs === USUAL_TAKEOVER_MS ? '' : ` takeover=${Number(takeoverMs.toFixed(1))}`;
        const records = pools.flatMap((pool) => pool.records);
        return [`append ${effect.position} term ${term}${takeover}${list(records, showRecord)}`];
      }
      case 'compact':
        return [`compact ${effect.upTo}`];
      case 'halt':
        return [`halt: ${effect.reason}`];
      case 'trace':
        if (effect.event.what === 'two-identities') return ['two identities'];
        if (effect.event.what === 'not-the-first-log') return ['not the first log'];
        return effect.event.what === 'two-pools' ? ['two pools'] : [];
      default:
        return [effect.do];
    }
  }

  #note(to: string, { term, sequence }: Update): void {
    const isNewer = term > this.#last.term || (term === this.#last.term && sequence > this.#last.sequence);
    if (!isNewer)
      throw new Error(`update ${term}.${sequence} after ${this.#last.term}.${this.#last.sequence}`);
    this.#last = { term, sequence };
    this.#lastTo.set(to, this.#last);
  }

  #message(verb: string, words: readonly string[]): ToManager {
    const [who = ''] = words;
    const last = this.#lastTo.get(who);
    if (words.includes('heard') && last !== undefined) this.#heard.set(who, last);
    const said = message(verb, words, this.#heard.get(who));
    if (said.kind !== 'report') return said;
    // As long as the script does not say otherwise, an owner remains the same.
    const { url, proof } = this.#owners.get(who) ?? said;
    const report = {
      ...said,
      url: option(words, 'url') === undefined ? url : said.url,
      proof: said.proof ?? proof,
    };
    this.#owners.set(who, report);
    return report;
  }

  #appended(now: Instant): ManagerEffect[] {
    const batch = this.#inFlight;
    if (batch === undefined) throw new Error('nothing is in flight');
    this.#log.push(batch);
    return this.#manager.appended(batch.position, now);
  }

  #start(): LogStart {
    const begunHere = this.#settings.firstStart === true;
    return { ...HISTORY, snapshot: undefined, batches: this.#log.slice(), floor: this.#floor, begunHere };
  }
}

function batchOf(words: readonly string[]): LogBatch {
  const [position, term, ...records] = plainWords(words);
  const takeoverMs = Number(option(words, 'takeover') ?? 0);
  const pools = records.length === 0 ? [] : [{ pool: 'p', records: records.map(record) }];
  const batch: Batch = { term: Number(term), leader: 'm9', takeoverMs, address: 'm9:7400', pools };
  return { position: Number(position), bytes: encodeBatch(batch) };
}

function record(text: string): TableRecord {
  const [kind = '', second = '', third = ''] = text.split(':');
  const spans = (places: string) => places.split(',').map(span);
  switch (kind) {
    case 'join':
      return { kind, member: { ...addressOf(second), proof: third === '' ? undefined : digest(third) } };
    case 'leave':
      return { kind, incarnation: second, why: third as LeaveReason };
    case 'order':
      return { kind, incarnation: second, order: orderOf(third) };
    case 'silent':
      return { kind, incarnations: second.split(','), silentMs: Number(third) };
    case 'grant':
      return { kind, incarnation: second, spans: spans(third) };
    case 'move':
      return { kind, incarnation: second, spans: spans(third), ticket: 't' };
    case 'moves':
      return { kind };
    case 'free':
    case 'renumber':
    case 'merge':
      return { kind, spans: spans(second) };
    default:
      throw new Error(`unknown record in a script: ${text}`);
  }
}

const orderOf = (text: string): MemberOrder | undefined =>
  text === 'none' ? undefined : (text as MemberOrder);

const addressOf = (incarnation: string) => {
  const name = incarnation.replace(/\..*$/, '');
  return { incarnation, name, url: `http://${name}` };
};

function seenIn(words: readonly string[]): Seen | undefined {
  const seen = option(words, 'seen');
  if (seen === undefined) return undefined;
  const [term, position] = seen.split('.').map(Number);
  const point = { history: option(words, 'history') ?? 'h', term: term ?? 0, position: position ?? 0 };
  const stamp = words.includes('forged') ? 'f'.repeat(32) : stamps.of(point.term, point.position);
  return { ...point, stamp };
}

function message(verb: string, words: readonly string[], heard: Report['heard']): ToManager {
  const [first = '', second = '', ...rest] = plainWords(words);
  const sequence = Number(second.replace('?', ''));
  const pool = option(words, 'pool') ?? 'p';
  switch (verb) {
    case 'certificate':
      return { kind: 'certificate', secret: first };
    case 'probe':
      return { kind: 'probe', asker: first, round: Number(second) };
    case 'sync':
      return { kind: 'sync', pool, lookup: option(words, 'id') ?? first, sequence, seen: seenIn(words) };
    case 'report': {
      const secret = option(words, 'proof');
      return {
        kind: 'report',
        pool,
        ...addressOf(first),
        ...(option(words, 'url') === undefined ? {} : { url: `http://${option(words, 'url')}` }),
        proof: secret === undefined ? undefined : digest(secret),
        sequence,
        wantsAnswer: second.endsWith('?'),
        heard,
        seen: seenIn(words),
        held: rest.filter((word) => /^\d/.test(word)).map(numbered),
        letGo: rest.filter((word) => word.includes(':')).map(letGo),
        leaving: rest.includes('leaving'),
        load: 0,
        ...aboutMoves(first, rest, words),
      };
    }
    default:
      throw new Error(`unknown in a script: ${verb}`);
  }
}

function aboutMoves(who: string, rest: readonly string[], words: readonly string[]): Partial<Report> {
  if (!rest.includes('moves')) return {};
  return {
    transfer: { address: `${who}:7500`, names: [] },
    intent: (option(words, 'intent') ?? 'stay') as Intent,
    moving: ticketsOf(words, 'moving').map(({ other, digest: _, ...one }) => ({
      ...one,
      to: other,
      bytes: 0,
    })),
    receiving: ticketsOf(words, 'receiving').map(({ other, ...one }) => ({ ...one, from: other })),
    handed: ticketsOf(words, 'handed').map(({ other, digest = '', ...one }) => ({
      ...{ ...one, to: other, digest, bytes: 0 },
    })),
  };
}

/** What an update says of moves. */
function showMoves({ moves = [], incoming = [], arrived = [], asked, targets }: Update): string {
  const ticket = (one: TicketSpan): string => `${one.ticket}:${showNumbered(one)}`;
  return [
    ...moves.map((one) => ` move ${ticket(one)}>${one.toName}`),
    ...incoming.map((one) => ` expect ${ticket(one)}<${one.fromName}`),
    ...arrived.map((one) => ` arrived ${ticket(one)}`),
    asked === undefined ? '' : ` asked ${asked}`,
    targets === undefined ? '' : ` targets ${targets}`,
  ].join('');
}

function showMessage(said: FromManager, to: string): string {
  switch (said.kind) {
    case 'update':
      return `update ack=${said.acknowledges}${showLease(said)}${said.admitted ? '' : ' candidate'}${list(said.spans, showGranted)}${showMoves(said)}`;
    case 'changes': {
      const { lookup, sequence } = said.answers ?? {};
      const other = lookup === to ? '' : ` id=${lookup}`;
      const answers = sequence === undefined ? '' : ` answers=${sequence}${other}`;
      return `changes ${said.term} ${said.from}..${said.to}${answers}${list(said.rows, showRow)}`;
    }
    case 'role':
      return `role ${said.round}: leads ${said.leads === undefined ? 'none' : `${said.leads.history} term=${said.leads.term} by=${said.leads.leader} hold=${said.leads.holdMs}`}`;
    case 'certified':
      return 'certified';
    case 'notLeader':
      return `notLeader ${said.term} ${said.leader}`;
    case 'refused':
      return `refused ${said.code}${said.retryable ? ' for now' : ''}`;
  }
}

const showLease = ({ leaseMs }: Update): string => (leaseMs === 9_000 ? '' : ` lease=${leaseMs}`);

const showRow = (row: TableRow): string =>
  `${showSpan(row)}:${row.owner?.incarnation ?? '-'}#${row.number}${row.lostAt === 0 ? '' : `~${row.lostAt}`}`;

function showRecord(made: TableRecord): string {
  switch (made.kind) {
    case 'join':
      return `join:${made.member.incarnation}`;
    case 'leave':
      return `leave:${made.incarnation}:${made.why}`;
    case 'silent':
      return `silent:${made.incarnations.join(',')}:${Math.round(made.silentMs)}`;
    case 'heard':
      return `heard:${made.incarnations.join(',')}`;
    case 'grant':
    case 'move':
      return `${made.kind}:${made.incarnation}:${made.spans.map(showSpan).join(',')}`;
    case 'remove':
    case 'moves':
      return made.kind;
    case 'order':
      return `order:${made.incarnation}:${made.order ?? 'none'}`;
    default:
      return `${made.kind}:${made.spans.map(showSpan).join(',')}`;
  }
}
