/** Troubles of the membership: disks that are lost, replacements beside a process that still runs, changes that are repeated late, strangers. */

import type { Storm, Trouble } from '../../sim/storm.ts';
import { BALLOT_MAX } from '../core/ballot.ts';
import type { Message } from '../core/messages.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

export function memberTroubles(quorum: QuorumWorld): Readonly<Record<string, Trouble<ReplicaNode>>> {
  const { operator } = quorum;
  return {
    'lost disk': (node) => operator.replace(node, false),
    double: (node) => operator.replace(node, true),
    add: () => operator.add(),
    remove: (node) => operator.remove(node),
    'late change': (_, storm) => repeatChange(quorum, storm),
    stranger: (node, storm) => speakAsStranger(quorum, node, storm),
  };
}

/** A copy of a change arrives that was made long ago; the old process of a replaced member may still run. */
function repeatChange({ operator, world }: QuorumWorld, { random }: Storm<ReplicaNode>): void {
  const { removed = [] } = operator.leader?.replica?.view.log.newestConfiguration ?? {};
  if (removed.length === 0) {
    operator.replace(random.pick(operator.members), true);
    return;
  }
  world.count('changes repeated');
  operator.leader?.reconfigure({ kind: 'add', storage: random.pick(removed) });
}

/** A process that no configuration seats speaks as only members may. */
function speakAsStranger(
  { replicas, operator }: QuorumWorld,
  node: ReplicaNode,
  { random }: Storm<ReplicaNode>,
): void {
  const view = operator.leader?.replica?.view;
  if (view === undefined) return;
  const { chosen, last: slot } = view.log;
  const ballot = random.pick([view.acceptor.ballot + 32 * random.integer(1, 9), BALLOT_MAX]);
  const number = 2 ** 40;
  const words: readonly Message[] = [
    { kind: 'prepare', ballot, chosen },
    { kind: 'accept', ballot, merged: 0, first: slot + 1, operations: [], chosen: 0, committed: 0 },
    { kind: 'refused', ballot: view.acceptor.ballot, promised: ballot },
    {
      ...{ kind: 'accepted', ballot: view.acceptor.ballot, upTo: slot, committed: slot, settled: slot },
      ...{ life: number, number, mask: 0, votes: number },
    },
  ];
  for (const to of [node, ...operator.members])
    replicas.send('stranger', to.storage, { life: 1, message: random.pick(words) });
}
