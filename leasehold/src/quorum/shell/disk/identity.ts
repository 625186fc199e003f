/**
 * Which replica a directory is: a file `identity`, read and raised before anything else is done.
 *
 * The *storage id* is drawn when the directory is created and never again; votes are counted by storage id. The *life* counts the
 * openings of the directory. Both are durable before the replica says a word, so no word of an earlier life can be taken
 * for one of this life.
 *
 * How the replica came into the cell is kept too, because a vote given before a restart depends on that:
 *
 *     gathering ──all replicas of the list are heard──► founding: the members at the cell's beginning
 *         ▲   │                                          │
 *         └───┼──────── the list was wrong, and the journal says nothing yet
 *             └── newcomer: true ─────────────────────────► joining: another replica adds this one
 *
 * Both lead to the id of a cluster (`core/founding.ts`). It follows from the members at the beginning; a replica that joins keeps the id that
 * it was told. From `founding` and `joining` on there is a journal. If the journal is missing later, votes are lost.
 *
 * A directory that another replica has proved to be a copy is marked `refused`, and never opened again. Without the mark each
 * refused start would raise the life, until the life of the copy is the highest that was heard and the copy may vote.
 */

import { checksum } from '../../../log/file/checksum.ts';
import { putFile, readFile } from '../../../log/file/files.ts';
import type { Storage } from '../../../runtime/runtime.ts';
import type { Member } from '../../core/configuration.ts';
import { clusterOf } from '../../core/founding.ts';
import { directoryMismatch, type RefusalReason } from '../../core/errors.ts';

export type Origin =
  | { readonly kind: 'gathering' }
  | { readonly kind: 'founding'; readonly members: readonly Member[] }
  /** The id of the cluster is durable before a word of one of its replicas is heard. */
  | { readonly kind: 'joining'; readonly cluster?: string | undefined };

export interface Identity {
  readonly cell: string;
  readonly name: string;
  readonly storage: string;
  readonly life: number;
  readonly origin: Origin;
  /** The highest life that was heard of each other directory: an older copy of that directory is refused. */
  readonly lives: Readonly<Record<string, { readonly life: number; readonly process: string }>>;
  /** Where other replicas were last heard of, by storage id. */
  readonly addresses: Readonly<Record<string, string>>;
  /** Which replica proved that votes are missing here, and why. Lasting. */
  readonly refused?: { readonly peer: string; readonly reason: RefusalReason } | undefined;
}

const FILE = 'identity';
const FORMAT = 2;

/** The id of the cluster that the directory belongs to; undefined while it belongs to none. */
export function clusterOfOrigin(origin: Origin): string | undefined {
  if (origin.kind === 'founding') return clusterOf(origin.members);
  return origin.kind === 'joining' ? origin.cluster : undefined;
}

/** The name, for people, and a random part, so that no two storage ids are equal. */
export const newStorageId = (name: string, randomId: () => string): string => `${name}~${randomId()}`;

/** @throws {RefusedError} if there is one that cannot be read */
export async function readIdentity(storage: Storage, path: string): Promise<Identity | undefined> {
  const names = await storage.list();
  if (!names.includes(FILE)) {
    const others = names.filter((name) => name !== 'lock' && !name.endsWith('.tmp'));
    if (others.length === 0) return undefined;
    throw directoryMismatch(
      path,
      `it has no file "${FILE}" but others, as ${others[0]}`,
      'Give an empty directory, or the one that this replica used before',
    );
  }
  const text = new TextDecoder().decode(await readFile(storage, FILE));
  const [head = '', body = ''] = text.split('\n');
  const [format, sum] = head.split(' ');
  if (sum !== sumOf(body)) {
    throw directoryMismatch(
      path,
      `its file "${FILE}" is damaged`,
      'The replica cannot know what it has voted. Start it with an empty directory and newcomer: true (--newcomer), and add it in place of the old one',
    );
  }
  if (format !== String(FORMAT)) {
    throw directoryMismatch(
      path,
      `it has format ${format}, and this program knows ${FORMAT}`,
      'Start the version that wrote it, or a newer one',
    );
  }
  return JSON.parse(body) as Identity;
}

/** Durable when the promise resolves. */
export async function writeIdentity(storage: Storage, identity: Identity): Promise<void> {
  const body = JSON.stringify(identity);
  await putFile(storage, FILE, [new TextEncoder().encode(`${FORMAT} ${sumOf(body)}\n${body}\n`)]);
}

const sumOf = (body: string): string => checksum(new TextEncoder().encode(body)).toString(16);
