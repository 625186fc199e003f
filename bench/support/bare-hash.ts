/** The hash of every key and nothing else: what everything that looks at keys is measured against. */

import { hashKey } from '../../leasehold/src/runtime/keys/hash.ts';

const words = new Uint32Array(2);

export function bareHash(keys: readonly string[]): unknown {
  let sum = 0;
  for (let i = 0; i < keys.length; i += 1) {
    hashKey(keys[i] as string, words);
    sum ^= words[0] as number;
  }
  return sum;
}
