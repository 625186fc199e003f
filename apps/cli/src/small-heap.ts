/**
 * For a process that lives long, keeps little and now and then throws much away, as a Manager does when many owners
 * come at once. By default V8 lets the heap grow to several times the live data before collecting, and seldom returns
 * memory. Here the heap may grow by two fifths; collecting more often costs a Manager nothing that can be measured
 * (`docs/decisions/0010`).
 */

import { setFlagsFromString } from 'node:v8';

export function preferSmallHeap(): void {
  setFlagsFromString('--heap-growing-percent=40');
}
