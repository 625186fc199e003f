/** How many operations go into one message: as many as fit, and one at least, or an operation larger than the bound would never be sent. */

import type { ReaderMap, ReaderMapChange } from './configuration.ts';
import type { Operation } from './operation.ts';

/** The first of these operations that fit into so many bytes. */
export function fitting(candidates: Iterable<Operation>, bytesMax: number): Operation[] {
  const operations: Operation[] = [];
  let bytes = 0;
  for (const operation of candidates) {
    bytes += operationBytes(operation);
    if (bytes > bytesMax && operations.length > 0) break;
    operations.push(operation);
  }
  return operations;
}

/** The rough size of an operation. */
export const operationBytes = (operation: Operation): number =>
  operation.kind === 'batch' ? operation.bytes : tableBytes(operation.configuration.placement);

/** The rough size of the tables of a placement. */
const tableBytes = (placement: ReaderMap | ReaderMapChange): number =>
  'objects' in placement ? 8 * placement.objects.size : 0;
