import { describe, expect, it } from 'vitest';
import { digest } from '../../../runtime/digest.ts';
import { Stamps } from './stamps.ts';

const history = { history: 'h', key: digest('a key') };
const point = { history: 'h', term: 3, position: 2 ** 33 + 7 };

describe('the stamp of a position', () => {
  it('is 16 bytes in hexadecimal, the same at every Manager that reads the key', () => {
    const stamp = new Stamps(history).of(point.term, point.position);
    // Computed with another program: HMAC-SHA-256 over the bytes that the head of stamps.ts lists.
    expect(stamp).toBe('f20042be072bd78df8f57dd9350cde07');
    expect(new Stamps(history).isTrue({ ...point, stamp })).toBe(true);
  });

  it('is of one term, one position and one history', () => {
    const stamps = new Stamps(history);
    const stamp = stamps.of(point.term, point.position);
    expect(stamps.isTrue({ ...point, stamp, term: 4 })).toBe(false);
    expect(stamps.isTrue({ ...point, stamp, position: point.position + 1 })).toBe(false);
    expect(stamps.isTrue({ ...point, stamp, history: 'g' })).toBe(false);
    const elsewhere = new Stamps({ history: 'g', key: history.key });
    expect(elsewhere.isTrue({ ...point, stamp, history: 'g' })).toBe(false);
  });

  it('cannot be made without the key, nor left out or cut short', () => {
    const stamps = new Stamps(history);
    const stamp = new Stamps({ history: 'h', key: digest('another key') }).of(point.term, point.position);
    expect(stamps.isTrue({ ...point, stamp })).toBe(false);
    expect(stamps.isTrue(point)).toBe(false);
    expect(stamps.isTrue({ ...point, stamp: stamps.of(3, point.position)?.slice(0, 8) })).toBe(false);
  });

  it('is missing, and believed from nobody, in a history without a key', () => {
    const stamps = new Stamps({ history: 'h' });
    expect(stamps.of(1, 1)).toBeUndefined();
    expect(stamps.isTrue({ history: 'h', term: 1, position: 1, stamp: new Stamps(history).of(1, 1) })).toBe(
      false,
    );
  });
});
