/**
 * The disk of one replica, as a list of frames: what was synced stays, what was being written when the process ended may be
 * there, may be missing, or may be torn.
 *
 * Bytes, sectors and file names are the business of the storage below (`sim/disk.ts` simulates those for the file log); here only
 * whole frames count, so that thousands of worlds a minute can be played.
 */

import type { Random } from '../../sim/random.ts';
import type { Frame } from '../core/journal.ts';
import { basePlace, recover, type StoredFrame } from '../core/recovery.ts';
import type { Snapshot, SnapshotPart } from '../core/snapshot.ts';

interface Backup {
  readonly frames: StoredFrame[];
  readonly snapshots: Map<number, Snapshot>;
  readonly heardLives: Map<string, number>;
}

export class FrameDisk {
  readonly #random: Random;
  #frames: StoredFrame[] = [];
  #writing: Frame | undefined;
  #snapshots = new Map<number, Snapshot>();
  /** The parts of a snapshot that has no name yet. */
  #unfinished: SnapshotPart[] = [];
  #saving: SnapshotPart | undefined;
  #lives = 0;
  /** The newest life that was heard of each other directory. */
  #heardLives = new Map<string, number>();
  /** The first backup is older than the journal: a founder waited for the others. */
  #backup: Backup | undefined;
  #firstBackup: Backup | undefined;
  /** Nothing says that the files are those that the replica wrote: a founder's, or they were restored; and nobody has confirmed them since. */
  isCopy = false;
  /** Until then, by true time, nothing is synced. */
  stuckUntilMs = 0;

  constructor(random: Random, isFounder: boolean) {
    this.#random = random;
    this.isCopy = isFounder;
    if (isFounder) this.backUp();
  }

  get frames(): readonly StoredFrame[] {
    return this.#frames;
  }

  /** Those that have their names. */
  get snapshots(): ReadonlyMap<number, Snapshot> {
    return this.#snapshots;
  }

  /** The number of this life, durable before the life does anything. */
  open(): number {
    this.#lives += 1;
    return this.#lives;
  }

  /** Whether a life of another directory is heard: if so, that is durable. */
  hears(storage: string, life: number): boolean {
    if (life < (this.#heardLives.get(storage) ?? 0)) return false;
    this.#heardLives.set(storage, life);
    return true;
  }

  begin(frame: Frame): void {
    this.#writing = frame;
  }

  /** The frame is synced. */
  end(): void {
    const frame = this.#writing;
    if (frame === undefined) return;
    this.#writing = undefined;
    this.#frames.push(frame);
    if (frame.base !== undefined) this.#deleteOld();
  }

  beginPart(part: SnapshotPart): void {
    if (part.first === 0) this.#unfinished = [];
    this.#saving = part;
  }

  /** The part is written; the last one gives the snapshot its name. */
  endPart(): void {
    const part = this.#saving;
    if (part === undefined) return;
    this.#saving = undefined;
    this.#unfinished.push(part);
    if (!part.isLast) return;
    const { slot, configuration } = part;
    const values = this.#unfinished.flatMap((each) => each.values);
    const sessions = this.#unfinished.flatMap((each) => each.sessions);
    this.#snapshots.set(slot, { slot, configuration, state: { values, sessions } });
    this.#unfinished = [];
    this.#deleteOld();
  }

  /** Puts a whole snapshot there at once. */
  putSnapshot(snapshot: Snapshot): void {
    this.#snapshots.set(snapshot.slot, snapshot);
  }

  /** Deletes what the newest base makes needless; sometimes not, as if the process had ended just before. */
  #deleteOld(): void {
    const place = basePlace(this.#frames, (slot) => this.#snapshots.has(slot));
    const frame = this.#frames[place ?? this.#frames.length];
    if (place === undefined || frame === undefined || frame === 'damaged' || this.#random.chance(0.2)) return;
    this.#frames = this.#frames.slice(place);
    for (const slot of this.#snapshots.keys()) if (slot < (frame.base ?? 0)) this.#snapshots.delete(slot);
  }

  /** The process has ended in the middle of whatever it was writing. */
  crash(): void {
    const part = this.#saving;
    if (part?.isLast === true && this.#random.chance(0.5)) this.endPart(); // It had its name, and nobody was told.
    this.#saving = undefined;
    this.#unfinished = [];
    const frame = this.#writing;
    this.#writing = undefined;
    if (frame === undefined) return;
    const fate = this.#random.pick(['lost', 'torn', 'kept'] as const);
    if (fate === 'torn' && this.#frames.length > 0) this.#frames.push('damaged');
    if (fate === 'kept') this.#frames.push(frame);
  }

  /** The torn end of an earlier crash is cut off when the next life opens the directory. */
  repairTail(): void {
    while (this.#frames.at(-1) === 'damaged') this.#frames.pop();
  }

  /** Whether the next life would find every slot: none is lost in a damaged frame, or what was lost is durable again. */
  get isWhole(): boolean {
    const recovery = recover(this.#frames, this.#snapshots);
    return recovery.kind === 'recovered' && recovery.state.missing.length === 0;
  }

  /** Copies what is on the disk now. */
  backUp(): void {
    this.#backup = {
      ...{ frames: [...this.#frames], snapshots: new Map(this.#snapshots) },
      heardLives: new Map(this.#heardLives),
    };
    this.#firstBackup ??= this.#backup;
  }

  /** How many frames with votes the backup has. */
  get votesInBackup(): number | undefined {
    return this.#backup && votesIn(this.#backup.frames);
  }

  get votes(): number {
    return votesIn(this.#frames);
  }

  /** What the last valid frame says about another member. */
  heardOf(storage: string): number {
    return lastValid(this.#frames)?.heard.get(storage) ?? 0;
  }

  /** Puts the backup in the place of everything but the number of lives: a copy with a lower one would be refused by its hello. */
  restore(): void {
    this.#restore(this.#backup);
  }

  /** The same with the first backup that was ever made: of a founder, from before the founding. */
  restoreFirst(): void {
    this.#restore(this.#firstBackup);
  }

  #restore(backup: Backup | undefined): void {
    if (backup === undefined) return;
    this.#frames = [...backup.frames];
    this.#snapshots = new Map(backup.snapshots);
    this.#heardLives = new Map(backup.heardLives);
    this.isCopy = true;
  }

  get isWriting(): boolean {
    return this.#writing !== undefined;
  }

  /** Makes the frames from one place to another unreadable. */
  damageBetween(first: number, last: number): void {
    this.#frames.fill('damaged', first, last + 1);
  }

  /** Makes one frame unreadable that has a valid one behind it. False if there is none. */
  damage(): boolean {
    const candidates = this.#frames.length - 1;
    if (candidates <= 0) return false;
    this.#frames[this.#random.integer(Math.max(0, candidates - 6), candidates - 1)] = 'damaged';
    return true;
  }
}

const lastValid = (frames: readonly StoredFrame[]): Frame | undefined =>
  frames.findLast((frame): frame is Frame => frame !== 'damaged');

const votesIn = (frames: readonly StoredFrame[]): number => lastValid(frames)?.votes ?? 0;
