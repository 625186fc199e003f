import { describe, expect, it } from 'vitest';
import { isForeground } from './signals.ts';

describe('a process is in the foreground of a terminal', () => {
  const stat = (group: number, terminal: number, foreground: number): string =>
    `77 (a (b) c) S 1 ${group} 5 ${terminal} ${foreground} 4194560 0`;

  it('if it has one and its group is the one in front', () => {
    expect(isForeground(stat(70, 34_816, 70))).toBe(true);
  });

  it('not if another group is in front, or it has no terminal', () => {
    expect(isForeground(stat(70, 34_816, 71))).toBe(false);
    expect(isForeground(stat(70, 0, -1))).toBe(false);
    expect(isForeground(stat(0, 0, 0))).toBe(false);
  });
});
