/**
 * A small file beside the log that says when a Manager last led here: so that a plain restart need not wait.
 *
 * A process that finds a log waits for witnesses, because the log may have been put back from a backup
 * (`manager/witnesses.ts`). If a Manager led on this very log a moment ago, the log cannot be older than that moment. A leader
 * therefore notes the wall clock, its position and the identity of the file every second. The mark is put back together with
 * the log, whatever the way: then the mark is old, or is a copy, and the process waits.
 *
 * Only a leader that need not wait writes the mark, and a halt takes the mark away: otherwise a Manager that was restarted after
 * a halt would take the older log for a recent one. The mark is not synced, because a lost mark costs only a wait; so does a
 * file system that gives files other identities after a restart. What can still deceive a Manager: a wall clock that was
 * set back, and a disk that is put back as a whole, or files that are overwritten in place, within {@link RECENT_MS}.
 */

import type { Logger } from '../../../runtime/logger.ts';
import { EpisodeLog } from '../../../runtime/episode-log.ts';
import type { Runtime, Storage, StorageFile } from '../../../runtime/runtime.ts';

const NAME = 'led';
/** A supervisor restarts a Manager within this, as a rule. */
const RECENT_MS = 10_000;
const BYTES = 256;

interface Mark {
  readonly wallMs: number;
  readonly position: number;
  readonly file: string;
}

export class RecencyMark {
  readonly #file: StorageFile;
  readonly #found: Mark | undefined;
  /** Empty if not known. */
  readonly #identity: string;
  readonly #runtime: Pick<Runtime, 'wallMs' | 'now' | 'wakeAt'>;
  readonly #episodes: EpisodeLog;
  /** One write at a time: the last one counts. */
  #writing: Promise<void> = Promise.resolve();

  private constructor(
    file: StorageFile,
    identity: string,
    found: Mark | undefined,
    runtime: Pick<Runtime, 'wallMs' | 'now' | 'wakeAt'>,
    logger: Logger,
  ) {
    this.#file = file;
    this.#found = found;
    this.#identity = identity;
    this.#runtime = runtime;
    this.#episodes = new EpisodeLog(logger, runtime);
  }

  static async open(
    storage: Storage,
    runtime: Pick<Runtime, 'wallMs' | 'now' | 'wakeAt'>,
    logger: Logger,
  ): Promise<RecencyMark> {
    const file = await storage.open(NAME);
    const text = new TextDecoder().decode(await file.read(0, BYTES));
    return new RecencyMark(file, (await file.identity?.()) ?? '', parse(text), runtime, logger);
  }

  /** Whether a leader was here a moment ago, and had seen no more of the log than there is. */
  isRecent(position: number): boolean {
    if (this.#found === undefined || this.#identity === '') return false;
    const { wallMs, position: noted, file } = this.#found;
    const agoMs = this.#runtime.wallMs() - wallMs;
    return agoMs >= 0 && agoMs < RECENT_MS && noted <= position && file === this.#identity;
  }

  note(position: number): void {
    const mark: Mark = { wallMs: Math.floor(this.#runtime.wallMs()), position, file: this.#identity };
    this.#write(JSON.stringify(mark));
  }

  forget(): void {
    this.#write('');
  }

  async close(): Promise<void> {
    await this.#writing;
    this.#episodes[Symbol.dispose]();
    await this.#file.close();
  }

  #write(text: string): void {
    const bytes = new TextEncoder().encode(text.padEnd(BYTES));
    this.#writing = this.#writing
      .then(() => this.#file.write(0, bytes))
      .then(
        () => this.#episodes.over(CANNOT),
        (error: unknown) => this.#episodes.met(CANNOT, { error: String(error) }),
      );
  }
}

const CANNOT = 'cannot note beside the log that this Manager leads; the next start waits for clients';

function parse(text: string): Mark | undefined {
  try {
    const { wallMs, position, file } = JSON.parse(text) as Partial<Mark>;
    if (!Number.isSafeInteger(wallMs) || !Number.isSafeInteger(position) || typeof file !== 'string')
      return undefined;
    return { wallMs: wallMs as number, position: position as number, file };
  } catch {
    return undefined; // Empty, or torn by a loss of power: then nothing is known.
  }
}
