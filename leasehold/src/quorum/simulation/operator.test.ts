import { describe, expect, it } from 'vitest';
import { Random } from '../../sim/random.ts';
import { drawWorld } from './drawn-world.ts';
import { QuorumWorld } from './quorum-world.ts';

/** Three replicas that have founded their cell and have some slots, without clients and without faults. */
function founded(): QuorumWorld {
  const drawn = drawWorld(new Random(1, 'drawn'));
  const quorum = new QuorumWorld(1, false, {
    ...{ ...drawn, links: drawn.calmLinks, clients: 0, replicas: 3, placement: { mode: 'all' } },
    limits: { ...drawn.limits, slotsPerSnapshot: 1_000 },
  });
  quorum.start();
  run(quorum, 2_000);
  for (const placement of [{ mode: 'leader' }, { mode: 'all' }] as const) {
    quorum.operator.leader?.reconfigure({ kind: 'placement', placement });
    run(quorum, 1_000);
  }
  return quorum;
}

const run = ({ world }: QuorumWorld, ms: number): void => world.run({ untilMs: world.trueMs + ms });

describe('the operator of a simulated cell', () => {
  it('counts a member that repairs its journal as lost, and loses no other member meanwhile', () => {
    const quorum = founded();
    const { operator, nodes, replicas } = quorum;
    expect(operator.isWhole).toBe(true);
    const [damaged, other] = nodes.filter((node) => !node.isLeader);
    if (damaged === undefined || other === undefined) throw new Error('there are three members');
    for (const { storage } of nodes) replicas.cut(storage, damaged.storage);
    damaged.crash();
    expect(damaged.disk.damage()).toBe(true);
    damaged.start();
    run(quorum, 1_000);
    expect(operator.isWhole).toBe(false);
    operator.replace(other, false);
    expect(other.isLost).toBe(false);
    replicas.heal();
    run(quorum, 5_000);
    expect(quorum.world.counts.get('repaired')).toBe(1);
    expect(operator.isWhole).toBe(true);
  });
});
