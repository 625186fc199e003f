/** Replicas with clocks of other rates: processes under libfaketime. */

import { describe, expect, it } from 'vitest';
import { QuorumCell } from './harness/quorum-cell.ts';
import { QuorumLoad } from './harness/quorum-load.ts';
import type { Program } from './harness/program.ts';
import { onScene } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { falseClock } from './harness/tools.ts';

const NAMES = ['a', 'b', 'c'];
const ODD = 'c';

interface Seen {
  readonly isLeased: boolean;
  readonly members: readonly { readonly name: string; readonly clockRate?: number }[];
}

const seenBy = async (program: Program): Promise<Seen> => (await program.ask('status')) as unknown as Seen;

const tooFast = ({ members }: Seen): string[] =>
  members.flatMap(({ name, clockRate }) => (clockRate === undefined ? [] : [name]));

const fetched = async (program: Program, path: string): Promise<string> =>
  (await fetch(`${String(program.ready['url'])}${path}`)).text();

/** A cell in which one replica was started again, with a clock of this rate. */
async function withRate(cell: QuorumCell, rate: number): Promise<Program> {
  await cell.kill(ODD);
  const program = cell.start(ODD, {}, falseClock({ rate }));
  await program.event('ready');
  return program;
}

describe('a replica whose clock runs at 0.7 of the true rate, beyond the bound', () => {
  it(
    'finds that out, says so, reads nothing locally, and the cell stays linearizable',
    onScene(
      async (scene) => {
        const cell = await QuorumCell.running(scene, NAMES);
        const odd = await withRate(cell, 0.7);
        await odd.logged('a clock runs too fast beside the one here');
        await until('both other clocks are found too fast', async () =>
          tooFast(await seenBy(odd)).length === 2 ? true : undefined,
        );
        expect((await seenBy(odd)).isLeased).toBe(false);
        expect(await fetched(odd, '/readyz')).toMatch(
          /nothing is read locally: the clocks of a, b run more than/,
        );
        expect(await fetched(odd, '/metrics')).toMatch(
          /^leasehold_quorum_peer_clock_too_fast\{.*peer="a"\} 1$/m,
        );
        const load = new QuorumLoad();
        const lanes = NAMES.map((name) => load.lane(name, cell.client(name)));
        await until('calls are answered', () => (load.done > 300 ? true : undefined));
        expect((await seenBy(odd)).isLeased).toBe(false);
        for (const name of ['a', 'b']) {
          const seen = await seenBy(cell.program(name));
          expect(tooFast(seen)).toEqual([]);
          expect(seen.isLeased).toBe(true);
        }
        load.isOver = true;
        await Promise.all(lanes);
        expect(load.verdict()).toEqual({ ok: true });
      },
      { needs: ['faketime'], clocks: 'false' },
    ),
  );
});

describe('a replica whose clock runs at 0.85 of the true rate, within the bound', () => {
  it(
    'reads locally, and no clock is found too fast',
    onScene(
      async (scene) => {
        const cell = await QuorumCell.running(scene, NAMES);
        const odd = await withRate(cell, 0.85);
        await until('it reads locally', async () => ((await seenBy(odd)).isLeased ? true : undefined));
        const load = new QuorumLoad();
        const lanes = NAMES.map((name) => load.lane(name, cell.client(name)));
        await until('calls are answered', () => (load.done > 1_000 ? true : undefined));
        for (const name of NAMES) expect(tooFast(await seenBy(cell.program(name)))).toEqual([]);
        load.isOver = true;
        await Promise.all(lanes);
        expect(load.verdict()).toEqual({ ok: true });
      },
      { needs: ['faketime'] },
    ),
  );
});
