/**
 * Calls of a client, and the replies of a replica. One frame carries all calls that the client made in one turn of the event
 * loop: batching matters more for speed than the encoding.
 */

import type { Answer } from '../core/answer.ts';
import type { Change } from '../core/membership.ts';
import type { Submission } from '../core/replica.ts';
import type { ReadMode } from '../core/reads.ts';
import type { Found } from '../core/result.ts';
import { STORAGE_BYTES_MAX } from './bounds.ts';
import {
  type ByHand,
  decode,
  encode,
  field,
  flag,
  type Form,
  list,
  optional,
  text,
  union,
  whole,
  word,
} from '../../runtime/wire/form.ts';
import { command, found, key, storage } from './hot.ts';
import { answer, keys, proposedPlacement } from './parts.ts';

/** The keys from `first` on, and below `end` if there is an end. */
export interface KeyRange {
  readonly first: string;
  readonly end: string | undefined;
}

export type Call =
  | ({ readonly kind: 'submit'; readonly id: number } & Submission)
  | { readonly kind: 'read'; readonly id: number; readonly mode: ReadMode; readonly keys: readonly string[] }
  /** Reads of one key each, not as of one instant; answered together. */
  | {
      readonly kind: 'read-each';
      readonly id: number;
      readonly mode: ReadMode;
      readonly keys: readonly string[];
    }
  /** Changes after position `from`; without `from`, first all values there are now. */
  | ({ readonly kind: 'watch'; readonly id: number; readonly from: number | undefined } & KeyRange)
  | { readonly kind: 'unwatch'; readonly id: number }
  | { readonly kind: 'status'; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly change: Change }
  /** Which directories are known under a name? Only the leader knows. */
  | { readonly kind: 'resolve'; readonly id: number; readonly name: string }
  | { readonly kind: 'step-down'; readonly id: number; readonly to: string | undefined };

export type Reply =
  | { readonly kind: 'answer'; readonly id: number; readonly answer: Answer }
  /** Some of the values that a `read-each` asked for, from place `first` of its keys on. They come in order. */
  | {
      readonly kind: 'found';
      readonly id: number;
      readonly first: number;
      readonly found: readonly Found[];
      readonly isLast: boolean;
    }
  /** The changes of the watched keys in the slots up to `position`; a key without a value was deleted. */
  | {
      readonly kind: 'changes';
      readonly id: number;
      readonly position: number;
      /** These are all keys there are; earlier knowledge is void. */
      readonly isWhole: boolean;
      readonly found: readonly Found[];
    }
  /** The replica no longer has the changes after the position that the watch asked for. */
  | { readonly kind: 'watch-behind'; readonly id: number; readonly oldest: number }
  | { readonly kind: 'status'; readonly id: number; readonly json: string }
  /** The directories under a name: that of the member, and those of replicas that joined and are connected. */
  | {
      readonly kind: 'resolved';
      readonly id: number;
      readonly member: string | undefined;
      readonly isMemberConnected: boolean;
      readonly newcomers: readonly string[];
      /** A directory of that name was removed from the cell. */
      readonly wasRemoved: boolean;
    }
  /** The member is not known to this replica, or the replica does not lead. */
  | { readonly kind: 'failed'; readonly id: number; readonly code: string; readonly message: string };

/** The `code` of a call that was carried out, and whose answer is larger than a client takes; `message` has the bytes. */
export const ANSWER_TOO_LARGE = 'answer-too-large';

const name = text(STORAGE_BYTES_MAX);
const MESSAGE_BYTES_MAX = 65_536;

const change: Form<Change> = union<'kind', Change>('kind', {
  placement: { placement: proposedPlacement },
  add: { storage },
  remove: { storage },
  replace: { storage, by: storage },
});

type CallOf<Kind extends Call['kind']> = Extract<Call, { readonly kind: Kind }>;

const mode: Form<ReadMode> = word('best', 'quorum', 'log', 'weak');

const submitCall: ByHand<CallOf<'submit'>> = {
  write: (writer, given) => {
    writer.varint(given.id);
    writer.varint(given.session);
    writer.varint(given.number);
    writer.varint(given.answeredBelow);
    command.write(writer, given.command);
  },
  read: (reader) => ({
    kind: 'submit',
    id: field('id', whole, reader),
    session: field('session', whole, reader),
    number: field('number', whole, reader),
    answeredBelow: field('answeredBelow', whole, reader),
    command: field('command', command, reader),
  }),
};

const readCall: ByHand<CallOf<'read'>> = {
  write: (writer, given) => {
    writer.varint(given.id);
    mode.write(writer, given.mode);
    keys.write(writer, given.keys);
  },
  read: (reader) => ({
    kind: 'read',
    id: field('id', whole, reader),
    mode: field('mode', mode, reader),
    keys: field('keys', keys, reader),
  }),
};

const answerReply: ByHand<Extract<Reply, { readonly kind: 'answer' }>> = {
  write: (writer, given) => {
    writer.varint(given.id);
    answer.write(writer, given.answer);
  },
  read: (reader) => ({
    kind: 'answer',
    id: field('id', whole, reader),
    answer: field('answer', answer, reader),
  }),
};

const CALLS: Parameters<typeof union<'kind', Call>>[1] = {
  submit: { id: whole, session: whole, number: whole, answeredBelow: whole, command },
  read: { id: whole, mode, keys },
  watch: { id: whole, from: optional(whole), first: key, end: optional(key) },
  unwatch: { id: whole },
  status: { id: whole },
  change: { id: whole, change },
  resolve: { id: whole, name },
  'step-down': { id: whole, to: optional(name) },
  'read-each': { id: whole, mode, keys },
};

export const call: Form<Call> = union<'kind', Call>('kind', CALLS, { submit: submitCall, read: readCall });

export const reply: Form<Reply> = union<'kind', Reply>(
  'kind',
  {
    answer: { id: whole, answer },
    changes: { id: whole, position: whole, isWhole: flag, found: list(found) },
    'watch-behind': { id: whole, oldest: whole },
    status: { id: whole, json: text(16 * MESSAGE_BYTES_MAX) },
    resolved: {
      id: whole,
      member: optional(storage),
      isMemberConnected: flag,
      newcomers: list(storage),
      wasRemoved: flag,
    },
    failed: { id: whole, code: name, message: text(MESSAGE_BYTES_MAX) },
    found: { id: whole, first: whole, found: list(found), isLast: flag },
  },
  { answer: answerReply },
);

export const calls: Form<readonly Call[]> = list(call);
export const replies: Form<readonly Reply[]> = list(reply);

export const encodeCalls = (values: readonly Call[]): Uint8Array => encode(calls, values);
export const decodeCalls = (frame: Uint8Array): readonly Call[] => decode(calls, frame);
export const encodeReplies = (values: readonly Reply[]): Uint8Array => encode(replies, values);
export const decodeReplies = (frame: Uint8Array): readonly Reply[] => decode(replies, frame);
