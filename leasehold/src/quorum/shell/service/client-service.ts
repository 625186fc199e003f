/** What a client of a cell shows of its state over HTTP. */

import type { EventLog } from '../../../node/service/event-log.ts';
import type { Told } from '../../../node/service/handle-events.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { Schema } from '../../../node/service/schema.ts';
import type { Service } from '../../../node/service/service.ts';
import { familiesOf, gauge, type Metric } from '../../../runtime/metrics.ts';
import type { ClientStatus } from '../client-types.ts';

/** As much of a client as is shown. */
export interface ShownClient {
  readonly eventLog: EventLog<Told<'quorum'>>;
  status(): ClientStatus;
}

const EVENT: Schema = {
  type: 'object',
  description: 'quorum.connected, quorum.disconnected or quorum.refused, with `id`, `atMs` and `instance`',
};

export const clientService = (client: ShownClient): Service => ({
  ...{ module: 'quorum', instance: client.status().instance, kind: 'cell', usualPort: STATUS_PORTS.quorum },
  title: 'Leasehold quorum client',
  description: 'The state of a client: which replica it asks, and what waits for an answer. Read-only.',
  status: () => client.status(),
  metrics: () => familiesOf(CLIENT_METRICS, client.status()),
  events: { log: client.eventLog, schema: EVENT },
  // An idle client needs no connection, and is of use.
  checks: () => [
    {
      ...{ name: 'server', afterMs: 0 },
      standsStill: () => {
        const { waitsFor } = client.status();
        return waitsFor && `waits for ${waitsFor}`;
      },
    },
  ],
});

/** Of one client: a process that uses two of one cell cannot tell their figures apart. */
export const CLIENT_METRICS: readonly Metric<ClientStatus>[] = [
  gauge(
    'leasehold_quorum_client_connected',
    '1 while this client is connected to a replica, otherwise 0.',
    ({ isConnected }) => (isConnected ? 1 : 0),
  ),
  gauge(
    'leasehold_quorum_client_waiting',
    'Calls of this client that wait for an answer.',
    ({ waiting }) => waiting,
  ),
  gauge('leasehold_quorum_client_watches', 'Watches of this client.', ({ watches }) => watches),
];
