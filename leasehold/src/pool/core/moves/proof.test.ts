import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { isProof } from '../incarnation.ts';
import { isTransferProof, proveTransfer, type TransferFacts } from './proof.ts';

const source = newSigner();
const target = newSigner();
const facts: TransferFacts = {
  ...{ nonce: '01'.repeat(16), channel: 'ab'.repeat(16), pool: 'presence', ticket: 'c4.2.1' },
  ...{ from: source.incarnation, to: target.incarnation },
};

describe('the proof of an end of a transfer', () => {
  it.each(['source', 'target'] as const)('is good for the %s that signed these facts', (role) => {
    const proof = proveTransfer(role === 'source' ? source : target, role, facts);
    expect(isTransferProof(proof, role, facts, nodeVerifier)).toBe(true);
  });

  it.each(['nonce', 'channel', 'pool', 'ticket', 'from', 'to'] as const)(
    'is worth nothing for another %s',
    (name) => {
      const proof = proveTransfer(target, 'target', facts);
      const others = { ...facts, [name]: `${facts[name]}x` };
      expect(isTransferProof(proof, 'target', others, nodeVerifier)).toBe(false);
    },
  );

  it('is worth nothing in the other role, also to a process that moves keys to itself', () => {
    const own = { ...facts, from: target.incarnation };
    const proof = proveTransfer(target, 'target', own);
    expect(isTransferProof(proof, 'target', own, nodeVerifier)).toBe(true);
    expect(isTransferProof(proof, 'source', own, nodeVerifier)).toBe(false);
  });

  it('is refused from a process with another key', () => {
    const proof = proveTransfer(newSigner(), 'target', facts);
    expect(isTransferProof(proof, 'target', facts, nodeVerifier)).toBe(false);
    const stolenKey = { ...proof, key: target.key };
    expect(isTransferProof(stolenKey, 'target', facts, nodeVerifier)).toBe(false);
  });

  it('is no proof of the incarnation to a Manager that drew the same channel', () => {
    const { channel, pool } = facts;
    const { key, signature } = proveTransfer(source, 'source', facts);
    const prove = { kind: 'prove', pool, incarnation: source.incarnation, key, signature } as const;
    expect(isProof(prove, channel, nodeVerifier)).toBe(false);
  });
});
