/**
 * The founding of cells, wrong by a line each time. A promise counts as checked once the mutants named for it are caught:
 * `npm run sim -- quorum-founding --mutants`.
 */

import type { Mutant } from '../../../sim/simulation.ts';

const FOUNDING = 'quorum/core/founding.ts';
const REPLICA = 'quorum/shell/quorum-replica.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'founded-by-a-majority',
    promise: 'one-cluster',
    story: 'A replica founds a cell with those that are there, if they are a majority of the list.',
    file: FOUNDING,
    from: '  if (!storages.every((storage) => storage !== undefined)) return undefined;\n  return storages.toSorted()',
    to: '  const there = storages.filter((storage) => storage !== undefined);\n  if (2 * there.length <= list.length) return undefined;\n  return there.toSorted()',
  },
  {
    name: 'founding-is-not-told',
    promise: 'emptied-never-founds',
    story:
      'A founder introduces itself as if it still waited, and an emptied directory founds a cell with it.',
    file: REPLICA,
    from: "isJoining: origin.kind === 'joining',\n      cluster: clusterOfOrigin(origin),",
    to: "isJoining: origin.kind === 'joining',\n      cluster: undefined,\n      ...{ initial: undefined },",
  },
  {
    name: 'founders-are-not-taken-over',
    promise: 'founded-at-last',
    story: 'A replica that was away while the others wrote the members down waits for them for ever.',
    file: FOUNDING,
    from: '  if (initial !== undefined) return initial;\n',
    to: '',
  },
  {
    name: 'wrong-list-is-kept',
    promise: 'founded-at-last',
    story:
      'A founder that wrote the members of a wrong list down stays with them after the list was corrected.',
    file: FOUNDING,
    from: '  members.length !== list.length || !members.every(({ storage }) => list.includes(nameOf(storage)));',
    to: '  members.length < 0 && list.length < 0;',
  },
  {
    name: 'clusters-have-the-names-of-replicas',
    promise: 'never-mixed',
    story: 'Two cells of the same names have one id, and a member of one is ended by the other.',
    file: FOUNDING,
    from: "storage.slice(storage.lastIndexOf('~') + 1));",
    to: 'nameOf(storage));',
  },
  {
    name: 'another-cluster-is-judged-by-its-names',
    promise: 'never-mixed',
    story: 'A replica of another cluster is taken for an emptied directory, and ended.',
    file: FOUNDING,
    from: "    if (own.cluster !== undefined && hello.cluster !== own.cluster) return 'another-cluster';\n",
    to: '',
  },
];
