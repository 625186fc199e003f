/** A replica of a quorum cell, which obeys clients and has a port for health. */

import { serveStatus } from 'leasehold';
import { startReplica, type StartReplicaOptions } from 'leasehold/quorum';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';

try {
  const replica = await startReplica({ ...told<StartReplicaOptions>(), logger });
  const { url } = await serveStatus(replica, { listen: '127.0.0.1:0', logger });
  say('listening', { pid: process.pid, url });
  void replica.closed.then((error) => error && say('ended', errorFacts(error)));
  replica.ready().then(() => say('ready', { pid: process.pid, url }), fail);
  obey({ status: () => ({ ...replica.status() }) });
} catch (error) {
  fail(error);
}
