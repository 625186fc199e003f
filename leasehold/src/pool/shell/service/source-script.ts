/**
 * For tests only: a Manager to look at, with real tables and without a process. Records are committed to this Manager
 * one batch after the other; policy, observation and counters follow.
 */

import type { ServiceRoute } from '../../../node/service/route.ts';
import { statusRoutes } from '../../../node/service/status-routes.ts';
import { managerService } from './routes.ts';
import { instant } from '../../../runtime/time.ts';
import type {
  LookupObservation,
  ManagerObservation,
  OwnerObservation,
} from '../../core/manager/observation.ts';
import { resolveDurations } from '../../core/options.ts';
import { intentOf } from '../../core/manager/intent.ts';
import { sticky } from '../../core/policy/sticky.ts';
import { consistentHashing } from '../../core/policy/consistent-hashing.ts';
import type { Placement } from '../../core/policy/policy.ts';
import type { MovesObservation } from '../../core/manager/pool-moves.ts';
import { ManagerState } from '../../core/state.ts';
import type { TableRecord } from '../../core/table.ts';
import { ManagerCounters } from './counters.ts';
import { EventLog } from '../../../node/service/event-log.ts';
import type { ManagerEventLog } from './event-log.ts';
import { reasonsIn } from './events.ts';
import { Recorder } from './recorder.ts';
import type { ApiSource, ManagerPlace, StoreObservation } from './source.ts';

export const policy: ReturnType<typeof consistentHashing> = consistentHashing({ virtualNodes: 64 });

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

export class ManagerToLookAt {
  state: ManagerState = ManagerState.empty;
  role: ManagerObservation['role'] = 'leading';
  term = 3;
  /** Undefined: the Manager has read nothing of a log, or there is none. */
  history: string | undefined = 'h1';
  haltedBecause: string | undefined;
  whyNotReady: string | undefined;
  nowMs = 100_000;
  wallMs = 1_790_000_000_000;
  declared: readonly string[] = [];
  lookups: LookupObservation[] = [];
  /** The writer of the commits. */
  leader: { readonly leader: string; readonly address: string } = { leader: 'm1', address: '10.0.0.1:7400' };
  others: readonly ManagerPlace[] = [];
  headSeen: ManagerObservation['headSeen'];
  store: StoreObservation = { kind: 'file', where: 'data', bytes: 4_096, members: [] };
  waitsUntil: ManagerObservation['waitsUntil'];
  /** Another leading Manager, according to the electing group. */
  elected: ReturnType<ApiSource['elected']>;
  stepDown: ApiSource['stepDown'] = async () => false;
  removePool: ApiSource['removePool'] = async () => true;
  order: ApiSource['order'] = async (_, { owner }) => `${owner}.1`;
  moves: MovesObservation | undefined;
  movesEnded: NonNullable<ManagerObservation['movesEnded']> = { moved: 0, returned: 0, void: 0 };
  /** The differences from an owner that was heard just now, by incarnation. */
  readonly about: Map<string, Partial<OwnerObservation>> = new Map();
  readonly candidates: OwnerObservation[] = [];
  readonly counters: ManagerCounters = new ManagerCounters();
  readonly events: ManagerEventLog;
  readonly #recorder: Recorder;
  constructor({ capacity }: { readonly capacity?: number } = {}) {
    this.events = new EventLog({ epoch: 'life1', capacity });
    this.#recorder = new Recorder(this.events, this.counters, () => this.wallMs);
    this.look();
  }

  /** Commits a batch; returns the position. */
  commit(pool: string, records: readonly TableRecord[]): number {
    const position = this.state.position + 1;
    const batch = { ...this.leader, term: this.term, takeoverMs: 12_000, pools: [{ pool, records }] };
    this.state = this.state.apply(position, batch);
    this.look(reasonsIn([batch]));
    return position;
  }

  look(reasons?: ReturnType<typeof reasonsIn>): void {
    this.#recorder.see(this.observe(), reasons);
  }

  join(pool: string, name: string, run = 1): void {
    this.commit(pool, [{ kind: 'join', member: { ...addressOf(name, run), proof: `proof-of-${name}` } }]);
  }

  /** Frees and grants until the table is as the policy wants. */
  settle(pool: string): void {
    const target = this.target(pool);
    const { rows } = this.state.pool(pool);
    const wanted = rows.flatMap((row) =>
      target.flatMap((placed) => {
        const start = placed.start > row.start ? placed.start : row.start;
        const end = placed.end < row.end ? placed.end : row.end;
        if (start >= end || row.owner === placed.incarnation) return [];
        return [{ start, end, from: row.owner, to: placed.incarnation }];
      }),
    );
    const taken = wanted.filter(({ from }) => from !== undefined);
    if (taken.length > 0) this.commit(pool, [{ kind: 'free', spans: taken }]);
    const grants = [...new Set(wanted.map(({ to }) => to))].map((incarnation): TableRecord => {
      return { kind: 'grant', incarnation, spans: wanted.filter(({ to }) => to === incarnation) };
    });
    if (grants.length > 0) this.commit(pool, grants);
  }

  /** Without this member, if there is one. */
  target(pool: string, gone?: string): readonly Placement[] {
    if (this.role !== 'leading') return [];
    const whole = this.state.pool(pool);
    const table =
      gone === undefined ? whole : whole.apply([{ kind: 'leave', incarnation: gone, why: 'left' }], 1_000);
    const underway = this.moves?.underway ?? [];
    const rows = table.rows.map((row) => {
      const move = underway.find(({ start, end }) => start === row.start && end === row.end);
      return move === undefined ? row : { ...row, owner: move.to };
    });
    const members = [...table.members.values()].map(({ name, incarnation, order }) => ({
      ...{ name, incarnation, load: undefined, intent: intentOf({ order }, undefined) },
    }));
    return (table.hasMoves ? sticky : policy).place({ rows, members });
  }

  observe(): ManagerObservation {
    return {
      id: 'm1',
      role: this.role,
      haltedBecause: this.haltedBecause,
      history: this.history,
      term: this.term,
      state: this.state,
      leadsUntil: this.role === 'leading' ? instant(this.nowMs + 2_000) : undefined,
      headSeen: this.headSeen,
      waitsUntil: this.waitsUntil,
      isBegunHere: false,
      isFirst: false,
      isWriting: false,
      owners: [...this.#members(), ...this.candidates],
      lookups: this.lookups,
      target: (pool) => this.target(pool),
      moves: () => (this.role === 'leading' ? this.moves : undefined),
      movesEnded: this.role === 'leading' ? this.movesEnded : undefined,
      heirs: (pool, incarnation) => this.target(pool, incarnation),
      policy: (pool) => (this.state.pool(pool).hasMoves ? sticky : policy).name,
    };
  }

  #members(): OwnerObservation[] {
    return [...this.state.pools].flatMap(([pool, table]) =>
      [...table.members.values()].map(
        ({ incarnation, name, url, proof }): OwnerObservation => ({
          pool,
          incarnation,
          name,
          url,
          isProvable: proof !== undefined,
          isMember: true,
          isLeaving: false,
          lastHeardAt: instant(this.nowMs - 400),
          holdUntil: instant(this.nowMs + 9_350),
          load: 12.5,
          recalled: [],
          ...this.about.get(incarnation),
        }),
      ),
    );
  }

  source(differences: Partial<ApiSource> = {}): ApiSource {
    const source: Mutable<ApiSource> = {
      version: '0.1.0',
      startedAtMs: this.wallMs - 75_000,
      createPools: 'on-first-use',
      counters: this.counters,
      events: this.events,
      now: () => instant(this.nowMs),
      wallMs: () => this.wallMs,
      observe: () => this.observe(),
      declaredPools: () => this.declared,
      settings: () => ({ durations: resolveDurations(), virtualNodes: 64 }),
      store: () => this.store,
      elected: () => this.elected,
      managers: () => [
        { id: 'm1', address: '10.0.0.1:7400', http: 'http://10.0.0.1:7401', isSelf: true },
        ...this.others,
      ],
      stepDown: () => this.stepDown(),
      removePool: (pool) => this.removePool(pool),
      order: (pool, order) => this.order(pool, order),
      traffic: () => ({
        connections: 5,
        connectionsAccepted: 9,
        connectionsRefused: 1,
        bytesIn: 1_000,
        bytesOut: 2_000,
        messagesDropped: 3,
        messagesMalformed: 4,
        messagesNotAllowed: 5,
        limited: { candidates: 2, connections: 0 },
      }),
      process: () => ({ residentBytes: 50_000_000, cpuSeconds: 1.25, eventLoopDelaySeconds: 0.004 }),
      whyNotReady: () => this.whyNotReady,
      checks: ['manager', 'event-loop'],
      stalls: () =>
        this.whyNotReady === undefined ? [] : [{ check: 'manager', why: this.whyNotReady, forMs: 0 }],
    };
    return Object.assign(source, differences);
  }
}

export const addressOf = (
  name: string,
  run = 1,
): { readonly incarnation: string; readonly name: string; readonly url: string } => ({
  incarnation: `${name}.${run}`,
  name,
  url: `http://10.0.0.${name.length}:8080/${name}`,
});

/** Stands by, while another leads. */
export function standby(): ManagerToLookAt {
  const manager = new ManagerToLookAt();
  manager.leader = { leader: 'm2', address: '10.0.0.2:7400' };
  manager.others = [
    { id: 'm2', address: '10.0.0.2:7400', http: 'http://10.0.0.2:7401', isSelf: false },
    { id: 'm3', address: '10.0.0.3:7400', http: undefined, isSelf: false },
  ];
  manager.role = 'standby';
  manager.join('presence', 'presence-1');
  return manager;
}

/** Stands by, as one of several that keep nothing, and that have elected m2. */
export function keepingNothing(): ManagerToLookAt {
  const manager = new ManagerToLookAt();
  manager.role = 'standby';
  manager.term = 0;
  manager.history = undefined;
  manager.declared = ['quotas'];
  manager.elected = { id: 'm2', term: 7 };
  const unknown = { complaint: undefined, version: undefined, databaseBytes: undefined };
  manager.store = {
    ...{ kind: 'flease', where: 'default, manager/leasehold', bytes: undefined },
    members: ['m1', 'm2', 'm3'].map((name) => ({
      ...{ endpoint: `${name}=10.0.0.1:7500`, reachable: true, ...unknown },
      ...{ isLeader: name === 'm2', isSelf: name === 'm1' },
    })),
    group: { view: 1, isSettled: true, recovery: undefined },
  };
  return manager;
}

/** Has just begun to lead, and waits 9 s more before granting anything; one owner has asked to join already. */
export function waiting(): ManagerToLookAt {
  const manager = new ManagerToLookAt();
  manager.waitsUntil = instant(manager.nowMs + 9_000);
  manager.candidates.push({
    ...{ pool: 'presence', ...addressOf('presence-1'), isProvable: false, isMember: false, isLeaving: false },
    ...{ lastHeardAt: instant(manager.nowMs - 400), holdUntil: undefined, load: 0, recalled: [] },
  });
  return manager;
}

/** Three owners with all keys of `presence`, and a fourth pool that is only declared. */
export function threeOwners(): ManagerToLookAt {
  const manager = new ManagerToLookAt();
  manager.declared = ['quotas'];
  for (const name of ['presence-1', 'presence-2', 'presence-3']) manager.join('presence', name);
  manager.settle('presence');
  manager.lookups = ['p7', 'p8'].map((address) => ({
    pool: 'presence',
    address,
    lastHeardAt: instant(manager.nowMs - 1_200),
  }));
  return manager;
}

/** The routes of a process that serves only this Manager. */
export function apiRoutes(source: ApiSource): readonly ServiceRoute[] {
  const service = managerService(source);
  return statusRoutes([service], {
    names: source.checks.map((check) => ({ service, check })),
    stalls: () => source.stalls().map((stall) => ({ ...stall, service })),
    usage: () => source.process(),
    uptimeSeconds: () => 60,
  });
}

/** Three owners, of which the first is drained by an operator: one range is on its way to the second. */
export function moving(): ManagerToLookAt {
  const manager = threeOwners();
  const [row] = manager.state.pool('presence').rowsOf('presence-1.1');
  if (row === undefined) throw new Error('presence-1 has nothing');
  manager.commit('presence', [
    { kind: 'moves' },
    { kind: 'order', incarnation: 'presence-1.1', order: 'emptying' },
  ]);
  const { start, end, number } = row;
  const [from, to] = ['presence-1', 'presence-2'];
  const member = { movesKeys: true, intent: 'stay', order: undefined, targets: 2, sentBytes: 0 } as const;
  manager.moves = {
    canMove: true,
    underway: [
      {
        ...{ ticket: 'm1.3.1', start, end, number, from: `${from}.1`, fromName: from },
        ...{ to: `${to}.1`, toName: to, phase: 'streaming', bytes: 1_000 },
      },
    ],
    members: [
      {
        ...{ ...member, incarnation: `${from}.1`, name: from, intent: 'emptying', order: 'emptying' },
        sentBytes: 3_000,
      },
      { ...member, incarnation: `${to}.1`, name: to },
      {
        ...member,
        incarnation: 'presence-3.1',
        name: 'presence-3',
        movesKeys: undefined,
        targets: undefined,
      },
    ],
  };
  return manager;
}
