/** `leasehold run` in a process: starts an owner, hands signals on to it, and tells the Manager when it has ended. */

import process from 'node:process';
import { silent, supervise } from 'leasehold/supervisor';
import { told } from '../processes/conversation.ts';
import type { RollingOwnerConfig } from './owner-process.ts';

export interface RollingSupervisorConfig extends RollingOwnerConfig {
  /** The bundle of the owner. */
  readonly program: string;
}

const { program, ...owner } = told<RollingSupervisorConfig>();
await supervise({
  ...{ command: process.execPath, args: [program, JSON.stringify(owner)] },
  ...{ managers: owner.managers, logger: silent },
});
process.exit();
