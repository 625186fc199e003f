/**
 * The kinds of servers that can be asked over HTTP, and how they are told apart. A Manager and a member of a group
 * both have a port for people and programs, with some paths of the same name; a user who confuses the two should be
 * told so, and how to ask the one that is there.
 */

import { DEFAULT_FLEASE_HTTP_PORT } from 'leasehold/flease';
import { DEFAULT_QUORUM_HTTP_PORT } from 'leasehold/quorum';
import { DEFAULT_GROUP_HTTP_PORT } from 'leasehold/membership';
import { DEFAULT_LIMIT_HTTP_PORT } from 'leasehold/ratelimit';

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
  /** The field `service` of the status. */
  readonly service: string;
  /** The environment variable with the address. */
  readonly variable: string;
  /** A path at which nobody else answers. */
  readonly path: string;
  /** The command line that asks for the status. */
  status(url: string): string;
}

export const STATUS_PATH = '/v1/status';

export const MANAGER: Respondent = {
  ...{ who: 'Manager', command: 'manager', place: '--api URL or LEASEHOLD_API', usualPort: 7_401 },
  ...{ service: 'manager', path: '/v1/pools', variable: 'LEASEHOLD_API' },
  status: (url) => `status --api ${url}`,
};

export const MEMBER: Respondent = {
  ...{ who: 'member', command: 'flease serve', place: '--http ADDRESS or LEASEHOLD_FLEASE_HTTP' },
  ...{ usualPort: DEFAULT_FLEASE_HTTP_PORT, service: 'flease', path: '/v1/holder' },
  ...{ variable: 'LEASEHOLD_FLEASE_HTTP' },
  status: (url) => `flease status --http ${url.replace('http://', '')}`,
};

export const REPLICA: Respondent = {
  ...{ who: 'replica', command: 'quorum start', place: '--servers ADDRESSES or LEASEHOLD_QUORUM' },
  ...{ usualPort: DEFAULT_QUORUM_HTTP_PORT, service: 'quorum', path: '/v1/members' },
  ...{ variable: 'LEASEHOLD_QUORUM' },
  status: () => 'quorum status',
};

export const GROUP_SERVER: Respondent = {
  ...{ who: 'server of a group', command: 'group serve', place: '--http ADDRESS or LEASEHOLD_GROUP_HTTP' },
  ...{ usualPort: DEFAULT_GROUP_HTTP_PORT, service: 'group', path: '/v1/send' },
  ...{ variable: 'LEASEHOLD_GROUP_HTTP' },
  status: (url) => `group status --http ${url.replace('http://', '')}`,
};

export const LIMITED: Respondent = {
  ...{
    who: 'process that shares limits',
    command: 'serveLimits',
    start: 'Call serveLimits(sharing) of leasehold/ratelimit in the process',
    place: '--http ADDRESS or LEASEHOLD_LIMIT_HTTP',
  },
  ...{ usualPort: DEFAULT_LIMIT_HTTP_PORT, service: 'ratelimit', path: '/v1/key' },
  ...{ variable: 'LEASEHOLD_LIMIT_HTTP' },
  status: (url) => `limit status --http ${url.replace('http://', '')}`,
};

const ALL = [MANAGER, MEMBER, REPLICA, GROUP_SERVER, LIMITED];

/** The kind of server that this status is from; undefined: none. */
export const whoseStatus = (answer: unknown): Respondent | undefined =>
  typeof answer === 'object' && answer !== null && 'service' in answer
    ? ALL.find(({ service }) => service === answer.service)
    : undefined;

/** The kind of server that has these paths. */
export const whosePaths = (paths: unknown): Respondent | undefined =>
  Array.isArray(paths) ? ALL.find(({ path }) => paths.includes(path)) : undefined;
