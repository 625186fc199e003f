/** A Manager on a data directory with the defaults, for a measurement. It can be asked what it has sent and received. */

import { startManager } from 'leasehold/manager';
import { cpu, obey, say, told } from './conversation.ts';

export interface ManagerConfig {
  readonly directory: string;
}

export interface Traffic {
  /** In both directions, with their frames. */
  readonly bytes: number;
  /** In both directions. */
  readonly messages: number;
}

const { directory } = told<ManagerConfig>();
const manager = await startManager({
  store: { directory },
  listen: '127.0.0.1:0',
  firstStart: true,
});
obey({
  cpu,
  traffic: () => {
    const { bytesIn, bytesOut } = manager.source.traffic();
    const { reports, syncs, certificatesReceived, ...sent } = manager.source.counters;
    const messagesIn = reports + syncs + certificatesReceived;
    const messagesOut = sent.updates + sent.answers + sent.pushes + sent.certificatesAccepted;
    return { bytes: bytesIn + bytesOut, messages: messagesIn + messagesOut };
  },
});
say('ready', { address: manager.address });
