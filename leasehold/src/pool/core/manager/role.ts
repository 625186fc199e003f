/**
 * A Manager's answer to a client's probe: the history that the Manager leads, or none. The answer promises nothing.
 * `../history-watch.ts` compares the answers of several Managers.
 */

import type { Probe, Role } from '../messages.ts';

interface Answering {
  readonly do: 'send';
  readonly to: string;
  readonly message: Role;
}

export const leads = (to: string, { asker, round }: Probe, led: NonNullable<Role['leads']>): Answering => ({
  do: 'send',
  to,
  message: { kind: 'role', asker, round, leads: led },
});

export const leadsNone = (to: string, { asker, round }: Probe): Answering => ({
  ...{ do: 'send', to },
  message: { kind: 'role', asker, round, leads: undefined },
});
