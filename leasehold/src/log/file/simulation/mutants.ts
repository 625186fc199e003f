/**
 * The file log, wrong by one line each time. A promise counts as checked once the mutants named for
 * it are caught: `npm run sim -- file-log --mutants`.
 */

import type { Mutant } from '../../../sim/simulation.ts';

const WRITER = 'log/file/writer.ts';
const FILES = 'log/file/files.ts';
const FORMAT = 'log/file/format.ts';
const RECOVERY = 'log/file/recovery.ts';
const COMPACTION = 'log/file/compaction.ts';
const LOG = 'log/file/open-log.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'acknowledged-before-sync',
    promise: 'nothing-lost',
    story: 'An append is answered while its sync is still under way.',
    file: WRITER,
    from: 'const beganAt = runtime.now();\n    await syncFile(this.#file, this.#name);',
    to: 'const beganAt = runtime.now();\n    syncFile(this.#file, this.#name).catch(() => {});',
  },
  {
    name: 'failed-sync-tried-again',
    promise: 'opens',
    story: 'A sync that failed is done again and believed; the batch is missing where others follow it.',
    file: WRITER,
    from: 'const beganAt = runtime.now();\n    await syncFile(this.#file, this.#name);',
    to: 'const beganAt = runtime.now();\n    await syncFile(this.#file, this.#name).catch(() => syncFile(this.#file, this.#name));',
  },
  {
    name: 'term-not-synced',
    promise: 'terms-grow',
    story: 'A leader is elected in a term that a power cut forgets.',
    file: WRITER,
    from: 'const beganAt = runtime.now();\n    await syncFile',
    to: "const beganAt = runtime.now();\n    if (records.some(({ kind }) => kind === 'batch')) await syncFile",
  },
  {
    name: 'refused-and-written-all-the-same',
    promise: 'refused-never-appears',
    story: 'No room for preallocated space counts as no room for the batch, which stays in the file.',
    file: WRITER,
    from: "frame);\n    } catch (error) {\n      if (!isFull(error)) throw new StorageFailedError('write', this.#name, error);\n      return this.#takeBack(records);",
    to: "frame);\n      if (end > this.#allocated) await this.#file.write(end, this.#zeros);\n    } catch (error) {\n      if (!isFull(error)) throw new StorageFailedError('write', this.#name, error);\n      return 'refused';",
  },
  {
    name: 'name-not-synced',
    promise: 'nothing-lost',
    story: 'A file is used although a power cut can still take its name away.',
    file: FILES,
    from: '  await syncNames(storage, name);\n}\n\n/** A segment',
    to: '}\n\n/** A segment',
  },
  {
    name: 'file-named-before-it-is-whole',
    promise: 'opens',
    story: 'A file is written under its own name, and the power is cut in the middle.',
    file: FILES,
    from: 'const temporary = temporaryName(name);',
    to: 'const temporary = name;',
  },
  {
    name: 'content-not-synced-before-its-name',
    promise: 'opens',
    story: 'A file gets its name before its content is durable.',
    file: FILES,
    from: '      await syncFile(file, temporary);\n',
    to: '',
  },
  {
    name: 'removed-before-the-snapshot-is-there',
    promise: 'opens',
    story: 'A compaction removes what a snapshot replaces before the snapshot is durable.',
    file: COMPACTION,
    from: '  try {\n    await putFile(',
    to: '  await removeReplaced(storage, head);\n  try {\n    await putFile(',
  },
  {
    name: 'segment-removed-that-is-still-needed',
    promise: 'nothing-lost',
    story: 'A compaction removes a segment that holds batches after the snapshot.',
    file: COMPACTION,
    from: 'writer.segments.find(({ lastPosition }) => lastPosition > position) ?? writer.segments.at(-1)',
    to: 'writer.segments.at(-1)',
  },
  {
    name: 'compaction-goes-back',
    promise: 'nothing-lost',
    story: 'A snapshot of less takes the place of one of more that was made meanwhile.',
    file: LOG,
    from: 'Math.max(this.#snapshot?.position ?? 0, this.#compacting)',
    to: 'this.#snapshot?.position ?? 0',
  },
  {
    name: 'checksum-not-checked',
    promise: 'damage-noticed',
    story: 'A frame is believed whatever its checksum says.',
    file: FORMAT,
    from: 'if (view.getUint32(offset + 20, true) !== frameChecksum(seed, file, offset, bodyEnd)) return undefined;',
    to: '',
  },
  {
    name: 'snapshot-checksum-not-checked',
    promise: 'damage-noticed',
    story: 'A snapshot is believed whatever its checksum says.',
    file: FORMAT,
    from: 'if (view.getUint32(12, true) !== headChecksum(file.subarray(0, HEAD_BYTES), body)) return undefined;',
    to: '',
  },
  {
    name: 'damage-taken-for-a-torn-tail',
    promise: 'damage-noticed',
    story: 'Whatever cannot be read is cut off, with all that follows it.',
    file: RECOVERY,
    from: 'const later = findFrame(content, at + 8, seed, this.index + 1);',
    to: 'const later = undefined;',
  },
  {
    name: 'damage-in-an-earlier-segment-taken-for-its-end',
    promise: 'damage-noticed',
    story: 'A segment may end early, also if it is not the last one.',
    file: RECOVERY,
    from: 'else if (head.firstIndex !== this.index) {',
    to: 'else if (head.firstIndex > this.index) this.index = head.firstIndex;\n    else if (head.firstIndex < this.index) {',
  },
  {
    name: 'torn-tail-not-cut',
    promise: 'clean-stays-clean',
    story: 'What is left of a torn frame stays behind the frames that are written over it.',
    file: RECOVERY,
    from: "await attempt('truncate', name, file.truncate(end));",
    to: '',
  },
  {
    name: 'last-frame-not-made-durable',
    promise: 'opens',
    story: 'A batch that an earlier life could not sync is read, believed, and lost by a power cut.',
    file: RECOVERY,
    from: "  await attempt('write', name, file.write(lastFrameAt, content.subarray(lastFrameAt, end)));\n",
    to: '',
  },
  {
    name: 'empty-segment-taken-as-it-is',
    promise: 'terms-grow',
    story: 'A segment whose name could not be synced is written to, and then it is gone.',
    file: RECOVERY,
    from: 'if (end === HEAD_BYTES) {',
    to: 'if (end < HEAD_BYTES) {',
  },
  {
    name: 'snapshot-taken-as-it-is',
    seeds: 3_000,
    promise: 'opens',
    story: 'What a snapshot replaces is removed, though the name of the snapshot could not be synced.',
    file: RECOVERY,
    from: '    await putFile(storage, name, [encodeSnapshotHead(head, bytes), bytes]);\n',
    to: '',
  },
  {
    name: 'answers-after-a-failure',
    promise: 'fatal-is-final',
    story: 'Appends are answered although the storage has failed meanwhile, under a compaction.',
    file: LOG,
    from: 'if (!this.isOver && this.#log.isOpen) done(outcome);',
    to: 'if (!this.isOver) done(outcome);',
  },
  {
    name: 'gives-up-on-a-full-disk',
    promise: 'settles',
    story: 'Who could not be elected because the disk was full is not elected when there is room again.',
    file: LOG,
    from: 'this.#retry = runtime.wakeAt(later(runtime.now(), retryMs), () => this.#elect());',
    to: 'void [runtime, retryMs, later];',
  },
  {
    name: 'lock-kept-by-a-log-that-did-not-open',
    promise: 'opens',
    story: 'A log that cannot be opened stays locked, and nobody can look at it.',
    file: 'log/file/file-log.ts',
    from: '    lock[Symbol.dispose]();\n    throw error;',
    to: '    throw error;',
  },
  {
    name: 'leader-lease-extended-unseen',
    promise: 'replaced-is-noticed',
    story:
      'A leader extends its lease by a timer, and does not look whether the path still leads to its directory.',
    file: LOG,
    from: '      await this.#writer.checkPlace();\n',
    to: '      await undefined;\n',
  },
  {
    name: 'leader-lease-counted-from-after-the-look',
    promise: 'replaced-is-noticed',
    story:
      'The path is looked at, the directory is renamed, and a whole leader lease is counted from after that.',
    file: LOG,
    from: 'candidate.extend(this.#leaseFrom(askedAt));',
    to: 'candidate.extend(this.#leaseFrom(runtime.now()));',
  },
  {
    name: 'acknowledged-without-a-look',
    promise: 'replaced-is-noticed',
    story: 'A batch is acknowledged in a directory that nobody will find again.',
    file: WRITER,
    from: '    await this.checkPlace();\n    this.stats.syncs += 1;\n',
    to: '    this.stats.syncs += 1;\n',
  },
];
