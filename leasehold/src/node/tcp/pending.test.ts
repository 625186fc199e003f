import { describe, expect, it } from 'vitest';
import { PendingConnections } from './pending.ts';

describe('connections that have not introduced themselves', () => {
  it('make room for one more by the oldest of the address that has the most', () => {
    const pending = new PendingConnections<string>(3);
    expect(pending.add('honest', '10.0.0.1')).toBeUndefined();
    expect(pending.add('flood 1', '10.0.0.2')).toBeUndefined();
    expect(pending.add('flood 2', '10.0.0.2')).toBeUndefined();
    expect(pending.add('newcomer', '10.0.0.3')).toBe('flood 1');
    pending.delete('flood 1', '10.0.0.2');
    expect(pending.size).toBe(3);
    expect(pending.add('flood 3', '10.0.0.2')).toBe('flood 2');
  });

  it('are not counted twice when they are deleted twice', () => {
    const pending = new PendingConnections<string>(3);
    pending.add('one', 'a');
    pending.delete('one', 'a');
    pending.delete('one', 'a');
    expect(pending.size).toBe(0);
  });
});
