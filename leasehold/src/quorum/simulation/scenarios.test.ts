import { describe, expect, it } from 'vitest';
import { SCENARIOS } from './scenarios.ts';

describe('the promises hold when', () => {
  it.each(Object.entries(SCENARIOS))('%s', (_, play) => {
    expect(play).not.toThrow();
  });
});
