/** For tests: the HTTP API of a Manager without a process, and commands that ask it. */

import { serveHttp } from '../../../../leasehold/src/node/http/server.ts';
import {
  apiRoutes,
  type ManagerToLookAt,
} from '../../../../leasehold/src/pool/shell/service/source-script.ts';
import { silent } from '../../../../leasehold/src/runtime/logger.ts';
import { runCli } from '../cli.ts';
import { recordedContext } from './recorded-context.ts';

export interface Ran {
  readonly code: number;
  readonly printed: string;
  readonly complained: string;
}

export interface Served extends AsyncDisposable {
  readonly url: string;
  /** A command that asks this Manager. */
  run(...argv: readonly string[]): Promise<Ran>;
}

export async function served(manager: ManagerToLookAt): Promise<Served> {
  const routes = apiRoutes(manager.source());
  const server = await serveHttp({ host: '127.0.0.1', port: 0, routes, logger: silent });
  return {
    url: server.url,
    run: async (...argv) => {
      const context = recordedContext();
      const code = await runCli([...argv, '--at', server.url], context);
      return { code, printed: context.printed(), complained: context.complained() };
    },
    [Symbol.asyncDispose]: () => server.close(0),
  };
}
