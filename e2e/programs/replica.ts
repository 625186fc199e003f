/** A replica of a quorum group, which does what its clients want. */

import { startReplica, type StartReplicaOptions } from 'leasehold/quorum';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';

try {
  const replica = await startReplica({ ...told<StartReplicaOptions>(), logger });
  say('listening', { pid: process.pid });
  replica.failed.addEventListener('abort', () => say('ended', errorFacts(replica.failed.reason)));
  replica.ready().then(() => say('ready', { pid: process.pid }), fail);
  obey({ status: () => ({ ...replica.status() }) });
} catch (error) {
  fail(error);
}
