import { expect, it } from 'vitest';
import { isLaterView } from './view-order.ts';

it('a view is later by its greatest number, then by the sum of its numbers, and not by its digest', () => {
  expect(isLaterView('10.12.aa', '9.30.bb')).toBe(true);
  expect(isLaterView('9.30.aa', '9.12.bb')).toBe(true);
  expect(isLaterView('9.12.zz', '9.12.aa')).toBe(false);
  expect(isLaterView('8.40.aa', '9.12.aa')).toBe(false);
});
