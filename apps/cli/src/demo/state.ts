/** The present state of the demo, as data: for `--json` and for the screen. */

import type { FrontEndCounts, OwnerCounts } from './messages.ts';
import type { Player, Scene } from './scene.ts';

export interface OwnerState {
  readonly name: string;
  /** Null for one that was added by somebody else, or is not running. */
  readonly pid: number | null;
  readonly supervisorPid: number | null;
  readonly isRunning: boolean;
  readonly sharePercent: number;
  /** Null while unknown. */
  readonly requestsPerSecond: number | null;
  readonly users: number | null;
}

export interface FrontEndState {
  readonly name: string;
  readonly pid: number | null;
  readonly isRunning: boolean;
  readonly connected: number;
}

export interface DemoState {
  readonly upMs: number;
  /** The one that is asked: it leads. */
  readonly manager: { readonly address: string; readonly http: string; readonly pid: number };
  /** If there are several. */
  readonly managers: readonly {
    readonly name: string;
    readonly pid: number | null;
    /** Null until the first start of this Manager. */
    readonly address: string | null;
    readonly http: string | null;
  }[];
  readonly owners: readonly OwnerState[];
  readonly frontEnds: readonly FrontEndState[];
  readonly users: { readonly connected: number; readonly expected: number };
  readonly reads: {
    readonly count: number;
    /** Null while unknown. */
    readonly perSecond: number | null;
    readonly wrong: number;
    readonly wrongNow: number;
    readonly wrongForLong: number;
    readonly slowestRecoveryMs: number;
  };
  readonly writes: number;
  readonly unanswered: number;
  readonly lost: number;
  readonly republished: number;
  readonly retried: number;
  readonly misdirected: number;
}

export function stateOf(scene: Scene): DemoState {
  const { place, load } = scene;
  const counts = load.counts ?? load.earlier.at(-1);
  const ofFrontEnds = (what: keyof FrontEndCounts): number => sum(scene.frontEnds, what);
  return {
    upMs: Math.round(performance.now() - scene.startedAt),
    manager: { address: place?.address ?? '', http: place?.http ?? '', pid: place?.pid ?? 0 },
    managers: scene.managers.map(({ name, ready }) => ({
      name,
      pid: ready?.pid ?? null,
      address: scene.placeOf(name)?.address ?? null,
      http: scene.placeOf(name)?.http ?? null,
    })),
    owners: ownersOf(scene),
    frontEnds: scene.frontEnds.map(({ name, ready, counts: own }) => ({
      name,
      pid: ready?.pid ?? null,
      isRunning: ready !== undefined,
      connected: own?.connected ?? 0,
    })),
    users: {
      connected: scene.frontEnds.reduce((total, { counts: own }) => total + (own?.connected ?? 0), 0),
      expected: scene.options.userCount,
    },
    reads: {
      count: counts?.reads ?? 0,
      perSecond: rounded(load.rate.perSecond),
      wrong: counts?.wrong ?? 0,
      wrongNow: counts?.wrongNow ?? 0,
      wrongForLong: counts?.wrongForLong ?? 0,
      slowestRecoveryMs: counts?.slowestRecoveryMs ?? 0,
    },
    writes: counts?.writes ?? 0,
    unanswered: counts?.unanswered ?? 0,
    lost: ofFrontEnds('lost'),
    republished: ofFrontEnds('republished'),
    retried: ofFrontEnds('retried'),
    misdirected: sum(scene.owners, 'misdirected'),
  };
}

/** Ours, running or not; then those that somebody added. */
function ownersOf({ owners, shares }: Scene): readonly OwnerState[] {
  const shareOf = (name: string): number =>
    shares.filter((owner) => owner.name === name).reduce((total, owner) => total + owner.sharePercent, 0);
  const ours = owners.map((owner) => ownState(owner, shareOf(owner.name)));
  const others = shares.filter(({ name }) => !owners.some((owner) => owner.name === name));
  return [
    ...ours,
    ...others.map(({ name, sharePercent, load }) => ({
      ...{ name, pid: null, supervisorPid: null, isRunning: true, sharePercent, users: null },
      requestsPerSecond: rounded(load ?? undefined),
    })),
  ];
}

const ownState = (
  { name, child, ready, counts, rate }: Player<OwnerCounts>,
  sharePercent: number,
): OwnerState => ({
  name,
  pid: ready?.pid ?? null,
  supervisorPid: child?.pid ?? null,
  isRunning: ready !== undefined,
  sharePercent,
  requestsPerSecond: rounded(rate.perSecond),
  users: counts?.users ?? null,
});

const rounded = (perSecond: number | undefined): number | null =>
  perSecond === undefined ? null : Math.round(perSecond);

/** Over all lives of all of them. */
function sum<Counts>(players: readonly Player<Counts>[], what: keyof Counts): number {
  const all = players.flatMap(({ counts, earlier }) =>
    counts === undefined ? earlier : [...earlier, counts],
  );
  return all.reduce((total, counts) => total + Number(counts[what]), 0);
}
