import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { prove } from '../incarnation.ts';
import type { Prove, Report, ToGate } from '../messages.ts';
import { decodeFromManager, encodeMessage } from '../../wire/messages.ts';
import { certificate, report, sync, TO_MANAGER } from '../../wire/samples.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { FromManager } from '../messages.ts';
import { gated, type Lines, type May, ruleOn } from './gate.ts';

const [signer, other] = [newSigner(), newSigner()];
const CHANNEL = 'ab'.repeat(16);

/** A connection that has proved these. */
const standing = (...proofs: readonly Prove[]) => {
  const proved = new Set<string>();
  for (const proof of proofs) {
    const ruling = ruleOn(proof, { channel: CHANNEL, proved }, nodeVerifier);
    if (ruling.do === 'remember') proved.add(ruling.proved);
  }
  return { channel: CHANNEL, proved };
};
const ruling = (message: ToGate, ...proofs: readonly Prove[]): string =>
  ruleOn(message, standing(...proofs), nodeVerifier).do;
const reportOf = (incarnation: string, pool = 'presence'): Report => ({ ...report, incarnation, pool });

describe('the gate before a Manager', () => {
  it('lets syncs and certificates pass from everybody', () => {
    expect([ruling(sync), ruling(certificate)]).toEqual(['pass', 'pass']);
  });

  it('lets a report pass if its incarnation was proved on this connection for its pool, and else refuses it', () => {
    const proof = prove(signer, 'presence', CHANNEL);
    expect(ruling(reportOf(signer.incarnation), proof)).toBe('pass');
    expect(ruling(reportOf(signer.incarnation))).toBe('refuse');
    expect(ruling(reportOf(other.incarnation), proof)).toBe('refuse');
    expect(ruling(reportOf(signer.incarnation, 'another'), proof)).toBe('refuse');
    expect(ruling(reportOf(signer.incarnation), prove(signer, 'another', CHANNEL))).toBe('refuse');
  });

  it('refuses a proof that was made for another connection, another pool or another incarnation', () => {
    expect(ruling(prove(signer, 'presence', CHANNEL))).toBe('remember');
    expect(ruling(prove(signer, 'presence', 'cd'.repeat(16)))).toBe('refuse');
    expect(ruling({ ...prove(signer, 'presence', CHANNEL), pool: 'another' })).toBe('refuse');
    expect(ruling({ ...prove(signer, 'presence', CHANNEL), incarnation: other.incarnation })).toBe('refuse');
    expect(ruling({ ...prove(signer, 'presence', CHANNEL), key: other.key })).toBe('refuse');
    expect(ruling(prove({ ...other, incarnation: signer.incarnation }, 'presence', CHANNEL))).toBe('refuse');
  });

  it('takes four incarnations on one connection, each as often as it comes, and no fifth', () => {
    const proofs = Array.from({ length: 5 }, () => prove(newSigner(), 'presence', CHANNEL));
    const [first, , , , fifth] = proofs as [Prove, Prove, Prove, Prove, Prove];
    expect(ruling(fifth, ...proofs.slice(0, 4))).toBe('refuse');
    expect(ruling(first, ...proofs.slice(0, 4))).toBe('remember');
  });
});

/** One connection through the gate: what passes, and the last words to its peer. */
function lineWith(may: May | undefined) {
  const passed: ToGate[] = [];
  const dismissed: (readonly [LeaseholdError, FromManager])[] = [];
  let hear: (from: string, message: ToGate) => void = () => {};
  const peer = { channel: CHANNEL };
  const lines: Lines = {
    send: () => {},
    listen: (callback) => {
      hear = callback;
      return { [Symbol.dispose]: () => {} };
    },
    peer: () => peer,
    dismiss: (_, why, lastWords) => dismissed.push([why, lastWords]),
  };
  gated(lines, nodeVerifier, may).listen((_, message) => passed.push(message));
  return { passed, dismissed, say: (message: ToGate) => hear('peer', message) };
}

describe('the gate of tokens before it', () => {
  const proof = prove(signer, 'presence', CHANNEL);
  const mine = reportOf(signer.incarnation);

  it('is asked first, and each time: a proof that may not be said proves nothing', () => {
    let isAllowed = false;
    const { passed, dismissed, say } = lineWith((from, { kind }) =>
      isAllowed ? undefined : { message: `${from} may not ${kind}` },
    );
    say(proof);
    isAllowed = true;
    say(mine);
    expect(passed).toEqual([]);
    say(proof);
    say(mine);
    isAllowed = false;
    say(mine);
    expect(passed).toEqual([mine]);
    expect(dismissed.map(([, words]) => words)).toMatchObject([
      { message: 'this prove is not allowed: peer may not prove', asker: signer.incarnation },
      { message: expect.stringContaining('was not proved') },
      { message: 'this report is not allowed: peer may not report', pool: 'presence' },
    ]);
  });

  it('says no in words that every message can be answered with', () => {
    const { dismissed, say } = lineWith(() => ({ message: 'no' }));
    for (const message of Object.values(TO_MANAGER)) say(message);
    const words = dismissed.map(([, lastWords]) => lastWords);
    expect(words).toHaveLength(5);
    for (const each of words) {
      expect(each).toMatchObject({ kind: 'refused', code: 'NOT_ALLOWED', retryable: false });
      expect(decodeFromManager(encodeMessage(each))).toEqual(each);
    }
  });
});

describe('an incarnation', () => {
  it('is the first half of the hash of a public key, and no two are alike', () => {
    expect(signer.incarnation).toMatch(/^[0-9a-f]{32}$/);
    expect(nodeVerifier.incarnationOf(signer.key)).toBe(signer.incarnation);
    expect(other.incarnation).not.toBe(signer.incarnation);
    // SHA-256 of 32 zero bytes, by another program.
    expect(nodeVerifier.incarnationOf('00'.repeat(32))).toBe('66687aadf862bd776c8fc18b8e9f8e20');
  });
});
