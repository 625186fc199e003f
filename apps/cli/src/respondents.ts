/**
 * Who can be asked over HTTP, and how they are told apart. A Manager and a member of a group both have a port for people and
 * programs, with some paths of the same name; whoever confuses the two should be told so, and how to ask the one that is there.
 */

import { DEFAULT_FLEASE_HTTP_PORT } from 'leasehold/flease';

/** Who is asked, and how one gets to where one answers. */
export interface Respondent {
  readonly who: string;
  /** The words that start one. */
  readonly command: string;
  /** How to say where it is. */
  readonly place: string;
  readonly usualPort: number;
  /** What is in its status, and in nobody else's. */
  readonly field: string;
  /** A path at which nobody else answers. */
  readonly path: string;
  /** The words that ask it how it is. */
  status(url: string): string;
}

export const STATUS_PATH = '/v1/status';

export const MANAGER: Respondent = {
  ...{ who: 'Manager', command: 'manager', place: '--api URL or LEASEHOLD_API', usualPort: 7_401 },
  ...{ field: 'logPosition', path: '/v1/pools' },
  status: (url) => `status --api ${url}`,
};

export const MEMBER_VARIABLE = 'LEASEHOLD_FLEASE_HTTP';

export const MEMBER: Respondent = {
  ...{ who: 'member', command: 'flease serve', place: `--http ADDRESS or ${MEMBER_VARIABLE}` },
  ...{ usualPort: DEFAULT_FLEASE_HTTP_PORT, field: 'clockSkewMs', path: '/v1/holder' },
  status: (url) => `flease status --http ${url.replace('http://', '')}`,
};

const ALL = [MANAGER, MEMBER];

/** Whose status this is; undefined: nobody's. */
export const whoseStatus = (answer: unknown): Respondent | undefined =>
  typeof answer === 'object' && answer !== null ? ALL.find(({ field }) => field in answer) : undefined;

/** Who answers at these paths. */
export const whosePaths = (paths: unknown): Respondent | undefined =>
  Array.isArray(paths) ? ALL.find(({ path }) => paths.includes(path)) : undefined;
