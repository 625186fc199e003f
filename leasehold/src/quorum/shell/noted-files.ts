/**
 * Notes where the files of a directory are (`disk/place.ts`), so that a copy of them is known as one after a restart.
 *
 *     unconfirmed ──the other members confirm every vote, or the directory is new──► confirmed ──written down──► noted
 *
 * A possible copy stays one over a restart: nothing is noted before it is confirmed, new files or not. Nor are the files of another
 * directory vouched for, which took the place of this one. An older journal in the place of this one is noticed because fewer frames
 * are there than were noted; so the note is written again while frames are added.
 */

import type { LockedDirectory } from '../../node/process/locked-directory.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import { type FilePlaces, NOTED_EVERY_MS, writePlace } from './disk/place.ts';

interface NotedFilesOptions {
  readonly directory: LockedDirectory;
  readonly places: FilePlaces;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How many frames the journal has; undefined if it is not open. */
  frames(): number | undefined;
  /** The life of the replica is over: nothing more is to be noted from time to time. */
  isOver(): boolean;
  noted(): void;
  /** The note could not be written, for another reason than room. */
  failed(error: unknown): void;
}

export class NotedFiles {
  readonly #options: NotedFilesOptions;
  #state: 'unconfirmed' | 'confirmed' | 'noted' = 'unconfirmed';
  #framesNoted = 0;
  #next: Disposable | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: NotedFilesOptions) {
    this.#options = options;
  }

  get areNoted(): boolean {
    return this.#state === 'noted';
  }

  /** Resolves when no note is being written: before the directory is closed. */
  get written(): Promise<void> {
    return this.#writing;
  }

  /** Every vote of the directory is known to be here. */
  confirmed(): Promise<void> {
    if (this.#state === 'unconfirmed') this.#state = 'confirmed';
    return this.note();
  }

  /** One note at a time. */
  note(): Promise<void> {
    const writing = this.#writing.then(() => this.#note());
    this.#writing = writing.catch(() => {});
    return writing;
  }

  /** The last note, if frames were added since the one before. */
  async close(isFailed: boolean): Promise<void> {
    this.#next?.[Symbol.dispose]();
    if (!isFailed && this.#options.frames() !== this.#framesNoted) await this.note();
  }

  async #note(): Promise<void> {
    const { directory, places, runtime, logger } = this.#options;
    if (this.#state === 'unconfirmed') return;
    if (!(await directory.isInPlace())) return;
    const frames = this.#options.frames() ?? 0;
    if (!(await writePlace(directory.storage, places, runtime.wallMs(), frames)))
      logger.warn(
        'no room to note where the files are: after a restart every other member must confirm them',
      );
    this.#framesNoted = frames;
    this.#state = 'noted';
    this.#options.noted();
    this.#noteLater();
  }

  #noteLater(): void {
    const { runtime } = this.#options;
    this.#next?.[Symbol.dispose]();
    if (this.#options.isOver()) return;
    this.#next = runtime.wakeAt(later(runtime.now(), NOTED_EVERY_MS), () => {
      if (this.#options.frames() === this.#framesNoted) this.#noteLater();
      else this.note().catch((error: unknown) => this.#options.failed(error));
    });
  }
}
