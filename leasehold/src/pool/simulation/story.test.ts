import { describe, expect, it } from 'vitest';
import { tell } from './story.ts';

const SEEDS = [0, 1, 5, 7, 42, 2 ** 40];

function told(seed: number): string[] {
  const lines: string[] = [];
  tell((line) => lines.push(line), { seed });
  return lines;
}

const known = new Map(SEEDS.map((seed) => [seed, told(seed)]));
const linesOf = (seed: number): string[] => known.get(seed) ?? [];

describe('the story of npm start', () => {
  it.each(SEEDS)('says what it is, plays every scene and says what to try next, seed %d', (seed) => {
    const lines = linesOf(seed);
    const text = lines.join('\n');
    expect(text).toMatch(/^LEASEHOLD.*\n\nThis is a simulation:/);
    expect(text).toContain(`(seed ${seed})`);
    for (const scene of ['1. ', '2. ', '3. ', '4. ', '5. ', '6. ']) {
      expect(lines.filter((line) => line.startsWith(scene))).toHaveLength(1);
    }
    expect(text).toContain('npm run sim -- pool --seed 7 --trace');
    expect(lines.length).toBeGreaterThanOrEqual(40);
    expect(lines.length).toBeLessThanOrEqual(60);
  });

  it.each(SEEDS)('shows one owner of alice, nothing moved in vain, nobody troubled, seed %d', (seed) => {
    const text = linesOf(seed).join('\n');
    expect(text.match(/checks alice: mine, lease number \d+/g)).toHaveLength(1);
    expect(text.match(/checks alice: not mine/g)).toHaveLength(2);
    expect(text).toContain(' 0.0 % moved between the first three');
    expect(text).toMatch(/: [1-9]\d* checks, 0 failed/);
    expect(text).toContain('its first check fails: it cannot know how long');
    expect(text).toMatch(/(\d+) continues \d+, nobody else had it/);
    expect(text).toContain('yes: what it remembers of alice is still true');
  });

  it.each(SEEDS)('frees a dead owner’s keys in seconds, and a supervised one’s in less, seed %d', (seed) => {
    const text = linesOf(seed).join('\n');
    const [, held = ''] = /serves alice under \d+, (\S+ \S+) after the kill/.exec(text) ?? [];
    const [, proved = ''] = /serves user-\d+, (\S+ \S+) after the kill/.exec(text) ?? [];
    expect(held).toMatch(/^\d+(\.\d+)? s$/);
    expect(proved).toMatch(/^\d+ ms$/);
  });

  it('fits a terminal', () => {
    for (const line of linesOf(1)) expect(line.length).toBeLessThanOrEqual(100);
  });

  it('tells the same twice from the same seed, and another from another', () => {
    expect(told(3)).toEqual(told(3));
    expect(told(3)).not.toEqual(told(4));
  });
});
