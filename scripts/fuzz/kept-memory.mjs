/**
 * Does something keep memory that it should give back? The size of a process cannot tell: most of it is code, and
 * garbage that was not collected yet. What is in use after a full collection can. So it is measured when everything is warm
 * (code compiled, tables filled), and again later. The growth was kept by what ran in between.
 */

import process from 'node:process';
import v8 from 'node:v8';
import vm from 'node:vm';

/**
 * What a million inputs may leave behind after the first 75,000: V8 itself keeps 0.5 MB of what it learnt about the code. 7
 * bytes for each input of one kind are more than this.
 */
export const GROWTH_BYTES_MAX = 2 * 1024 * 1024;

export class KeptMemory {
  /** @type {number | undefined} */
  #warmBytes;

  /** From here on growth counts. */
  warm() {
    this.#warmBytes ??= keptBytes();
  }

  /** @returns {number | undefined} undefined if it is not warm yet */
  growthBytes() {
    return this.#warmBytes === undefined ? undefined : keptBytes() - this.#warmBytes;
  }
}

function keptBytes() {
  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc');
  collect();
  collect(); // What the first one found unused may have kept buffers outside the heap.
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
