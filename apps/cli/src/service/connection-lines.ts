/** A watching command says when the connection is lost, and when it is back: on the error output, as JSON for programs. */

import type { HttpApi } from '../api.ts';
import type { Context } from '../context.ts';
import type { StreamOptions } from '../event-stream.ts';
import { writeJson, writeLines } from '../output.ts';

export const connectionLines =
  (
    { err }: Context,
    api: HttpApi,
    {
      json,
      facts = {},
      back = 'Connected again.',
    }: {
      readonly json?: true | undefined;
      /** More fields of the JSON line. */
      readonly facts?: Readonly<Record<string, unknown>>;
      readonly back?: string;
    },
  ): NonNullable<StreamOptions['onState']> =>
  (connection, why) => {
    const { url } = api; // Of several, the one that is asked now.
    if (json) writeJson(err, { atMs: Date.now(), ...facts, connection, ...(why && { why: why.message }) });
    else writeLines(err, [connection === 'lost' ? `Lost the connection to ${url}; trying again …` : back]);
  };
