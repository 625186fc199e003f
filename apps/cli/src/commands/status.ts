import { Command } from 'commander';
import type { LookupsAnswer, OwnerAnswer, OwnersAnswer, PoolAnswer, StatusAnswer } from '../answers.ts';
import { type AtOption, ManagerApi, poolPath } from '../api.ts';
import type { Context } from '../context.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type AskedManager, askManagers, askOthers } from '../other-managers.ts';
import {
  bytes,
  counted,
  duration,
  durationOfSeconds,
  type JsonOption,
  percent,
  show,
  table,
} from '../output.ts';
import { separateLogs, separateLogsLines } from '../separate-logs.ts';
import { NOT_KNOWN_YET, waitingLines } from '../waiting.ts';

/** `leasehold status`: the Manager itself. */
export function statusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('Show a Manager')
    .description(
      'Show a Manager: its role, its log, and which other Managers there are. Of several addresses the Manager that leads is shown; ends with 1 if two of them lead separate logs.',
    )
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (options: AtOption & JsonOption) =>
      showManager(context, ManagerApi.of(context, options), options),
    );
  return withExamples(command, context, [
    ['status', 'its role, its log, how much it looks after, and who else is there'],
    ['status --at http://10.0.0.1:7401', 'another Manager'],
    ['status --at 10.0.0.1,10.0.0.2,10.0.0.3', 'the leader of three, and whether all of them lead one log'],
  ]);
}

/** `leasehold pool status`. */
export function poolStatusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('Show a pool and its owners')
    .description('Show a pool: its durations, its owners and their shares.')
    .argument('<pool>', 'the pool')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (pool: string, options: AtOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const [status, answer, owners, lookups] = await Promise.all([
        api.get<StatusAnswer>('/v1/status'),
        api.get<PoolAnswer>(poolPath(pool)),
        allOwners(api, pool),
        api.get<LookupsAnswer>(poolPath(pool, '/lookups?limit=1')),
      ]);
      show(context, options, { ...answer, members: owners }, () => [
        ...poolLines(status, answer, owners, lookups.count),
        ...leaderHint(status),
        ...waitingLines(status.waitsMs),
      ]);
    });
  return withExamples(command, context, [['pool status presence', 'durations, owners and their shares']]);
}

async function showManager(context: Context, api: ManagerApi, options: JsonOption): Promise<void> {
  const status = await api.get<StatusAnswer>('/v1/status');
  const shared = await askManagers(context, status);
  const others = await askOthers(context, api.urls.length > 1 ? api.urls : [], shared);
  const managers = [...shared, ...others];
  const found = separateLogs(managers) ?? null;
  if (found === 'separate-logs' || found === 'copies-of-one-log') context.exitCode = 1;
  show(context, options, { ...status, managers, separateLogs: found }, () => [
    ...statusLines(status),
    ...managerLines(status, managers, others.length > 0),
    ...separateLogsLines(managers),
    ...storeLines(status),
  ]);
}

/** Page by page. */
async function allOwners(api: ManagerApi, pool: string): Promise<readonly OwnerAnswer[]> {
  const owners: OwnerAnswer[] = [];
  let after: string | null = null;
  do {
    const query: string = after === null ? '' : `?after=${encodeURIComponent(after)}`;
    const page: OwnersAnswer = await api.get<OwnersAnswer>(poolPath(pool, `/owners${query}`));
    owners.push(...page.owners);
    after = page.next;
  } while (after !== null);
  return owners;
}

export function statusLines(status: StatusAnswer): readonly string[] {
  const { store } = status;
  const size = store.bytes === null ? '' : `, ${bytes(store.bytes)}`;
  const kept = keptIn(store, size);
  const pools = status.createPools === 'declared' ? 'which must be declared' : 'made on first use';
  return [
    `Manager ${status.id} is ${status.role}, up ${durationOfSeconds(status.uptimeSeconds)}, version ${status.version}`,
    ...(status.whyNotReady === null ? [] : [`  not ready    ${status.whyNotReady}`]),
    ...(status.waitsMs === null ? [] : [`  waits        ${waitWords(status.waitsMs)}`]),
    ...(isShared(store) ? [`  leader       ${leaderWords(status)}`] : []),
    ...(store.group === null ? [] : [`  group        ${groupWords(store.group)}`]),
    ...(store.replica === null ? [] : [`  replica      ${replicaWords(store.replica)}`]),
    `  log          ${logWords(status)}; ${kept}`,
    `  pools        ${status.pools ?? NOT_KNOWN_HERE}, ${pools}`,
    `  members      ${ownerWords(status.owners, status.waitsMs)}, ${lookupWords(status.lookups, store)}`,
    `  ranges       ${rangeWords(status)}`,
    `  connections  ${status.connections}`,
    ...(status.limited.length === 0 ? [] : [`  limits hit   ${limitWords(status.limited)}`]),
  ];
}

const limitWords = (limited: StatusAnswer['limited']): string =>
  limited.map(({ limit, times }) => `${limit} (${times}×)`).join(', ');

/** For values that only the log has, or the leader. */
const NOT_KNOWN_HERE = 'not known here';

const logWords = ({ position, term }: StatusAnswer): string =>
  position === null ? `position ${NOT_KNOWN_HERE}` : `position ${position}, term ${term}`;

/** A leader that waits has let nobody in yet, but others may own all there is. */
function ownerWords(owners: number | null, waitsMs: number | null): string {
  if (owners === null) return `owners ${NOT_KNOWN_HERE}`;
  return waitsMs === null ? counted(owners, 'owner') : `owners ${NOT_KNOWN_YET}`;
}

const rangeWords = ({ rows, waitsMs }: StatusAnswer): string | number =>
  waitsMs === null ? (rows ?? NOT_KNOWN_HERE) : NOT_KNOWN_YET;

const waitWords = (waitsMs: number): string =>
  `${duration(waitsMs)} more for leases of an earlier leader to expire; then it grants keys`;

const isShared = ({ kind }: StatusAnswer['store']): boolean =>
  kind === 'etcd' || kind === 'flease' || kind === 'quorum';

/** How far a change of the electing group has come: an operator that replaces a member waits for this. */
function groupWords({ view, isSettled, recovery }: NonNullable<StatusAnswer['store']['group']>): string {
  const change = isSettled ? 'settled' : 'not settled yet: members of the one before are still needed';
  return `view ${view}, ${change}; this one ${recovery ?? 'is ready'}`;
}

function replicaWords({
  state,
  readsLocally,
  isDiskFull,
}: NonNullable<StatusAnswer['store']['replica']>): string {
  const reading = readsLocally ? 'reads locally' : 'may not read locally at present, so it cannot lead';
  return `${state}, ${reading}${isDiskFull ? '; ITS DISK IS FULL' : ''}`;
}

/** A look-up asks one Manager, and the others do not know of the look-up. */
const lookupWords = (lookups: number, store: StatusAnswer['store']): string =>
  `${counted(lookups, 'look-up')}${isShared(store) ? ' at this Manager' : ''}`;

function leaderWords(status: StatusAnswer): string {
  const { role, id, leader, term } = status;
  if (role === 'leading') return `this one, in term ${term}`;
  const lag = lagWords(status);
  if (leader === null || leader.id === id) return `none, as far as this Manager knows${lag}`;
  return `${leader.id}${leader.address === null ? '' : ` at ${leader.address}`}${term === null ? '' : `, in term ${term}`}${lag}`;
}

/** A Manager that is not ready may have seen the log long ago, which says nothing about the present. */
function lagWords({ behind, whyNotReady }: StatusAnswer): string {
  if (behind === null) return '';
  if (whyNotReady !== null) return ', when this one last read the log';
  return behind === 0 ? '; this one has all of its log' : `; this one is ${counted(behind, 'commit')} behind`;
}

/** Nothing if the Manager shares the log with no other; on etcd there is a list also for a single Manager. */
export function managerLines(
  status: StatusAnswer,
  managers: readonly AskedManager[],
  areCompared = false,
): readonly string[] {
  const { kind } = status.store;
  if (kind !== 'etcd' && kind !== 'quorum' && !areCompared) return [];
  const rows = managers.map((manager) => [
    `${manager.id}${manager.isSelf ? ' (this one)' : ''}`,
    manager.role ?? 'not known',
    manager.behind ?? '-',
    manager.uptimeSeconds === null ? '-' : durationOfSeconds(manager.uptimeSeconds),
    manager.version ?? '-',
    manager.address,
    manager.http ?? '-',
    manager.problem ?? '',
  ]);
  return ['', ...table(['MANAGER', 'ROLE', 'BEHIND', 'UP', 'VERSION', 'ADDRESS', 'HTTP', ''], rows)];
}

export function storeLines(status: StatusAnswer): readonly string[] {
  const { kind, members } = status.store;
  if (members.length === 0) return [];
  if (kind === 'flease') {
    const rows = members.map((elector) => [
      ...[elector.endpoint, electorRole(elector, status), elector.complaint ?? ''],
    ]);
    return ['', ...table(['ELECTOR', 'ROLE', ''], rows)];
  }
  if (kind === 'quorum') {
    const rows = members.map(({ endpoint, isReachable, isLeader, isSelf, complaint }) => [
      `${endpoint}${isSelf ? ' (this one)' : ''}`,
      isReachable ? (isLeader ? 'leads' : 'follows') : 'not connected',
      complaint ?? '',
    ]);
    return ['', ...table(['REPLICA', 'ROLE', ''], rows)];
  }
  const rows = members.map(({ endpoint, isReachable, isLeader, version, databaseBytes, complaint }) => [
    endpoint,
    isReachable ? (isLeader ? 'leads' : 'follows') : 'no answer',
    version ?? '-',
    databaseBytes === null ? '-' : bytes(databaseBytes),
    complaint ?? '',
  ]);
  return ['', ...table(['ETCD', 'ROLE', 'VERSION', 'DATABASE', ''], rows)];
}

/**
 * A Manager knows only its own role. Another Manager's role follows from who leads: without a known leader each of the
 * others may lead; and a former election of this Manager means nothing once this Manager leads no longer.
 */
function electorRole(
  { isReachable, isLeader, isSelf }: StatusAnswer['store']['members'][number],
  { role, store }: StatusAnswer,
): string {
  if (!isReachable) return 'not connected';
  if (isSelf ? role === 'leading' : isLeader && role !== 'leading') return 'leads';
  const isOtherKnown = store.members.some((other) => other.isLeader && !other.isSelf);
  return isSelf || role === 'leading' || isOtherKnown ? 'stands by' : 'not known';
}

function keptIn({ kind, where }: StatusAnswer['store'], size: string): string {
  if (kind === 'memory') return 'kept in memory, gone with the process';
  if (kind === 'flease') return `kept nowhere, gone with its leader (${where})`;
  if (kind === 'quorum') return `kept in its replicas (${where})`;
  return kind === 'etcd' ? `kept in etcd under ${where}` : `kept in ${where}${size}`;
}

export function poolLines(
  { role, store, waitsMs }: StatusAnswer,
  pool: PoolAnswer,
  owners: readonly OwnerAnswer[],
  lookups: number,
): readonly string[] {
  const { durations, bounds } = pool;
  const isLeading = role === 'leading';
  return [
    `Pool ${pool.name}: ${ownerWords(pool.owners, waitsMs)}, ${lookupWords(lookups, store)}, ${counted(pool.rows, 'range')}`,
    `  policy       ${policyWords(pool)}`,
    `  keys         ${waitsMs === null ? keyWords(pool) : `it is ${NOT_KNOWN_YET} how many are unowned`}`,
    `  lease        ${duration(durations.leaseMs)}, renewed every ${duration(durations.renewEveryMs)}; kept ${duration(durations.holdMs)} for an owner that is silent`,
    `  a loss       is told to every look-up within ${duration(bounds.lossToldWithinMs)}`,
    '',
    ...(owners.length === 0
      ? [isLeading && waitsMs === null ? 'There are no owners.' : 'This Manager knows of no owners.']
      : isLeading
        ? table(
            ['OWNER', 'SHARE', 'RANGES', 'WANTED', 'MOVING', 'HEARD', 'KEPT FOR', 'LOAD', 'PROOF', 'URL'],
            owners.map(ownerCells),
          )
        : table(['OWNER', 'SHARE', 'RANGES', 'PROOF', 'URL'], owners.map(loggedCells))),
  ];
}

/** Points are those of consistent hashing: a pool whose keys move is not placed by them. */
const policyWords = ({ policy, virtualNodes }: PoolAnswer): string =>
  policy === 'consistent-hashing' && virtualNodes !== null
    ? `${policy}, ${virtualNodes} points an owner`
    : policy;

function keyWords({ unownedPercent, misplacedPercent }: PoolAnswer): string {
  const moving = misplacedPercent === null ? '' : `, ${percent(misplacedPercent)} to be moved`;
  return `${percent(unownedPercent)} unowned${moving}`;
}

/** A Manager that does not lead hears no owners: that Manager knows of them from the log, or nothing. */
export function leaderHint({ role, id, leader, managers }: StatusAnswer): readonly string[] {
  if (role === 'leading') return [];
  const known = leader === null || leader.id === id ? undefined : leader;
  const http = managers.find((manager) => manager.id === known?.id)?.http ?? null;
  const where = http === null ? 'ask it, with --at' : `--at ${http}`;
  const who =
    known === undefined
      ? 'The leader knows more of them, but this Manager does not know which one leads.'
      : `The leader knows more of them; as far as this Manager knows, that is ${known.id}: ${where}`;
  return ['', `This Manager does not lead, and hears no owners. ${who}`];
}

const loggedCells = (owner: OwnerAnswer): readonly (string | number)[] => [
  ...[`${owner.name}${stateWords(owner)}`, percent(owner.sharePercent), owner.ranges],
  ...[owner.isProvable ? 'yes' : 'no', owner.url],
];

/** What an owner does with its keys, beside serving them. A Manager that does not lead knows only of orders. */
function stateWords({ isMember, isLeaving, intent, order }: OwnerAnswer): string {
  if (isLeaving) return ' (leaving)';
  if (!isMember) return ' (joining)';
  if (intent === 'draining') return ' (draining)';
  if (intent === 'emptying' || order === 'emptying' || order === 'released') return ' (handing all over)';
  return intent === 'cordoned' || order === 'cordoned' ? ' (cordoned)' : '';
}

/** Moves under way, from and to the owner. */
const movesWords = ({ movesOut, movesIn }: OwnerAnswer): string => {
  const words = [
    ...(movesOut === null || movesOut === 0 ? [] : [`${movesOut} out`]),
    ...(movesIn === null || movesIn === 0 ? [] : [`${movesIn} in`]),
  ];
  return words.length === 0 ? '-' : words.join(', ');
};

const ownerCells = (owner: OwnerAnswer): readonly (string | number)[] => [
  `${owner.name}${stateWords(owner)}`,
  percent(owner.sharePercent),
  owner.ranges,
  owner.wantedPercent === null ? '-' : percent(owner.wantedPercent),
  movesWords(owner),
  owner.heardAgoMs === null ? 'never' : `${duration(owner.heardAgoMs)} ago`,
  owner.keptForMs === null ? '-' : duration(owner.keptForMs),
  owner.load === null ? '-' : Number(owner.load.toPrecision(3)),
  owner.isProvable ? 'yes' : 'no',
  owner.url,
];
