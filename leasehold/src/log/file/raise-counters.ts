/// <reference lib="esnext.disposable" preserve="true" />

/**
 * An operator's tool for when the data directory was restored from a backup: the log went back in time, and terms and
 * positions that were given since must not be given again. They begin above the highest seen, in a new history, so
 * that look-ups take everything for lost and no owner is believed about holdings from the time that is gone.
 */

import { invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Storage } from '../../runtime/runtime.ts';
import { newHistory } from '../history.ts';
import type { LogLock } from './fence.ts';
import { attempt, createSegment } from './files.ts';
import { segmentName } from './format.ts';
import { recover } from './recovery.ts';

export interface RaiseCountersOptions {
  readonly storage: Storage;
  /** As for the log itself: no Manager may run on the directory. */
  readonly lock: () => Promise<LogLock>;
  readonly logger: Logger;
  readonly randomId: () => string;
  readonly beginAbove: () => number;
  /** The highest term that anybody has seen. */
  readonly term: number;
  /** The highest position that anybody has seen. */
  readonly position: number;
}

/** The history and the counters that a log begins anew with. */
export interface RaisedCounters {
  readonly history: string;
  /** Terms go on above this. */
  readonly term: number;
  /** Positions go on above this. */
  readonly floor: number;
}

/** Durable when this resolves. Never lowers anything. Rejects as opening the log does. */
export async function raiseCounters(options: RaiseCountersOptions): Promise<RaisedCounters> {
  const { storage, logger, randomId } = options;
  for (const name of ['term', 'position'] as const) {
    if (!(Number.isSafeInteger(options[name]) && options[name] >= 0)) {
      throw invalidOption(name, options[name], 'it must be a whole number, 0 or more');
    }
  }
  const lock = await options.lock();
  try {
    const { tail, ...found } = await recover(options);
    await attempt('close', segmentName(tail.sequence), tail.file.close());
    const last = found.batches.at(-1)?.position ?? found.snapshot?.position ?? 0;
    const raised = {
      ...newHistory(randomId),
      term: Math.max(found.term, options.term),
      floor: Math.max(found.floor, last + 1, options.position), // One position is left out at least, as the sign of a recovery.
    };
    const sequence = tail.sequence + 1;
    const head = { ...raised, sequence, firstIndex: tail.index, beginsHistory: true };
    const file = await attempt('create', segmentName(sequence), createSegment(storage, head));
    await attempt('close', segmentName(sequence), file.close());
    logger.info('raised the counters of the log, in a new history', {
      ...{ from: found.history, history: raised.history, term: raised.term, floor: raised.floor },
    });
    return { history: raised.history, term: raised.term, floor: raised.floor };
  } finally {
    lock[Symbol.dispose]();
  }
}
