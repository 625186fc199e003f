import { describe, expect, it } from 'vitest';
import { fuzzIdentities } from './fuzz-script.ts';

const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 20_000);

describe('tokens and issuer names that nobody made', () => {
  it(`mean nothing, or what the root signed (${INPUTS} inputs)`, () => {
    const counts = fuzzIdentities(INPUTS, 27);
    expect(counts.tokensRefused + counts.namesRefused).toBeGreaterThan(INPUTS / 2);
    // Damage of an id or an end is another name in good form.
    expect(counts.namesRead).toBeGreaterThan(INPUTS / 200);
  });
});
