import { expect, it } from 'vitest';
import { isLaterView } from './view-order.ts';

it('a view is later by its greatest number, then by the sum of its numbers, and not by its digest', () => {
  expect(isLaterView('10.12.aa', '09.30.bb')).toBe(true);
  expect(isLaterView('09.30.aa', '09.12.bb')).toBe(true);
  expect(isLaterView('09.12.zz', '09.12.aa')).toBe(false);
  expect(isLaterView('08.40.aa', '09.12.aa')).toBe(false);
});
