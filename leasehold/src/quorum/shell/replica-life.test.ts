import { describe, expect, test } from 'vitest';
import { TransportClosedError } from '../../node/tcp/errors.ts';
import { ReplicaLife } from './replica-life.ts';

describe('the life of a replica', () => {
  test('a replica that is stopped does nothing, and its failure can still be told', () => {
    const life = new ReplicaLife();
    life.enter({ kind: 'opening', isFounder: true });
    life.stopped();
    expect([life.isOver, life.isEnded, life.error]).toEqual([true, false, undefined]);
    const error = new TransportClosedError('a reason');
    expect(life.failed(error)).toBe(true);
    expect([life.isEnded, life.error]).toEqual([true, error]);
  });

  test('the first end counts', () => {
    const life = new ReplicaLife();
    life.closed();
    expect(life.failed(new TransportClosedError('a reason'))).toBe(false);
    expect(life.stage.kind).toBe('closed');
    life.stopped();
    expect(life.stage.kind).toBe('closed');
  });

  test('a replica that is over begins nothing', () => {
    const life = new ReplicaLife();
    life.stopped();
    expect(() => life.enter({ kind: 'opening', isFounder: false })).toThrow('stopped cannot be opening');
  });
});
