/** For tests only: an owner that moves keys, with a clock moved by hand, the voice of its Manager, and a carrier that writes down what it is to do. */

import { HandMovedRuntime, listeningLogger } from '../../../node/tcp/socket-script.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { FromManager, GrantedSpan, Report, ToManager, Update } from '../../core/messages.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import { ownerPace, type ResolvedDurations, resolveDurations } from '../../core/options.ts';
import type { Carried, CarrierEffect, KeyCarrier } from '../moves/key-carrier.ts';
import { type MovesOptions, resolveMoves } from '../moves/moves-options.ts';
import type { Movable } from '../state/movable.ts';
import { type OwnerApplication, PoolOwner } from './pool-owner.ts';

export const durations: ResolvedDurations = resolveDurations();
export const HALF: bigint = RING_SIZE / 2n;
/** One key in each half. */
export const LEFT = 1n;
export const RIGHT: bigint = HALF + 1n;

/** Writes down what it is to do, and carries nothing. */
export class WrittenCarrier implements KeyCarrier {
  readonly address: string = '127.0.0.1:1';
  readonly names: { name: string; version: number; reads: number[] }[] = [];
  readonly effects: CarrierEffect[] = [];
  sent: Carried = { items: 0, bytes: 0 };
  received: Carried = { items: 0, bytes: 0 };
  say: (input: MoveInput) => void = () => {};

  movable<Item>(name: string, _: Movable<Item>): void {
    this.names.push({ name, version: 1, reads: [] });
  }

  /** The last frame leaves in the turn of the freeze. */
  execute(effect: CarrierEffect): void {
    this.effects.push(effect);
    if (effect.do === 'freeze') this.say({ is: 'sealed', ticket: effect.ticket, digest: 'd' });
  }

  /** What it was to do, in order. */
  get story(): readonly string[] {
    return this.effects.map((effect) => effect.do);
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Parts of an update that a test says. */
type Said = Partial<Omit<Update, 'spans'>> & { readonly spans?: readonly Partial<GrantedSpan>[] };

const WHOLE = { start: 0n, end: RING_SIZE, number: 5 };

export interface MovingBench {
  readonly owner: PoolOwner;
  readonly runtime: HandMovedRuntime;
  readonly logger: ReturnType<typeof listeningLogger>;
  readonly carrier: WrittenCarrier;
  /** Whether it had left, once it is closed. */
  readonly closed: readonly boolean[];
  /** The last one. */
  report(): Report;
  /** An update that has heard the last report. */
  tell(said?: Said): void;
  /** The Manager names a ticket: everything is to go to b. */
  order(more?: Said): void;
  /** The carrier has sent all but the last changes. */
  caughtUp(): void;
  /** The target has everything. */
  acknowledged(): void;
  /** The table names the next owner. */
  moved(): void;
  /** It names this owner again, under a later number. */
  returned(): void;
  /** Another owner brings everything by ticket `t`, and it is granted under number 7. */
  arrive(): void;
}

/** An owner of the whole ring, unless told otherwise. */
export function movingOwner(application: OwnerApplication = {}, moves: MovesOptions = {}): MovingBench {
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  const carrier = new WrittenCarrier();
  const closed: boolean[] = [];
  const said: ToManager[] = [];
  let hear: (from: string, message: FromManager) => void = () => {};
  const owner = new PoolOwner({
    ...{ durations, runtime, logger, application, addresses: { current: ['m1'] } },
    identity: { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined },
    moving: { rules: resolveMoves(moves) ?? never(), carrier },
    surface: (error) => {
      throw error;
    },
    dialer: {
      send: (_, message) => said.push(message),
      listen: (callback) => {
        hear = callback;
        return { [Symbol.dispose]: () => {} };
      },
    },
    close: async (hasLeft) => void closed.push(hasLeft),
  });
  carrier.say = (input) => owner.hearMove(input);
  const report = (): Report => {
    const last = said.findLast((message) => message.kind === 'report');
    return last?.kind === 'report' ? last : never();
  };
  let sequence = 0;
  const tell = ({ spans = [WHOLE], ...more }: Said = {}): void => {
    sequence += 1;
    hear('m1', {
      ...{ kind: 'update', pool: 'p', incarnation: 'a.1', history: 'h', term: 1, sequence, position: 5 },
      ...{ acknowledges: report().sequence, leaseMs: durations.leaseMs, pace: ownerPace(durations) },
      ...{
        admitted: true,
        spans: spans.map((span) => ({ ...WHOLE, recalled: false, continues: [], ...span })),
      },
      ...more,
    });
  };
  const move = { ...WHOLE, ticket: 't', to: 'b.1', toName: 'b', address: '127.0.0.1:2' };
  tell();
  return {
    ...{ owner, runtime, logger, carrier, closed, report, tell },
    order: (more = {}) => tell({ moves: [move], ...more }),
    caughtUp: () => carrier.say({ is: 'caughtUp', ticket: 't' }),
    acknowledged: () => carrier.say({ is: 'acknowledged', ticket: 't', digest: 'd' }),
    moved: () => tell({ spans: [] }),
    returned: () => tell({ spans: [{ number: 6, continues: [WHOLE] }] }),
    arrive: () => {
      tell({ spans: [], incoming: [{ ...WHOLE, ticket: 't', from: 'b.1', fromName: 'b' }] });
      carrier.say({ is: 'staged', ticket: 't', digest: 'd' });
      tell({ spans: [{ number: 7 }], arrived: [{ ...WHOLE, number: 7, ticket: 't' }] });
    },
  };
}

function never(): never {
  throw new Error('this is not to happen');
}
