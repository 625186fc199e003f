import { describe, expect, it } from 'vitest';
import { type FuzzCounts, fuzz } from './fuzz-script.ts';

const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 20_000);

describe('a peer that says anything at all', () => {
  it(`is refused with an error that is meant for it (${INPUTS} inputs)`, { timeout: 120_000 }, () => {
    const heapBefore = process.memoryUsage().heapUsed;
    const counts = fuzz(INPUTS, 20_261_119);
    const enough: Partial<Record<keyof FuzzCounts, number>> = {
      frames: INPUTS / 2,
      handshakes: INPUTS / 50,
      refused: INPUTS / 2,
      tooLarge: INPUTS / 20,
      foreigners: INPUTS / 1_000,
    };
    for (const [what, least] of Object.entries(enough)) {
      expect(counts[what as keyof FuzzCounts], `${what} in ${JSON.stringify(counts)}`).toBeGreaterThan(least);
    }
    expect(process.memoryUsage().heapUsed - heapBefore).toBeLessThan(200 * 1024 * 1024);
  });
});
