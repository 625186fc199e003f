/** What a target and a source do with peers that are wrong, slow, or hostile. */

import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { isProof } from '../../core/incarnation.ts';
import { proveTransfer } from '../../core/moves/proof.ts';
import {
  CarrierBench,
  type CarrierBenchOptions,
  TICKET,
  WHOLE,
  NAMED,
} from '../../simulation/moves/carrier-bench.ts';
import { StrangeSource, StrangeTarget } from '../../simulation/moves/stranger.ts';
import { encodeFromTarget, type FromTarget, WINDOW_BYTES } from '../../wire/transfer.ts';

const signers = [newSigner(), newSigner()] as const;
const [sourceSigner, targetSigner] = signers;
const [from, to] = [sourceSigner.incarnation, targetSigner.incarnation];
const bench = (options: Partial<CarrierBenchOptions> = {}): CarrierBench =>
  new CarrierBench({ signers, verifier: nodeVerifier, ...options });

const item = (key: string, value: unknown): Uint8Array => Buffer.from(JSON.stringify([key, value]));
const NAMES = { kind: 'names', sequence: 1, names: [{ name: 'rooms', version: 1 }] } as const;

describe('a target', () => {
  const receiving = (ticket = TICKET): CarrierBench => {
    const world = bench();
    world.target.carrier.execute({ do: 'receive', ticket, span: WHOLE, number: 7, from, ...NAMED });
    return world;
  };
  const dialled = async (world: CarrierBench): Promise<StrangeSource> => {
    const peer = new StrangeSource(world.lines, 'target:1');
    await world.until(() => peer.line !== undefined, 'a line');
    return peer;
  };
  const proved = async (world: CarrierBench, attempt = 1): Promise<StrangeSource> => {
    const peer = await dialled(world);
    peer.hello(TICKET, from, to, attempt);
    await world.until(() => peer.kinds.includes('proof') || peer.isClosed, 'the proof of the target');
    peer.prove(sourceSigner);
    await world.run(10);
    return peer;
  };

  it('takes a source that keeps the protocol', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    const { digest } = peer.frames;
    peer.say({ kind: 'last', sequence: 3, digest });
    await world.untilSaid(world.target, 'staged');
    await world.until(() => peer.kinds.includes('staged'), 'staged');
    expect(peer.kinds).toEqual(['proof', 'ready', 'acknowledged', 'acknowledged', 'staged']);
  });

  it('refuses a ticket that its core did not name before it signs or checks anything', async () => {
    const done: string[] = [];
    const signer: Signer = {
      ...targetSigner,
      sign: (bytes) => {
        done.push('sign');
        return targetSigner.sign(bytes);
      },
    };
    const verifier: Verifier = {
      ...nodeVerifier,
      isSigned: (...given) => {
        done.push('check');
        return nodeVerifier.isSigned(...given);
      },
    };
    const world = bench({ signers: [sourceSigner, signer], verifier });
    const peer = await dialled(world);
    peer.hello('c4.9.9', from, to);
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['UNKNOWN_TICKET']);
    expect(done).toEqual([]);
  });

  it.each([
    ['a ticket of another source', TICKET, newSigner().incarnation, to],
    ['a ticket for another target', TICKET, from, newSigner().incarnation],
  ])('refuses %s before it signs anything', async (_, ticket, sender, receiver) => {
    const world = receiving();
    const peer = await dialled(world);
    peer.hello(ticket, sender, receiver);
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['UNKNOWN_TICKET']);
  });

  it('refuses frames of a peer that proves nothing', async () => {
    const world = receiving();
    const peer = await dialled(world);
    peer.hello(TICKET, from, to);
    await world.run(10);
    peer.frame(NAMES);
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['proof', 'NOT_PROVED']);
    expect(world.target.state.staged).toBe(0);
  });

  it('closes a peer that proves nothing in time', async () => {
    const world = receiving();
    const quiet = await dialled(world);
    const greeted = await dialled(world);
    greeted.hello(TICKET, from, to);
    await world.run(1_900);
    expect([quiet.isClosed, greeted.isClosed]).toEqual([false, false]);
    await world.run(200);
    expect(quiet.kinds).toEqual(['NOT_PROVED']);
    expect(greeted.kinds).toEqual(['proof', 'NOT_PROVED']);
    expect([quiet.isClosed, greeted.isClosed]).toEqual([true, true]);
  });

  it('refuses a member that proves itself, and not the source', async () => {
    const world = receiving();
    const peer = await dialled(world);
    peer.hello(TICKET, from, to);
    await world.run(10);
    peer.prove(newSigner());
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['proof', 'NOT_PROVED']);
  });

  it.each([
    ['channel', { channel: 'cd'.repeat(16) }],
    ['nonce', { nonce: 'cd'.repeat(16) }],
    ['pool', { pool: 'another' }],
    ['ticket', { ticket: 'c4.2.2' }],
  ])('refuses a proof of the source that was made for another %s', async (_, change) => {
    const world = receiving();
    const peer = await dialled(world);
    peer.hello(TICKET, from, to);
    await world.run(10);
    peer.prove(sourceSigner, change);
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['proof', 'NOT_PROVED']);
  });

  it('has 300 peers that greet it and prove nothing, and takes the source that comes then', async () => {
    const world = receiving();
    const peers = await Promise.all(
      Array.from({ length: 300 }, () => new StrangeSource(world.lines, 'target:1')),
    );
    await world.run(10);
    for (const peer of peers) peer.hello(TICKET, from, to);
    const peer = await proved(world);
    expect(peer.kinds).toEqual(['proof', 'ready']);
    await world.run(3_000);
    expect(peers.every(({ isClosed }) => isClosed)).toBe(true);
    expect(peer.isClosed).toBe(false);
  });

  it('refuses a frame that is not the next', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.say({ kind: 'chunk', sequence: 3, place: 0, items: [item('a', 1)] });
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds.at(-1)).toBe('OUT_OF_ORDER');
    expect(world.target.state.staged).toBe(0);
  });

  it('refuses a frame that comes twice', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    peer.say({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds.at(-1)).toBe('OUT_OF_ORDER');
    expect(world.says(world.target, 'staged')).toEqual([]);
  });

  it('refuses a chunk ahead of the names, and a chunk of a name that was not said', async () => {
    for (const message of [
      { kind: 'chunk', sequence: 1, place: 0, items: [item('a', 1)] },
      { kind: 'chunk', sequence: 2, place: 1, items: [item('a', 1)] },
    ] as const) {
      const world = receiving();
      const peer = await proved(world);
      if (message.sequence === 2) peer.frame(NAMES);
      peer.frame(message);
      await world.until(() => peer.isClosed, 'a refusal');
      expect(peer.kinds.at(-1)).toBe('OUT_OF_TURN');
    }
  });

  it('refuses a second hello, so that a line that is proved for a ticket brings nothing for another', async () => {
    const world = receiving();
    world.target.carrier.execute({ do: 'receive', ticket: 'c4.2.2', span: WHOLE, number: 7, from, ...NAMED });
    const peer = await proved(world);
    peer.frame(NAMES);
    await world.run(10);
    peer.hello('c4.2.2', from, to);
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds.at(-1)).toBe('OUT_OF_TURN');
    const early = await dialled(world);
    early.prove(sourceSigner);
    await world.until(() => early.isClosed, 'a refusal');
    expect(early.kinds).toEqual(['OUT_OF_TURN']);
  });

  it('refuses a digest that is not that of what arrived', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    peer.say({ kind: 'last', sequence: 3, digest: { ...peer.frames.digest, items: 2 } });
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds.at(-1)).toBe('WRONG_DIGEST');
    expect(world.says(world.target, 'staged')).toEqual([]);
    expect(world.target.state.discarded).toBe(1);
  });

  it('takes the latest attempt only, and empties the stage for it', async () => {
    const world = receiving();
    const first = await proved(world, 1);
    first.frame(NAMES);
    first.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    await world.run(10);
    expect(world.target.state.staged).toBe(1);
    const third = await proved(world, 3);
    expect(third.kinds.at(-1)).toBe('ready');
    expect(first.kinds.at(-1)).toBe('OLD_ATTEMPT');
    expect(world.target.state.staged).toBe(0);
    const second = await proved(world, 2);
    expect(second.kinds.at(-1)).toBe('OLD_ATTEMPT');
    third.frame(NAMES);
    third.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('b', 1)] });
    await world.run(10);
    expect(world.target.state.staged).toBe(1);
    expect(world.says(world.target, 'unstaged')).toEqual([]);
  });

  it('takes no attempt beside a complete import', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    peer.say({ kind: 'last', sequence: 3, digest: peer.frames.digest });
    await world.untilSaid(world.target, 'staged');
    const later = await proved(world, 2);
    expect(later.kinds.at(-1)).toBe('COMPLETE');
    expect(world.target.state.staged).toBe(1);
  });

  it('refuses a source that sends more than the window without being acknowledged', async () => {
    const world = receiving();
    world.target.state.stageDelay = () => new Promise(() => {});
    const peer = await proved(world);
    peer.frame(NAMES);
    await world.run(10);
    const large = Buffer.from(JSON.stringify(['k', 'x'.repeat(1024 * 1024)]));
    for (let sequence = 2; sequence <= 2 + WINDOW_BYTES / large.length; sequence += 1)
      peer.frame({ kind: 'chunk', sequence, place: 0, items: [large] });
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds.at(-1)).toBe('TOO_MUCH');
  });

  it('refuses nonsense, and items that cannot be read', async () => {
    const world = receiving();
    const peer = await dialled(world);
    peer.raw(Uint8Array.of(9, 9, 9));
    await world.until(() => peer.isClosed, 'a refusal');
    expect(peer.kinds).toEqual(['MALFORMED_MESSAGE']);
    const other = await proved(world);
    other.frame(NAMES);
    other.frame({ kind: 'chunk', sequence: 2, place: 0, items: [Buffer.from('{')] });
    await world.until(() => other.isClosed, 'a refusal');
    expect(other.kinds.at(-1)).toBe('STAGE_FAILED');
    expect(world.target.lines).toHaveLength(1);
  });

  it('gives up a source that falls silent, and takes its next attempt', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    await world.run(9_000);
    expect(peer.isClosed).toBe(false);
    await world.run(5_000);
    expect(peer.kinds.at(-1)).toBe('STALLED');
    expect(world.target.state.staged).toBe(0);
    expect((await proved(world, 2)).kinds.at(-1)).toBe('ready');
  });

  it('drops the stage and closes the line when the core discards the ticket', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    await world.run(10);
    world.target.carrier.execute({ do: 'discard', ticket: TICKET });
    expect(world.target.state.staged).toBe(0);
    await world.until(() => peer.isClosed, 'an end');
    expect(peer.kinds.at(-1)).toBe('OVER');
    const again = await dialled(world);
    again.hello(TICKET, from, to, 2);
    await world.until(() => again.isClosed, 'a refusal');
    expect(again.kinds).toEqual(['UNKNOWN_TICKET']);
  });

  it('leaves a stage alone that takes its items when the ticket is over', async () => {
    const world = receiving();
    let resolve = (): void => {};
    world.target.state.stageDelay = () => new Promise((done) => (resolve = done));
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.frame({ kind: 'chunk', sequence: 2, place: 0, items: [item('a', 1)] });
    await world.run(10);
    world.target.carrier.execute({ do: 'discard', ticket: TICKET });
    resolve();
    await world.run(100);
    expect(world.target.state.staged).toBe(0);
    expect(peer.kinds.filter((kind) => kind === 'acknowledged')).toHaveLength(1);
    expect(world.target.inputs).toEqual([]);
    expect(world.target.carrier.received.items).toBe(0);
  });

  it('commits the granted keys only, each number by itself, in one turn', async () => {
    const world = receiving();
    const peer = await proved(world);
    peer.frame(NAMES);
    peer.say({ kind: 'last', sequence: 2, digest: peer.frames.digest });
    await world.untilSaid(world.target, 'staged');
    const half = RING_SIZE / 2n;
    world.target.state.committed.length = 0;
    world.target.carrier.execute({
      ...{ do: 'commit', ticket: TICKET },
      spans: [{ start: 0n, end: half, number: 8 }],
    });
    expect(world.target.state.committed.map(({ keys, number }) => [keys.spans(), number])).toEqual([
      [[{ start: 0n, end: half }], 8],
    ]);
  });
});

describe('a source', () => {
  const FRAME = { kind: 'ready' } as const;
  const prepared = (options: Partial<CarrierBenchOptions> = {}) => {
    const world = bench(options);
    const impostor = new StrangeTarget(world.lines, 'target:1');
    world.source.state.entries.set('a', 1);
    const { carrier } = world.source;
    carrier.execute({
      do: 'stream',
      ticket: TICKET,
      span: WHOLE,
      number: 7,
      to,
      address: 'target:1',
      ...NAMED,
    });
    return { world, impostor };
  };
  const say = (impostor: StrangeTarget, message: FromTarget): void => {
    impostor.line?.send(encodeFromTarget(message));
  };
  const whyFailed = async (world: CarrierBench): Promise<string> => {
    const failed = await world.untilSaid(world.source, 'failed');
    return failed.is === 'failed' ? failed.why : '';
  };
  const kinds = (impostor: StrangeTarget): readonly string[] => impostor.heard.map(({ kind }) => kind);

  it.each<[string, FromTarget]>([
    ['ready', FRAME],
    ['acknowledged', { kind: 'acknowledged', sequence: 1 }],
    ['staged', { kind: 'staged', digest: { items: 0, bytes: 0, checksum: 0 } }],
  ])('sends nothing but its hello to a target that says %s and proves nothing', async (_, message) => {
    const { world, impostor } = prepared();
    impostor.answer = () => say(impostor, message);
    await whyFailed(world);
    expect(kinds(impostor)).toEqual(['hello']);
    expect(world.source.state.ends).toEqual([]);
  });

  it('signs nothing for a target of another incarnation', async () => {
    const { world, impostor } = prepared();
    const other = newSigner();
    impostor.answer = (message, { channel }) => {
      if (message.kind !== 'hello') return;
      const facts = { pool: 'presence', channel, ticket: TICKET, from, to, nonce: message.nonce };
      say(impostor, { kind: 'proof', ...proveTransfer(other, 'target', facts) });
    };
    expect(await whyFailed(world)).toContain('did not prove its incarnation');
    expect(kinds(impostor)).toEqual(['hello']);
  });

  it('signs nothing for a process in the middle that passes the proof of the target on', async () => {
    const { world, impostor } = prepared();
    impostor.answer = (message) => {
      if (message.kind !== 'hello') return;
      const facts = {
        pool: 'presence',
        channel: 'ee'.repeat(16),
        ticket: TICKET,
        from,
        to,
        nonce: message.nonce,
      };
      say(impostor, { kind: 'proof', ...proveTransfer(targetSigner, 'target', facts) });
    };
    expect(await whyFailed(world)).toContain('did not prove its incarnation');
    expect(kinds(impostor)).toEqual(['hello']);
  });

  it('gives a target nothing that proves the source to a Manager, whose channel it may have passed on', async () => {
    const { world, impostor } = prepared();
    let channelOfManager = '';
    impostor.answer = (message, { channel }) => {
      channelOfManager = channel;
      if (message.kind !== 'hello') return;
      const facts = { pool: 'presence', channel, ticket: TICKET, from, to, nonce: message.nonce };
      say(impostor, { kind: 'proof', ...proveTransfer(targetSigner, 'target', facts) });
    };
    await world.until(() => kinds(impostor).includes('proof'), 'the proof of the source');
    const proof = impostor.heard.find(({ kind }) => kind === 'proof');
    if (proof?.kind !== 'proof') throw new Error('no proof');
    const { key, signature } = proof;
    const prove = { kind: 'prove', pool: 'presence', incarnation: from, key, signature } as const;
    expect(isProof(prove, channelOfManager, nodeVerifier)).toBe(false);
    expect(kinds(impostor)).toEqual(['hello', 'proof']);
  });

  it('fails at once where the target refuses, and says in one line what the target said', async () => {
    const { world, impostor } = prepared();
    impostor.answer = () => say(impostor, { kind: 'refused', code: 'UNKNOWN_NAME', why: 'no rooms here' });
    expect(await whyFailed(world)).toBe('target:1 refuses (UNKNOWN_NAME): no rooms here');
    expect(world.source.lines).toHaveLength(1);
    expect(world.source.lines[0]).toContain('no rooms here');
  });

  it('fails where nobody listens, after three attempts', async () => {
    const world = bench();
    const { carrier } = world.source;
    carrier.execute({
      do: 'stream',
      ticket: TICKET,
      span: WHOLE,
      number: 7,
      to,
      address: 'nobody:1',
      ...NAMED,
    });
    expect(await whyFailed(world)).toContain('3 attempts failed');
    expect(world.source.state.ends).toEqual([]);
  });

  it('fails at another owner, which awaits nothing of this kind', async () => {
    const world = bench();
    world.owner('other:1', newSigner());
    const { carrier } = world.source;
    carrier.execute({
      do: 'stream',
      ticket: TICKET,
      span: WHOLE,
      number: 7,
      to,
      address: 'other:1',
      ...NAMED,
    });
    expect(await whyFailed(world)).toContain('UNKNOWN_TICKET');
  });

  it('fails at a target that takes the connection and says nothing', async () => {
    const { world } = prepared();
    expect(await whyFailed(world)).toBe('the target at target:1 made no progress for 10000 ms');
  });

  it('fails at a target that acknowledges frames it was not sent, or speaks nonsense', async () => {
    for (const frame of [encodeFromTarget({ kind: 'acknowledged', sequence: 9 }), Uint8Array.of(77)]) {
      const { world, impostor } = prepared();
      impostor.answer = () => impostor.line?.send(frame);
      await whyFailed(world);
    }
  });

  it('hands nothing over to a target that has staged something else', async () => {
    const { world, impostor } = prepared();
    impostor.answer = (message, { channel }) => {
      if (message.kind === 'hello') {
        const facts = { pool: 'presence', channel, ticket: TICKET, from, to, nonce: message.nonce };
        say(impostor, { kind: 'proof', ...proveTransfer(targetSigner, 'target', facts) });
      } else if (message.kind === 'proof') say(impostor, FRAME);
      else if (message.kind === 'last')
        say(impostor, {
          kind: 'staged',
          digest: { ...message.digest, checksum: message.digest.checksum ^ 1 },
        });
      else say(impostor, { kind: 'acknowledged', sequence: message.sequence });
    };
    await world.untilSaid(world.source, 'caughtUp');
    world.source.carrier.execute({ do: 'freeze', ticket: TICKET });
    expect(await whyFailed(world)).toContain('something else');
    expect(world.says(world.source, 'acknowledged')).toEqual([]);
    expect(world.source.state.ends).toEqual([false]);
  });
});
