/**
 * A Manager that shares an etcd with others, or has a file for itself, with the default durations. It says when it
 * is elected, and when it has first answered an owner as the leader that it then is.
 */

import { startManager, type StartManagerOptions } from 'leasehold/manager';
import { obey, say, told } from '../processes/conversation.ts';

export type ManagerConfig = Pick<
  StartManagerOptions,
  'store' | 'listen' | 'name' | 'insecure' | 'firstStart'
>;

export interface ManagerView {
  readonly role: 'standby' | 'leading' | 'halted';
  readonly term: number;
  readonly members: number;
  /** Members that it has heard since it leads. */
  readonly heard: number;
  readonly lookups: number;
  readonly commits: number;
}

/** How finely the first answer is told in time. */
const LOOK_EVERY_MS = 2;

/** Updates sent to owners. Counted, not heard: a message that says who else leads is no answer. */
let answers = (): number => 0;
let looking: NodeJS.Timeout | undefined;

function awaitAnswer(): void {
  clearInterval(looking);
  const before = answers();
  looking = setInterval(() => {
    if (answers() === before) return;
    clearInterval(looking);
    say('answering');
  }, LOOK_EVERY_MS);
}

const manager = await startManager({
  ...told<ManagerConfig>(),
  logger: {
    debug: () => {},
    info: (message, facts) => {
      if (message === 'elected') awaitAnswer();
      if (message === 'elected' || message === 'deposed') say(message, { ...facts });
    },
    warn: (message, facts) => say('warned', { message, facts }),
    error: (message, facts) => say('warned', { message, facts }),
  },
});
// It may have been elected before it is in hand; by then nobody has been answered.
answers = () => manager.source.counters.updates;

obey({
  view: () => {
    const { role, term, owners, lookups } = manager.observe();
    const members = owners.filter(({ isMember }) => isMember);
    const view: ManagerView = {
      ...{ role, term, members: members.length, lookups: lookups.length },
      heard: members.filter(({ lastHeardAt }) => lastHeardAt !== undefined).length,
      commits: manager.source.counters.commits,
    };
    return { ...view };
  },
});
say('ready', { address: manager.address });
