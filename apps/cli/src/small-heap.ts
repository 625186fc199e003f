/**
 * For a process that lives long, keeps little and now and then throws much away, as a Manager does when
 * many owners come at once. By default V8 lets its heap grow to several times of what is alive before it
 * collects, and seldom gives it back. Here it may grow by two fifths; collecting more often costs a Manager
 * nothing that can be measured (`docs/decisions/0010`).
 */

import { setFlagsFromString } from 'node:v8';

export function preferSmallHeap(): void {
  setFlagsFromString('--heap-growing-percent=40');
}
