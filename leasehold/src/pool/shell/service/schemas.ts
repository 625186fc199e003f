/**
 * The answers of the API as JSON Schemas, for the OpenAPI document. Every object names all its fields and
 * admits no other; a test holds real answers against them, so the document cannot fall behind.
 */

import {
  boolean as yes,
  listOf,
  number,
  numberOrNull,
  object,
  oneOf,
  orNull,
  ref,
  type Schema,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from '../../../node/service/schema.ts';

const PLACE = 'a place on the ring, 16 hexadecimal digits';
const COMMIT = 'a position of the log: the commit';
const UNREAD = 'null if it stands by and has read no log, or there is none to read';
const POOL = text('the pool');
const NEXT = (what: string): Schema =>
  textOrNull(`to be given as \`${what}\` for the next page; null on the last`);
const PERCENT = number('per cent of the ring');

const range: Readonly<Record<string, Schema>> = {
  start: text(PLACE),
  end: text(`${PLACE}; left out of the range; a range that ends at 2^64 ends at 0`),
};

const poolSummary: Readonly<Record<string, Schema>> = {
  name: POOL,
  isDeclared: yes('it is in the configuration'),
  policy: text('the name of the policy that says where keys should be'),
  owners: whole('members: those who may hold keys'),
  lookups: whole('look-ups heard of lately'),
  rows: whole('rows of the lease table'),
  unownedPercent: number('per cent of the ring without an owner'),
  misplacedPercent: numberOrNull(
    'per cent of the ring that is not where the policy wants it; null unless this Manager leads',
  ),
  changedAt: whole(`${COMMIT} that last changed the pool; 0 if none did`),
  lastLostAt: whole(`${COMMIT} at which keys of it last lost their state; 0 if none did`),
};

const key: Readonly<Record<string, Schema>> = {
  pool: POOL,
  key: textOrNull('the key; null when a place on the ring was asked for'),
  tag: textOrNull('the part in braces that alone is hashed; null if the key is hashed whole'),
  hash: text(PLACE),
  range: ref('Range'),
  owner: orNull(ref('OwnerAddress')),
  number: whole(`the lease number, which is ${COMMIT} that granted the keys; 0 if they never were`),
  lostAt: whole(`${COMMIT} at which the keys last lost their state; 0 if never`),
  position: whole('how far the log had got'),
  waitsMs: wholeOrNull(
    'how much longer the owner of the key is unknown, because this Manager has just begun to lead and waits for leases of an earlier one to expire; null if it does not wait',
  ),
};

const MS = [
  ...['leaseMs', 'holdMs', 'renewEveryMs', 'retryMs', 'leaderLeaseMs', 'leaderChangeMs', 'revokeTimeoutMs'],
  ...['syncEveryMs', 'staleAfterMs', 'suspensionToleranceMs'],
];

const stamp: Readonly<Record<string, Schema>> = {
  id: text('to be shown as Last-Event-ID to resume after this event'),
  atMs: whole('the wall clock of the Manager, in milliseconds since 1970'),
  position: whole('how far the log had got'),
};

const extent: Readonly<Record<string, Schema>> = {
  spans: whole('how many ranges, those that touch counted as one'),
  sharePercent: PERCENT,
  ranges: listOf(ref('Range'), 'the first few of them'),
};

const event = (kind: string, description: string, facts: Readonly<Record<string, Schema>>): Schema =>
  object({ kind: oneOf([kind], description), ...stamp, ...facts }, description);

const PHASE = oneOf(
  ['waiting', 'streaming', 'handed'],
  'waiting: its target has yet to say that it expects the keys; streaming: its source sends, and serves meanwhile, but for a short stop at the end; handed: the state is at the target, and the commit follows',
);

const INTENT = oneOf(
  ['stay', 'cordoned', 'emptying', 'draining'],
  'cordoned: takes no more keys; emptying: and hands over all it has; draining: and then leaves',
);
const ORDER = oneOf(
  ['cordoned', 'emptying', 'released'],
  'what an operator has ordered; released: what was not handed over is given back without its state. Null: nothing, or nothing any more',
);

const owner = ref('OwnerAddress');
const leader = (description: string): Schema =>
  orNull(
    object(
      {
        id: text('the id of the Manager'),
        address: textOrNull('where owners can reach it'),
        http: textOrNull('where its HTTP API can be reached, if that is known'),
      },
      description,
    ),
  );
const ofManager: Readonly<Record<string, Schema>> = { manager: text('its id'), term: whole('the term') };

/** The status of a Manager, after what every service says. */
export const STATUS: Readonly<Record<string, Schema>> = {
  id: text('the id of the Manager'),
  role: oneOf(['standby', 'leading', 'halted'], 'what it is at the moment'),
  haltedBecause: textOrNull('why it needs an operator'),
  history: textOrNull('the history id of the log; null before anything was read of it'),
  term: wholeOrNull('the latest term it knows of; null if it knows of none'),
  position: wholeOrNull(`the last commit it knows of; ${UNREAD}`),
  leadsForMs: wholeOrNull('how much longer it may lead without hearing from the log; null unless it leads'),
  waitsMs: wholeOrNull(
    'how much longer it grants nothing, because leases of an earlier leader have to expire first; null if it does not wait',
  ),
  isWriting: yes('a batch is being written'),
  startedAtMs: whole('in milliseconds since 1970'),
  uptimeSeconds: whole('how long the process has run'),
  createPools: oneOf(['on-first-use', 'declared'], 'how a pool comes into being'),
  pools: wholeOrNull(`pools there are; ${UNREAD}`),
  owners: wholeOrNull(`members of all pools; ${UNREAD}`),
  lookups: whole('look-ups of all pools'),
  rows: wholeOrNull(`rows of all tables; ${UNREAD}`),
  connections: whole('open connections of owners, look-ups and supervisors'),
  limited: listOf(
    object({ limit: text('the name of the limit'), times: whole('how often') }),
    'limits that have held a peer back since the Manager started',
  ),
  store: object({
    kind: oneOf(
      ['file', 'memory', 'etcd', 'flease', 'quorum'],
      'what the log is kept in; flease: in nothing; quorum: in a group of replicas, one in each Manager',
    ),
    where: textOrNull('the directory, or the prefix of all keys in etcd, or the group that elects'),
    bytes: wholeOrNull('what it takes up; null if that is not known'),
    members: listOf(
      ref('StoreMember'),
      'the members of etcd, as they last said of themselves, or of the group that elects',
    ),
    group: orNull(
      object(
        {
          view: whole('the view of the group that it is in'),
          isSettled: yes('members of the view before are no longer needed'),
          recovery: textOrNull('why it does not take part'),
        },
        'the group that elects, as this Manager finds it; null if nobody elects',
      ),
    ),
    replica: orNull(
      object(
        {
          state: text('its part in the group: leader, follower, learner, repairing …'),
          readsLocally: yes('it answers reads from its own memory; a Manager without that cannot lead'),
          isDiskFull: yes('it acknowledges nothing until there is room'),
          committed: whole('slots of the log of the group that it knows to be committed'),
        },
        'the replica in the process of this Manager; null if the log is not in a quorum group',
      ),
    ),
  }),
  leader: orNull(
    object(
      { id: text('the id of the Manager'), address: textOrNull('where owners can reach it') },
      'the leader, as far as the log or the group says; null if there never was one',
    ),
  ),
  managers: listOf(ref('ManagerPlace'), 'those that share the store, as far as is known; this one first'),
  behind: wholeOrNull('commits that a standby did not have yet when it last looked; null for a leader'),
  latestEventId: text('to read only events that are newer than this answer'),
};

export const EVENT: Schema = {
  anyOf: [
    event('pool.joined', 'an owner became a member', { pool: POOL, owner }),
    event('pool.left', 'an owner ceased to be a member', {
      pool: POOL,
      owner,
      why: oneOf(['left', 'expired', 'certified', 'recovered', 'unknown'], 'why'),
    }),
    event('pool.granted', 'keys without an owner were granted to an owner', { pool: POOL, owner, ...extent }),
    event('pool.moved', 'keys changed their owner and kept their state', {
      pool: POOL,
      from: owner,
      owner,
      ...extent,
    }),
    event('pool.ordered', 'an operator wants something else of an owner', {
      ...{ pool: POOL, owner },
      order: orNull(ORDER),
    }),
    event('pool.removed', 'a pool was removed', { pool: POOL }),
    event('pool.lost', 'keys lost their state', {
      ...{ pool: POOL, owner: orNull(owner) },
      isPlanned: yes('whether the owner gave the keys back itself, to another or because it left'),
      ...extent,
    }),
    event('manager.elected', 'this Manager leads', ofManager),
    event('manager.deposed', 'this Manager leads no longer', ofManager),
    event('manager.follows', 'this Manager stands by, and another leads, as far as it knows', {
      manager: text('its id'),
      leader: text('which other; of Managers that keep nothing, its name in the group that elects'),
      term: whole('the term of that other'),
    }),
    event('manager.halted', 'this Manager needs an operator', { manager: text('its id'), why: text('why') }),
  ],
};

export const SCHEMAS: Readonly<Record<string, Schema>> = {
  Range: object(range),
  OwnerAddress: object({
    incarnation: text('one run of one owner process'),
    name: text('what stays the same after a restart'),
    url: text('what look-ups hand to callers'),
  }),
  ManagerPlace: object({
    id: text('its id'),
    address: text('where owners and look-ups can reach it'),
    http: textOrNull('where its HTTP API can be reached; null if others cannot'),
    isLeader: yes('it leads, as far as the log says'),
    isSelf: yes('it is the one that answers'),
  }),
  RemovePool: object({
    pool: POOL,
    isRemoved: yes('false if the log had nothing of it: it is only declared, or asked for'),
  }),
  Order: object({
    pool: POOL,
    owner: text('the name of the owner'),
    incarnation: text('the process that it is about, and with which it ends'),
    order: oneOf(['drain', 'cordon', 'uncordon'], 'what was ordered'),
  }),
  Moves: object({
    pool: POOL,
    term: whole('the term of the leader; bytes count from its beginning'),
    position: whole('how far the log had got'),
    canMove: yes('keys of this pool can move with their state already'),
    moves: orNull(listOf(ref('Move'), 'under way; null unless this Manager leads')),
    owners: orNull(
      listOf(
        ref('Mover'),
        'that move keys or want to, or that were asked about; null unless this Manager leads',
      ),
    ),
  }),
  Move: object({
    ...range,
    ticket: text('its name, unlike any other'),
    number: whole('the lease number under which its source has the keys'),
    from: text('the incarnation that hands the keys over'),
    fromName: text('its name'),
    to: text('the incarnation that takes them over'),
    toName: text('its name'),
    phase: PHASE,
    bytes: whole('sent so far'),
  }),
  Mover: object({
    incarnation: text('one run of one owner process'),
    name: text('what stays the same after a restart'),
    movesKeys: {
      type: ['boolean', 'null'],
      description: 'its keys move with their state; null if this leader has not heard it yet',
    },
    intent: INTENT,
    order: orNull(ORDER),
    ranges: whole('rows it still has'),
    targets: wholeOrNull('how many owners could take its keys; null as long as this leader does not know'),
    sentBytes: whole('sent by it in this term'),
  }),
  StepDown: object({
    hasSteppedDown: yes('it led until then; otherwise there was nothing to do'),
    term: wholeOrNull('the latest term it knows of; null if it knows of none'),
    leader: leader('who leads then, as far as the log says'),
  }),
  StoreMember: object({
    endpoint: text('where it is'),
    isReachable: yes('it answered'),
    isLeader: yes(
      'it leads the others of the store; of etcd that has nothing to do with who leads the Managers, of those that elect it is the same',
    ),
    isSelf: yes('it is the Manager that answers, under its name in the group that elects; false for etcd'),
    complaint: textOrNull('why it is not reachable, or what is wrong with it'),
    version: textOrNull('its version'),
    databaseBytes: wholeOrNull('what its database takes up'),
  }),
  PoolSummary: object(poolSummary),
  Pools: object({
    pools: listOf(ref('PoolSummary'), 'by name'),
    waitsMs: wholeOrNull(
      'as in the status: until then pools may be missing, and keys owned that seem not to be; null if it does not wait',
    ),
  }),
  Pool: object({
    ...poolSummary,
    durations: object(Object.fromEntries(MS.map((name) => [name, number('milliseconds; see docs/pool.md')]))),
    virtualNodes: wholeOrNull('points an owner, for consistent hashing'),
    bounds: object({
      clockRate: number('how much faster one clock may run than another'),
      lossToldWithinMs: number('every look-up has reported a loss within this time of its commit'),
      takeoverHoldMs: number('how long a new leader keeps every lease it finds'),
    }),
  }),
  Owner: object({
    incarnation: text('one run of one owner process'),
    name: text('what stays the same after a restart'),
    url: text('what look-ups hand to callers'),
    isMember: yes('it may hold keys; otherwise it has only asked to'),
    isLeaving: yes('it wants to hold nothing any more'),
    isProvable: yes(
      'it joined with what a supervisor or a lock can prove its death by; whether that supervisor still lives, nobody knows',
    ),
    joinedAt: wholeOrNull(`${COMMIT} with which it joined; null for one that is no member`),
    ranges: whole('rows it owns'),
    sharePercent: PERCENT,
    wantedPercent: numberOrNull('what the policy wants it to have; null unless this Manager leads'),
    recalledRanges: whole('ranges it was asked to give back'),
    recalledPercent: PERCENT,
    heardAgoMs: wholeOrNull('since its last report; null if this Manager has not heard it'),
    keptForMs: wholeOrNull('how much longer its keys are kept for it if nothing is heard'),
    load: numberOrNull('as it last reported'),
    intent: orNull(INTENT),
    order: orNull(ORDER),
    movesOut: wholeOrNull(
      'ranges on their way from it to other owners, with their state; null unless this Manager leads',
    ),
    movesIn: wholeOrNull('ranges on their way to it; null unless this Manager leads'),
  }),
  Owners: object({
    pool: POOL,
    count: whole('how many there are in all'),
    owners: listOf(ref('Owner'), 'by name'),
    next: NEXT('after'),
  }),
  Lookups: object({
    pool: POOL,
    count: whole('how many there are in all'),
    lookups: listOf(
      object({ address: text('where its syncs come from'), heardAgoMs: whole('since its last sync') }),
      'by address',
    ),
    next: NEXT('after'),
  }),
  Key: object(key),
  Explanation: object({
    ...key,
    rangePercent: PERCENT,
    changedAt: whole(`${COMMIT} that last touched the range`),
    isRecalled: yes('the owner was asked to give it back'),
    heardAgoMs: wholeOrNull("since the owner's last report; null if this Manager has not heard it"),
    keptForMs: wholeOrNull('how much longer it is kept for the owner if nothing is heard'),
    policy: object({
      name: text('the name of the policy'),
      wants: orNull(owner),
      isSatisfied: {
        type: ['boolean', 'null'],
        description: 'it is where the policy wants it; null if that is not known here',
      },
      claimedBy: orNull(
        object({
          name: text('the owner'),
          point: whole('which of its points, from 0'),
          hash: text(PLACE),
        }),
      ),
    }),
    arrived: orNull(
      oneOf(
        ['granted', 'moved', 'returned'],
        'how the owner got the keys under this number. granted: without state, or nobody had any; moved: with their state, from another owner; returned: it had them before under another number, and goes on with their state. Null if nobody owns them',
      ),
    ),
    moving: orNull(
      object(
        {
          ticket: text('its name, unlike any other'),
          to: owner,
          phase: PHASE,
          bytes: whole('sent so far, for all keys of this move'),
        },
        'the move that the key is a part of; null if there is none, and unless this Manager leads',
      ),
    ),
    why: textOrNull('why it is to be where the policy wants it; null unless this Manager leads'),
    ifOwnerDied: orNull(
      object(
        {
          goesTo: orNull(owner),
          afterMs: whole('when, if the death is not proved before'),
          keepsState: yes('all its state is at the next owner already'),
        },
        'what would become of the key if its owner died now and no other process came; null if nobody owns it, if the owner was not heard yet, and unless this Manager leads',
      ),
    ),
    sentences: listOf(text('one step'), 'the same for people'),
  }),
  Row: object({
    ...range,
    owner: textOrNull('the incarnation of the owner; null if nobody owns it'),
    ownerName: textOrNull('its name'),
    sharePercent: PERCENT,
    number: whole('the lease number'),
    lostAt: whole(`${COMMIT} at which the keys last lost their state; 0 if never`),
    changedAt: whole(`${COMMIT} that last touched the row`),
  }),
  Table: object({
    pool: POOL,
    position: whole('how far the log had got'),
    count: whole('rows in all'),
    rows: listOf(ref('Row'), 'in the order of the ring'),
    next: NEXT('from'),
  }),
};
