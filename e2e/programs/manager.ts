/** A Manager. Ends by SIGTERM, or when it cannot go on. */

import { serveStatus } from 'leasehold';
import { type StartManagerOptions, startManager } from 'leasehold/manager';
import { fail, logger, obey, say, told } from './conversation.ts';

const { http, ...options } = told<StartManagerOptions & { readonly http?: true }>();

try {
  const manager = await startManager({
    listen: '127.0.0.1:0',
    firstStart: options.store === undefined || Object.hasOwn(Object(options.store), 'directory'),
    ...options,
    logger,
  });
  const server = http ? await serveStatus(manager, { listen: '127.0.0.1:0', logger }) : undefined;
  process.once('SIGTERM', () => {
    void Promise.resolve(server?.close())
      .then(() => manager.close())
      .then(() => {
        say('closed');
        process.exit(0);
      });
  });
  void manager.closed.then((why) => {
    if (why === undefined) return;
    fail(why);
    process.exit();
  });
  obey({
    observe: () => {
      const { role, haltedBecause, history, term, owners, lookups, state } = manager.observe();
      const members = owners.filter(({ isMember }) => isMember).map(({ pool, name }) => `${pool}/${name}`);
      const heard = owners.filter(({ lastHeardAt }) => lastHeardAt !== undefined).length;
      return {
        heard,
        role,
        haltedBecause,
        history,
        term,
        position: state.position,
        members,
        lookups: lookups.length,
      };
    },
    stepDown: async () => ({ hasSteppedDown: await manager.stepDown() }),
    memory: () => ({ rssBytes: process.memoryUsage().rss }),
  });
  say('ready', { pid: process.pid, address: manager.address, httpUrl: server?.url });
} catch (error) {
  fail(error);
}
