/** A Manager. Ends by SIGTERM, or when it cannot go on. */

import { type StartManagerOptions, startManager } from 'leasehold/manager';
import { fail, logger, obey, say, told } from './conversation.ts';

const options = told<StartManagerOptions>();

try {
  const manager = await startManager({
    http: false,
    port: 0,
    firstStart: options.store === undefined,
    ...options,
    logger,
  });
  process.once('SIGTERM', () => {
    void manager.close().then(() => {
      say('closed');
      process.exit(0);
    });
  });
  manager.failed.catch((error: unknown) => {
    fail(error);
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
  say('ready', { pid: process.pid, address: manager.address, httpUrl: manager.httpUrl });
} catch (error) {
  fail(error);
}
