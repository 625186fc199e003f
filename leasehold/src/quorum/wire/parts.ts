/** The forms of everything that messages, calls and the disk have in common: operations, configurations, snapshots, results. */

import type { Answer, ReadAnswer, Served } from '../core/answer.ts';
import {
  type Configuration,
  type Electorate,
  EVERYBODY,
  type Member,
  OBJECTS_MAX,
  type ReaderMap,
  type ReaderMapChange,
  type ProposedConfiguration,
} from '../core/configuration.ts';
import { BALLOT_MAX, SEATS_MAX } from '../core/ballot.ts';
import type { Entry } from '../core/log.ts';
import { batch, type Operation, type Request } from '../core/operation.ts';
import type { Found, Result } from '../core/result.ts';
import type { SessionSnapshot } from '../core/sessions.ts';
import type { SnapshotPart } from '../core/snapshot.ts';
import { SLICES_MAX, SLOT_MAX, WEIGHT_MAX } from './bounds.ts';
import {
  type ByHand,
  checked,
  field,
  flag,
  type Form,
  list,
  map,
  mapped,
  optional,
  record,
  union,
  upTo,
  whole,
  wholeUpTo,
  withSamples,
  word,
} from '../../runtime/wire/form.ts';
import { found, key, request, storage } from './hot.ts';
import { keptBytes } from './kept-bytes.ts';

export const ballot: Form<number> = wholeUpTo(BALLOT_MAX);
export const slot: Form<number> = wholeUpTo(SLOT_MAX);
export const mask: Form<number> = wholeUpTo(EVERYBODY);

export const keys: Form<readonly string[]> = list(key);

const seat: Form<number> = wholeUpTo(SEATS_MAX - 1);

export const member: Form<Member> = record<Member>({ seat, storage });

/** The hash of a key or tag. */
export const object: Form<number> = wholeUpTo(2 ** 32 - 1);

const objects: Form<ReadonlyMap<number, number>> = map(object, mask, OBJECTS_MAX);

const changedObjects: Form<ReadonlyMap<number, number | undefined>> = map(
  object,
  optional(mask),
  OBJECTS_MAX,
);

const slices: Form<readonly number[]> = checked(
  withSamples(list(mask, SLICES_MAX), () => [[EVERYBODY, 0], [7]]),
  (masks) => Number.isInteger(Math.log2(masks.length)),
  'must be as many as a power of two',
);

const weight: Form<number> = upTo(WEIGHT_MAX);

const wholePlacements = {
  leader: {},
  all: {},
  chosen: { slices, objects, automatic: optional(record({ weight })) },
} as const;

const placement: Form<ReaderMap> = union('mode', wholePlacements);

export const proposedPlacement: Form<ReaderMap | ReaderMapChange> = union('mode', {
  ...wholePlacements,
  changed: { slices: optional(slices), objects: changedObjects, weight: optional(weight) },
});

const electorateFields = {
  members: list(member, SEATS_MAX),
  leader: optional(seat),
  quorum: word('majority', 'all'),
  removed: list(storage),
} as const;

export const electorate: Form<Electorate> = record<Electorate>(electorateFields);

export const configuration: Form<Configuration> = record<Configuration>({ ...electorateFields, placement });

const proposedConfiguration: Form<ProposedConfiguration> = record<ProposedConfiguration>({
  ...electorateFields,
  placement: proposedPlacement,
});

/** The keys that a batch touches are computed again by its reader: a peer could leave some out. */
const declaredOperation: Form<Operation> = mapped(
  union<'kind', WireOperation>('kind', {
    configuration: { configuration: proposedConfiguration },
    batch: { requests: list(request) },
  }),
  (operation: Operation): WireOperation => operation,
  (wire): Operation => (wire.kind === 'batch' ? batch(wire.requests) : wire),
);

/** Encoded once, for every peer and the disk. */
export const operation: Form<Operation> = keptBytes(declaredOperation);

type WireOperation =
  | { readonly kind: 'configuration'; readonly configuration: ProposedConfiguration }
  | { readonly kind: 'batch'; readonly requests: readonly Request[] };

export const entry: Form<Entry> = record<Entry>({ ballot, operation });

type Settled = Exclude<Result, { readonly kind: 'duplicate' }>;

const settled = {
  done: { revision: whole, found: list(found) },
  unmet: { revision: whole, found: list(found) },
  opened: { session: whole },
  expired: {},
  'no-session': {},
  refused: { why: word('answered-before', 'beyond-window') },
  omitted: { of: word('done', 'unmet'), revision: whole, bytes: whole },
} as const;

/** A copy is a copy of a request that was applied, never of another copy: nesting has a bound. */
const original = union<'kind', Settled>('kind', settled) as Form<Result>;

export const result: Form<Result> = union<'kind', Result>('kind', {
  ...settled,
  duplicate: { of: original },
});

export const session: Form<SessionSnapshot> = record<SessionSnapshot>({
  id: whole,
  answeredBelow: whole,
  outcomes: list(record<SessionSnapshot['outcomes'][number]>({ number: whole, revision: whole, result })),
});

export const snapshotPart: Form<SnapshotPart> = record<SnapshotPart>({
  slot,
  configuration,
  first: whole,
  values: list(found),
  sessions: list(session),
  isLast: flag,
});

export const served: Form<Served> = word('local', 'held', 'leader', 'quorum', 'log', 'weak');

export const readAnswer: Form<ReadAnswer> = union<'kind', ReadAnswer>('kind', {
  read: { served, found: list(found), position: whole },
});

const foundList: Form<readonly Found[]> = list(found);

const readByHand: ByHand<ReadAnswer> = {
  write: (writer, given) => {
    served.write(writer, given.served);
    foundList.write(writer, given.found);
    writer.varint(given.position);
  },
  read: (reader) => ({
    kind: 'read',
    served: field('served', served, reader),
    found: field('found', foundList, reader),
    position: field('position', whole, reader),
  }),
};

const resultByHand: ByHand<Extract<Answer, { readonly kind: 'result' }>> = {
  write: (writer, given) => {
    result.write(writer, given.result);
    writer.varint(given.position);
  },
  read: (reader) => ({
    kind: 'result',
    result: field('result', result, reader),
    position: field('position', whole, reader),
  }),
};

export const answer: Form<Answer> = union<'kind', Answer>(
  'kind',
  {
    read: { served, found: list(found), position: whole },
    result: { result, position: whole },
    changed: { position: whole },
    'not-changed': {
      why: word(
        'already-a-member',
        'not-a-member',
        'leader-must-step-down-first',
        'no-member-would-be-left',
        'no-free-seat',
        'no-other-member',
        'removed-before',
        'too-many-members',
      ),
    },
    refused: { why: word('busy', 'session-required', 'batch-too-large', 'not-ready', 'disk-full') },
  },
  { read: readByHand, result: resultByHand },
);
