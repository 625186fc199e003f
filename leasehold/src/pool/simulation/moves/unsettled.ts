/** What is not as it should be in a pool whose keys move, once faults have stopped. */

import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import type { PoolTable } from '../../core/table.ts';
import type { OwnerNode } from '../nodes.ts';

/** In a sentence. */
export function unsettled({ rows }: PoolTable, owners: readonly OwnerNode[]): string | undefined {
  for (const { start, owner } of rows) {
    const node = owners.find(({ incarnation, lives }) => lives && incarnation === owner);
    if (node === undefined || node.left) return `${owner ?? 'nobody'} has keys, and does not live`;
    if (node.check(start) === undefined)
      return `${node.incarnation} does not serve its keys: ${node.core?.pieceAt(highOf(start), lowOf(start))?.phase}`;
  }
  for (const node of owners) {
    if (!node.lives || node.left) continue;
    if ((node.core?.movesUnderway ?? 0) > 0) return `${node.incarnation} keeps tickets`;
    if (node.leaving) return `${node.incarnation} wanted to leave, and has not left`;
  }
  return undefined;
}
