/** Asks a member of a group how it is, and who has what. */

import { Option } from 'commander';
import { DEFAULT_FLEASE_HTTP_PORT } from 'leasehold/flease';
import { HttpApi, parseApi } from '../api.ts';
import type { Context } from '../context.ts';
import { MEMBER, MEMBER_VARIABLE as VARIABLE } from '../respondents.ts';

const DEFAULT_PLACE = `127.0.0.1:${DEFAULT_FLEASE_HTTP_PORT}`;

export interface MemberApiOption {
  readonly http?: string;
}

export const memberApiOption = (): Option =>
  new Option(
    '--http <address>',
    `where a member tells how it is, as 7501 or host:7501 (default: ${VARIABLE}, or ${DEFAULT_PLACE})`,
  );

/** @throws {UsageError} */
export function memberApi({ environment, calledAs }: Context, { http }: MemberApiOption): HttpApi {
  const place = http ?? (environment[VARIABLE] || DEFAULT_PLACE);
  const address = /^\d+$/.test(place) ? `127.0.0.1:${place}` : place;
  return new HttpApi(parseApi(address, MEMBER), calledAs, MEMBER);
}

/** The path of something about a resource. */
export const resourcePath = (path: string, resource: string): string =>
  `${path}?resource=${encodeURIComponent(resource)}`;
