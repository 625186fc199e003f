/**
 * The protocols that can be simulated: the name on the command line, and the module that exports
 * `simulation` (its shape is `leasehold/src/sim/simulation.ts`).
 *
 * @type {Readonly<Record<string, string>>}
 */
export const protocols = {
  pool: 'leasehold/src/pool/simulation/index.ts',
  'file-log': 'leasehold/src/log/file/simulation/index.ts',
  'etcd-log': 'leasehold/src/log/etcd/simulation/index.ts',
  'file-pool': 'leasehold/src/pool/simulation/file/index.ts',
  moves: 'leasehold/src/pool/simulation/moves/index.ts',
  'soft-pool': 'leasehold/src/pool/simulation/soft/index.ts',
  'pool-shells': 'leasehold/src/pool/simulation/shells/index.ts',
  flease: 'leasehold/src/flease/simulation/index.ts',
  quorum: 'leasehold/src/quorum/simulation/index.ts',
  'quorum-log': 'leasehold/src/quorum/simulation/log/index.ts',
  'quorum-founding': 'leasehold/src/quorum/simulation/founding/index.ts',
  ratelimit: 'leasehold/src/ratelimit/simulation/index.ts',
  spread: 'leasehold/src/ratelimit/simulation/spread/index.ts',
  'ratelimit-group': 'leasehold/src/ratelimit/simulation/group/index.ts',
  membership: 'leasehold/src/membership/simulation/index.ts',
  objects: 'leasehold/src/objects/simulation/index.ts',
};
