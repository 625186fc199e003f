/**
 * For tests only: tokens and issuer names that nobody made, from a seed.
 *
 *  - A damaged token is refused as one that is not whole, also with a checksum that fits the damage; or it says what the root signed, and nothing else.
 *  - A damaged issuer's name is no identity; or it is one whose text, written again, is that name: there is one text for one meaning, so no second writing of a name can mean
 *    more than OpenSSL compared.
 */

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Dice } from '../../runtime/dice.ts';
import { RefusedError } from '../../runtime/errors.ts';
import { hostileBytes } from '../../runtime/msgpack/hostile-bytes.ts';
import { grantsText, readGrants } from './grants.ts';
import { newKeyPair } from './keys.ts';
import { identityOf, type PeerIdentity } from './peer-identity.ts';
import { makeToken, readToken, type Token } from './token.ts';

export interface IdentityCounts {
  readonly tokensRead: number;
  readonly tokensRefused: number;
  readonly namesRead: number;
  readonly namesRefused: number;
}

const CLUSTER = 'blue';
const GRANTS = [
  'everything',
  'owner:pool/presence/web-*',
  'reader:pool',
  'client:quorum/default/x%7cserver%3a%2a|operator:quorum',
  'server:membership/d/WEB ü',
];
/** To fit a checksum to the damage costs a signature's verification afterwards, so this is seldom. */
const SEALED_EVERY = 64;
const CHECKSUM_BYTES = 4;
const PREFIX = 'lh1.';

const latin = (text: string): Buffer => Buffer.from(text, 'latin1');
/** The characters that mean something in a name, and capitals of what is written small. */
const TELLING = [...latin('|:/*%,.=\n+ AWP09afLH\0')];

const factsOf = ({ id, cluster, rootId, grantsText: text, hosts, endS }: Token): string =>
  JSON.stringify([id, cluster, rootId, text, hosts, endS]);

const nameOf = ({ id, cluster, grants, endS = 0 }: PeerIdentity): string =>
  `O=${cluster}\nserialNumber=${id}.${endS.toString(16)}\nCN=leasehold-grant:${grantsText(grants)}`;

/** @throws {Error} naming the seed and the input that was taken for something else */
export function fuzzIdentities(runs: number, seed: number): IdentityCounts {
  const dice = new Dice(seed);
  const root = newKeyPair();
  const tokens = GRANTS.map((grants, index) =>
    makeToken({
      ...{ cluster: CLUSTER, root, grants: readGrants(grants) },
      ...{ hosts: index === 0 ? ['m1.corp', '::1'] : [], endS: index === 1 ? 2_000_000_000 : undefined },
    }),
  );
  const signed = new Set(tokens.map((token) => factsOf(readToken(token))));
  const bytes = tokens.map((token) => Buffer.from(token.slice(PREFIX.length), 'base64url'));
  const names = tokens.map((token) => latin(nameOf(readToken(token))));
  const counts = { tokensRead: 0, tokensRefused: 0, namesRead: 0, namesRefused: 0 };
  const fail = (run: number, what: string): never => {
    throw new Error(`input ${run} of seed ${seed} was taken for something else: ${what}`);
  };

  for (let run = 0; run < runs; run += 1) {
    if (run % 2 === 0) {
      const name = Buffer.from(hostileBytes(dice, names, TELLING)).toString('latin1');
      const identity = identityOf(name, CLUSTER);
      if (identity === undefined) counts.namesRefused += 1;
      else if (nameOf(identity) === name) counts.namesRead += 1;
      else fail(run, JSON.stringify(name));
      continue;
    }
    const text = tokenText(dice, hostileBytes(dice, bytes, TELLING));
    try {
      const facts = factsOf(readToken(text));
      if (signed.has(facts)) counts.tokensRead += 1;
      else fail(run, facts);
    } catch (error) {
      if (!(error instanceof RefusedError) || error.code !== 'TOKEN_MALFORMED') throw error;
      counts.tokensRefused += 1;
    }
  }
  return counts;
}

/** Damaged bytes as a token: with the checksum that they have, or now and then with one that fits. */
function tokenText(dice: Dice, damaged: Uint8Array): string {
  if (dice.below(SEALED_EVERY) !== 0) return PREFIX + Buffer.from(damaged).toString('base64url');
  const content = damaged.subarray(0, Math.max(0, damaged.length - CHECKSUM_BYTES));
  const checksum = createHash('sha256').update(content).digest().subarray(0, CHECKSUM_BYTES);
  return PREFIX + Buffer.concat([content, checksum]).toString('base64url');
}
