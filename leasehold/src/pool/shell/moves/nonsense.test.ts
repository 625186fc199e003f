/** Messages in any order, well-formed or not, at both ends of a line: an end refuses, and nothing else happens. */

import { describe, expect, it } from 'vitest';
import { newSigner, nodeVerifier } from '../../../node/signer.ts';
import { Dice } from '../../../runtime/dice.ts';
import { CarrierBench, NAMED, TICKET, WHOLE } from '../../simulation/moves/carrier-bench.ts';
import { StrangeSource, StrangeTarget } from '../../simulation/moves/stranger.ts';
import { proveTransfer } from '../../core/moves/proof.ts';
import { encodeFromSource, encodeFromTarget, type FromSource, transferForms } from '../../wire/transfer.ts';

const signers = [newSigner(), newSigner()] as const;
const [from, to] = [signers[0].incarnation, signers[1].incarnation];
const bench = (seed: number): CarrierBench => new CarrierBench({ signers, verifier: nodeVerifier, seed });

/** The bytes, or bytes like them. */
function perhapsDamaged(dice: Dice, frame: Uint8Array): Uint8Array {
  const copy = new Uint8Array(frame);
  if (dice.below(4) > 0 || copy.length === 0) return copy;
  copy[dice.below(copy.length)] = dice.below(256);
  return copy.subarray(0, 1 + dice.below(copy.length));
}

describe('nonsense', () => {
  it('from a peer, proved or not, changes nothing at a target, which takes the next honest attempt', async () => {
    let refused = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const dice = new Dice(seed);
      const world = bench(seed);
      world.target.carrier.execute({ do: 'receive', ticket: TICKET, span: WHOLE, number: 7, from, ...NAMED });
      const samples: readonly FromSource[] = [
        ...transferForms.fromSource.samples(),
        { kind: 'names', sequence: 1, names: [{ name: 'rooms', version: 1 }] },
        { kind: 'chunk', sequence: 2, place: 0, items: [Buffer.from('["a",1]')] },
        { kind: 'last', sequence: 2, digest: { items: 0, bytes: 0, checksum: 0 } },
      ];
      for (let peers = 0; peers < 4; peers += 1) {
        const peer = new StrangeSource(world.lines, 'target:1');
        await world.until(() => peer.line !== undefined, 'a line');
        if (dice.below(2) === 0) {
          peer.hello(TICKET, from, to, 1);
          await world.run(5);
          if (dice.below(2) === 0) peer.prove(signers[0]);
          await world.run(5);
        }
        for (let count = dice.below(6); count > 0; count -= 1) {
          peer.raw(perhapsDamaged(dice, encodeFromSource(dice.pick(samples))));
          if (dice.below(2) === 0) await world.run(2);
        }
        await world.run(10);
        refused += peer.isClosed ? 1 : 0;
      }
      expect(world.says(world.target, 'staged')).toEqual([]);
      const honest = new StrangeSource(world.lines, 'target:1');
      await world.until(() => honest.line !== undefined, 'a line');
      honest.hello(TICKET, from, to, 2);
      await world.run(5);
      honest.prove(signers[0]);
      await world.run(5);
      honest.frame({ kind: 'names', sequence: 1, names: [{ name: 'rooms', version: 1 }] });
      honest.frame({ kind: 'chunk', sequence: 2, place: 0, items: [Buffer.from('["honest",1]')] });
      honest.say({ kind: 'last', sequence: 3, digest: honest.frames.digest });
      await world.untilSaid(world.target, 'staged');
      world.target.carrier.execute({ do: 'commit', ticket: TICKET, spans: [{ ...WHOLE, number: 8 }] });
      expect([...world.target.state.entries]).toEqual([['honest', 1]]);
    }
    expect(refused).toBeGreaterThan(100);
  });

  it('from a target ends the move at the source, which hands nothing over', async () => {
    let failed = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const dice = new Dice(seed);
      const world = bench(seed);
      const target = new StrangeTarget(world.lines, 'target:1');
      const samples = transferForms.fromTarget.samples();
      const isHonestAtFirst = dice.below(2) === 0;
      target.answer = (message, line) => {
        if (isHonestAtFirst && message.kind === 'hello') {
          const { nonce } = message;
          const facts = { pool: 'presence', channel: line.channel, ticket: TICKET, from, to, nonce };
          line.send(encodeFromTarget({ kind: 'proof', ...proveTransfer(signers[1], 'target', facts) }));
        } else if (isHonestAtFirst && message.kind === 'proof')
          line.send(encodeFromTarget({ kind: 'ready' }));
        else line.send(perhapsDamaged(dice, encodeFromTarget(dice.pick(samples))));
      };
      world.source.state.entries.set('a', 1);
      const { carrier } = world.source;
      carrier.execute({
        ...{ do: 'stream', ticket: TICKET, span: WHOLE, number: 7, to, address: 'target:1' },
        ...NAMED,
      });
      await world.run(200);
      carrier.execute({ do: 'freeze', ticket: TICKET });
      await world.run(60_000);
      expect(world.says(world.source, 'acknowledged')).toEqual([]);
      expect(world.source.state.ends.every((moved) => !moved)).toBe(true);
      expect(world.source.state.open).toBe(0);
      failed += world.says(world.source, 'failed').length;
    }
    expect(failed).toBe(60);
  });
});
