/** Moves of state between owners with tokens: real sockets, and processes whose tokens are for something else at either end. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { readGrants } from '../../../node/identity/grants.ts';
import { newKeyPair } from '../../../node/identity/keys.ts';
import { makeToken, readToken } from '../../../node/identity/token.ts';
import { newSigner } from '../../../node/signer.ts';
import { dialTcp } from '../../../node/tcp/dial.ts';
import { HandshakeRefusedError } from '../../../node/tcp/errors.ts';
import { type SecureSockets, socketsOfTokens } from '../../../node/tcp/secure-sockets.ts';
import { bytes, HandMovedRuntime, listeningLogger, until } from '../../../node/tcp/socket-script.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import { MapState, NAMED, plainCodec, TICKET, WHOLE } from '../../simulation/moves/carrier-bench.ts';
import {
  decodeFromTarget,
  encodeFromSource,
  type FromTarget,
  TRANSFER_PROTOCOL,
} from '../../wire/transfer.ts';
import { openMoveCarrier } from './open-move-carrier.ts';
import { secureMoves } from './secure-moves.ts';

const POOL = 'presence';
const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const socketsFor = (grants: string, root = cluster.root): SecureSockets =>
  socketsOfTokens([readToken(makeToken({ ...cluster, root, grants: readGrants(grants) }))]);

/** The names that the Manager told with the ticket. */
const SOURCE = `owner:pool/${POOL}/${NAMED.fromName}`;
const TARGET = `owner:pool/${POOL}/${NAMED.toName}`;

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

/** An owner at which nothing is simulated but its core: this test says what the Managers would tell it. */
async function owner(sockets: SecureSockets | undefined) {
  const [signer, runtime, state] = [newSigner(), new HandMovedRuntime(), new MapState()];
  const inputs: MoveInput[] = [];
  const staging = vi.spyOn(state, 'stage');
  const carrier = await openMoveCarrier({
    ...{ pool: POOL, signer, runtime, logger: listeningLogger(), listen: { host: '127.0.0.1', port: 0 } },
    ...{ stallTimeoutMs: 10_000, defaultCodec: plainCodec, say: (input) => void inputs.push(input) },
    secure: secureMoves(POOL, sockets),
  });
  closing.push(carrier);
  carrier.movable('rooms', state);
  const heard = (...awaited: MoveInput['is'][]): Promise<void> =>
    until(() => {
      runtime.pass(1);
      return inputs.some(({ is }) => awaited.includes(is));
    });
  /** Empty if the state went over. */
  const whyFailed = async (): Promise<string> => {
    await heard('failed', 'caughtUp');
    const failed = inputs.find(({ is }) => is === 'failed');
    return failed?.is === 'failed' ? failed.why : '';
  };
  return { carrier, signer, state, staging, heard, whyFailed };
}

type Owner = Awaited<ReturnType<typeof owner>>;

function begin(source: Owner, target: Owner): void {
  const [from, to] = [source.signer.incarnation, target.signer.incarnation];
  source.state.entries.set('a', 1);
  target.carrier.execute({ do: 'receive', ticket: TICKET, span: WHOLE, number: 7, from, ...NAMED });
  const { address } = target.carrier;
  source.carrier.execute({ do: 'stream', ticket: TICKET, span: WHOLE, number: 7, to, address, ...NAMED });
}

/** What a process reads at the port of an owner that awaits state by a ticket: the code of a refusal, `proof` if it may go on, and the sentence. */
async function knock(target: Owner, sockets: SecureSockets | undefined, from: string) {
  const answers: FromTarget[] = [];
  const [runtime, logger] = [new HandMovedRuntime(), listeningLogger()];
  const dialer = dialTcp<Uint8Array, Uint8Array>({
    ...{ codec: bytes, protocol: TRANSFER_PROTOCOL, role: 'source', runtime, logger, secure: sockets },
  });
  closing.push(dialer);
  dialer.listen((_, frame) => answers.push(decodeFromTarget(frame)));
  const { address } = target.carrier;
  const hello = { kind: 'hello', ticket: TICKET, from, to: target.signer.incarnation } as const;
  dialer.send(address, encodeFromSource({ ...hello, nonce: '5a'.repeat(16), attempt: 1 }));
  await until(() => answers.length > 0 || dialer.problems().has(address));
  const [answer] = answers;
  if (answer?.kind === 'refused') return [answer.code, answer.why];
  if (answer !== undefined) return [answer.kind, ''];
  const problem = dialer.problems().get(address);
  return [problem instanceof HandshakeRefusedError ? problem.reason : problem?.code, problem?.message];
}

describe('a move between owners with tokens', { timeout: 30_000 }, () => {
  it('brings state where each token names its owner', async () => {
    const [source, target] = [await owner(socketsFor(SOURCE)), await owner(socketsFor(TARGET))];
    begin(source, target);
    await source.heard('caughtUp');
    source.carrier.execute({ do: 'freeze', ticket: TICKET });
    await target.heard('staged');
    target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
    expect(target.state.entries).toEqual(new Map([['a', 1]]));
  });

  it.each([
    ['another name', `owner:pool/${POOL}/eve`, 'NOT_A_SERVER'],
    ['another pool', `owner:pool/other/${NAMED.toName}`, 'NOT_A_SERVER'],
    ['a Manager', 'server:pool', 'NOT_A_SERVER'],
  ])('brings none to an owner whose token is for %s', async (_, grants, code) => {
    const [source, target] = [await owner(socketsFor(SOURCE)), await owner(socketsFor(grants))];
    begin(source, target);
    const why = await source.whyFailed();
    expect(why).toContain(`which may not be owner ${NAMED.toName} of pool ${POOL}`);
    expect([code, target.staging.mock.calls]).toEqual(['NOT_A_SERVER', []]);
  });

  it.each([
    ['another name', socketsFor(`owner:pool/${POOL}/eve`), 'may not be owner web-1 of pool presence'],
    [
      'another pool',
      socketsFor(`owner:pool/other/${NAMED.fromName}`),
      'may not be an owner of pool presence',
    ],
    ['a look-up', socketsFor(`client:pool/${POOL}`), 'may not be an owner of pool presence'],
    ['another cluster', socketsFor('everything', newKeyPair()), 'is of another'],
    ['nothing, in plaintext', undefined, 'speaks TLS alone'],
  ])('takes none from an owner whose token is for %s', async (_, sockets, words) => {
    const [source, target] = [await owner(sockets), await owner(socketsFor(TARGET))];
    begin(source, target);
    expect(await source.whyFailed()).toContain(words);
    expect(target.staging.mock.calls).toEqual([]);
    expect(source.state.entries).toEqual(new Map([['a', 1]]));
  });
});

describe('the port of an owner with a token', { timeout: 30_000 }, () => {
  it('tells a stranger why it is refused, also one that knows the ticket and the incarnation', async () => {
    const [source, target] = [await owner(socketsFor(SOURCE)), await owner(socketsFor(TARGET))];
    const from = source.signer.incarnation;
    target.carrier.execute({ do: 'receive', ticket: TICKET, span: WHOLE, number: 7, from, ...NAMED });
    const answer = (sockets: SecureSockets | undefined) => knock(target, sockets, from);
    expect(await answer(socketsFor(SOURCE))).toEqual(['proof', '']);
    const refused = (code: string, words: string) => [code, expect.stringContaining(words)];
    expect(await answer(socketsFor(`owner:pool/${POOL}/eve`))).toEqual(
      refused('NOT_ALLOWED', `may not be owner ${NAMED.fromName} of pool ${POOL}`),
    );
    for (const grants of [
      `owner:pool/other/${NAMED.fromName}`,
      `reader:pool/${POOL}`,
      `server:pool`,
      'server:quorum|server:flease|server:membership',
    ]) {
      expect(await answer(socketsFor(grants)), grants).toEqual(
        refused('NOT_ALLOWED', `may not be an owner of pool ${POOL}`),
      );
    }
    expect(await answer(socketsFor(SOURCE, newKeyPair()))).toEqual(refused('WRONG_CLUSTER', 'another'));
    expect(await answer(undefined)).toEqual(refused('TLS_REQUIRED', 'speaks TLS alone'));
    expect(target.staging.mock.calls).toEqual([]);
  });
});
