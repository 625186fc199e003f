import { describe, expect, it } from 'vitest';
import type { Span } from '../../runtime/keys/range.ts';
import { clipSpans } from './spans.ts';

const SPANS = Array.from({ length: 10_000 }, (_, index) => ({
  start: BigInt(10 * index),
  end: BigInt(10 * index + 8),
}));

describe('clipSpans', () => {
  it('cuts the spans at both ends, and leaves those within as they are', () => {
    const parts = clipSpans(SPANS, 15n, 34n);
    expect(parts).toEqual([
      { start: 15n, end: 18n },
      { start: 20n, end: 28n },
      { start: 30n, end: 34n },
    ]);
    expect(parts[1]).toBe(SPANS[2]);
    expect(clipSpans(SPANS, 8n, 10n)).toEqual([]);
    expect(clipSpans(SPANS, 100_000n, 200_000n)).toEqual([]);
  });

  it('looks at few of ten thousand spans to find one', () => {
    const looked = new Set<string | symbol>();
    const watched = new Proxy<readonly Span[]>(SPANS, {
      get: (spans, name) => (looked.add(name), Reflect.get(spans, name)),
    });
    expect(clipSpans(watched, 50_000n, 50_005n)).toEqual([{ start: 50_000n, end: 50_005n }]);
    expect(looked.size).toBeLessThan(30);
  });
});
