/** Where a service tells how it is: by option, environment variable, or on the usual port of this machine. */

import { Option } from 'commander';
import { HttpApi, parseApi } from '../api.ts';
import type { Context } from '../context.ts';
import type { Respondent } from '../respondents.ts';

export interface PlaceOption {
  readonly at?: string;
}

export const placeOption = ({ who, variable, usualPort }: Respondent): Option =>
  new Option(
    '--at <address>',
    `the HTTP address of a ${who}, as ${usualPort} or host:${usualPort} (default: ${variable}, or 127.0.0.1:${usualPort})`,
  );

/** @throws {UsageError} */
export function serviceApi(
  { environment, calledAs }: Context,
  { at }: PlaceOption,
  respondent: Respondent,
): HttpApi {
  const place = at ?? (environment[respondent.variable] || `127.0.0.1:${respondent.usualPort}`);
  return new HttpApi(parseApi(place, respondent), calledAs, respondent);
}
