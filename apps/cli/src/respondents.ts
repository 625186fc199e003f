/**
 * The kinds of servers that can be asked over HTTP, and how they are told apart. A Manager and a member of a group
 * both have a port for people and programs, with some paths of the same name; a user who confuses the two should be
 * told so, and how to ask the one that is there.
 */

import { type HandleHead, STATUS_PORTS } from 'leasehold/internal';

/** A kind of server, and how to find one. */
export interface Respondent {
  readonly who: string;
  /** The words that start one. */
  readonly command: string;
  /** How to start one that no command starts. @default with the command */
  readonly start?: string;
  /** How to name the place. */
  readonly place: string;
  readonly usualPort: number;
  /** As in the status. */
  readonly module: string;
  /** What the instance of a handle is, in paths; undefined: no path names it. */
  readonly kind?: 'pool' | 'cell' | 'group';
  /** The environment variable with the address. */
  readonly variable: string;
  /** A path at which nobody else answers. */
  readonly path: string;
  /** The command line that asks for the status. */
  status(url: string): string;
}

export const STATUS_PATH = '/v1/status';

export const MANAGER: Respondent = {
  ...{
    who: 'Manager',
    command: 'manager start',
    place: '--at ADDRESS or LEASEHOLD_MANAGER_AT',
    usualPort: STATUS_PORTS.manager,
  },
  ...{ module: 'manager', path: '/v1/pool', variable: 'LEASEHOLD_MANAGER_AT' },
  status: (url) => `status --at ${url}`,
};

export const MEMBER: Respondent = {
  ...{ who: 'member', command: 'flease start', place: '--at ADDRESS or LEASEHOLD_FLEASE_AT' },
  ...{ usualPort: STATUS_PORTS.flease, module: 'flease', kind: 'cell', path: '/v1/flease/{cell}/holder' },
  ...{ variable: 'LEASEHOLD_FLEASE_AT' },
  status: (url) => `flease status --at ${url.replace('http://', '')}`,
};

export const REPLICA: Respondent = {
  ...{ who: 'replica', command: 'quorum start', place: '--at ADDRESSES or LEASEHOLD_QUORUM_AT' },
  ...{ usualPort: STATUS_PORTS.quorum, module: 'quorum', kind: 'cell', path: '/v1/quorum' },
  ...{ variable: 'LEASEHOLD_QUORUM_AT' },
  status: () => 'quorum status',
};

export const GROUP_SERVER: Respondent = {
  ...{ who: 'server of a group', command: 'membership start' },
  place: '--at ADDRESS or LEASEHOLD_MEMBERSHIP_AT',
  ...{
    usualPort: STATUS_PORTS.membership,
    module: 'membership',
    kind: 'group',
    path: '/v1/membership/{group}/send',
  },
  ...{ variable: 'LEASEHOLD_MEMBERSHIP_AT' },
  status: (url) => `membership status --at ${url.replace('http://', '')}`,
};

export const LIMITED: Respondent = {
  ...{
    who: 'process that shares limits',
    command: 'serveStatus',
    start: 'Call serveStatus(limits) of leasehold in the process',
    place: '--at ADDRESS or LEASEHOLD_RATELIMIT_AT',
  },
  ...{
    usualPort: STATUS_PORTS.ratelimit,
    module: 'ratelimit',
    kind: 'pool',
    path: '/v1/ratelimit/{pool}/key',
  },
  ...{ variable: 'LEASEHOLD_RATELIMIT_AT' },
  status: (url) => `ratelimit status --at ${url.replace('http://', '')}`,
};

const ALL = [MANAGER, MEMBER, REPLICA, GROUP_SERVER, LIMITED];

/** The statuses of the handles of a process; undefined: that is no status. */
export function handlesIn(answer: unknown): readonly HandleHead[] | undefined {
  const { handles } = Object(answer) as { readonly handles?: unknown };
  return Array.isArray(handles) && handles.every((each) => typeof Object(each).module === 'string')
    ? (handles as readonly HandleHead[])
    : undefined;
}

/** The kind of server that has such handles; undefined: none. */
export const whoseHandles = (handles: readonly HandleHead[]): Respondent | undefined =>
  ALL.find(({ module }) => handles.some((handle) => handle.module === module));

/** The kind of server that has these paths. */
export const whosePaths = (paths: unknown): Respondent | undefined =>
  Array.isArray(paths) ? ALL.find(({ path }) => paths.includes(path)) : undefined;
