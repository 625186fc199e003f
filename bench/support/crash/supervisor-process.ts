/** What `leasehold run` is inside: starts an owner, and tells the Manager of its death. */

import process from 'node:process';
import { type Logger, silent, supervise } from 'leasehold/supervisor';
import { say, told } from '../processes/conversation.ts';
import type { OwnerConfig } from './owner-process.ts';

export interface SupervisorConfig extends OwnerConfig {
  /** The bundle of the owner. */
  readonly program: string;
}

const { program, ...owner } = told<SupervisorConfig>();
const logger: Logger = {
  ...silent,
  info: (message) => {
    if (message === 'ended') say('reaped');
  },
};
const { death } = await supervise({
  ...{ command: process.execPath, args: [program, JSON.stringify(owner)] },
  ...{ managers: owner.managers, certifyForMs: 5_000, logger },
});
say('certified', { death });
process.exit();
