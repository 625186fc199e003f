/**
 * Keeps the bytes of the operations that were written or read last. A leader sends an operation to every peer and writes the
 * operation to the own disk; a follower writes to the own disk the operation that was just read. So an operation is encoded once at
 * the leader, and nowhere else.
 *
 * Operations never change, so the bytes stay right for as long as the object lives. Only some are kept: a peer that lags is sent
 * operations that are encoded anew.
 */

import { ByteWriter } from '../../runtime/msgpack/bytes.ts';
import type { Form } from '../../runtime/wire/form.ts';

const OPERATIONS_KEPT = 128;
const BYTES_KEPT: number = 16 * 1024 * 1024;

export function keptBytes<T extends object>(form: Form<T>): Form<T> {
  const kept = new Map<T, Uint8Array>();
  const scratch = new ByteWriter();
  let bytesKept = 0;
  const keep = (value: T, bytes: Uint8Array): void => {
    kept.set(value, bytes);
    bytesKept += bytes.length;
    for (const [oldest, old] of kept) {
      if (kept.size <= OPERATIONS_KEPT && bytesKept <= BYTES_KEPT) return;
      kept.delete(oldest);
      bytesKept -= old.length;
    }
  };
  return {
    write: (writer, value) => {
      let bytes = kept.get(value);
      if (bytes === undefined) {
        try {
          form.write(scratch, value);
          bytes = scratch.take();
        } finally {
          scratch.clear();
        }
        keep(value, bytes);
      }
      writer.bytes(bytes);
    },
    read: (reader) => {
      const { left } = reader;
      const value = form.read(reader);
      keep(value, reader.since(left));
      return value;
    },
    samples: () => form.samples(),
  };
}
