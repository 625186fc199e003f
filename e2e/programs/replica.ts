/** A replica of a quorum group, which obeys clients and has a port for health. */

import { serveReplica, startReplica, type StartReplicaOptions } from 'leasehold/quorum';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';

try {
  const replica = await startReplica({ ...told<StartReplicaOptions>(), logger });
  const { url } = await serveReplica(replica, { port: 0, logger });
  say('listening', { pid: process.pid, url });
  replica.failed.addEventListener('abort', () => say('ended', errorFacts(replica.failed.reason)));
  replica.ready().then(() => say('ready', { pid: process.pid, url }), fail);
  obey({ status: () => ({ ...replica.status() }) });
} catch (error) {
  fail(error);
}
