/** What happens to a member, in the log: once each, and by name. */

import { unreachable } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PeerTrouble } from '../acquaintances.ts';
import type { MemberEvent, SilenceReason } from '../member.ts';
import { clockOff, seconds, TROUBLE_WORDS } from '../wording.ts';

/** What is of interest beyond the one request or lease that it is about. */
export type Noteworthy = Extract<MemberEvent, { kind: 'silent' | 'speaking' | 'trouble' | 'settled' }>;

export class Diary {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  note(event: Noteworthy): void {
    const logger = this.#logger;
    switch (event.kind) {
      case 'silent':
        this.#silent(event.why, event.forMs);
        return;
      case 'speaking':
        logger.info('takes part in the group from here on');
        return;
      case 'settled':
        logger.info(`view ${event.view} is settled: those who are not in it are no longer needed`, {
          view: event.view,
        });
        return;
      case 'trouble':
        logger.warn(`trouble with member ${event.peer}: ${inWords(event.trouble)}`, { member: event.peer });
        return;
      default:
        unreachable(event);
    }
  }

  #silent(why: SilenceReason, forMs: number): void {
    const logger = this.#logger;
    switch (why) {
      case 'began':
        logger.info(
          `keeps silent for ${seconds(forMs)}: it may have forgotten what it promised before it was started`,
        );
        return;
      case 'clock-jumped':
        logger.warn(
          `the wall clock of this machine jumped: nothing is held any more, and it keeps silent for ${seconds(forMs)}`,
        );
        return;
      case 'odd-one-out':
        logger.error(
          'the clock of this machine is off from those of most other members: nothing is held here until that is mended',
        );
        return;
      case 'other-members':
        logger.error(
          'another member was started with other peers in the same view: this one keeps silent until they are the same',
        );
        return;
      default:
        unreachable(why);
    }
  }
}

function inWords(trouble: PeerTrouble): string {
  switch (trouble.why) {
    case 'other-group':
      return `it is of group ${JSON.stringify(trouble.group)}`;
    case 'not-a-member':
    case 'same-name':
    case 'other-members':
      return TROUBLE_WORDS[trouble.why];
    case 'other-durations':
      return `it has leaseMs ${trouble.leaseMs} and clockSkewMs ${trouble.clockSkewMs}; both must be the same everywhere`;
    case 'later-view':
      return `it is in view ${trouble.view}; move this member there as well`;
    case 'clock-off':
      return `${clockOff(trouble.bounds)}, which is more than clockSkewMs`;
    default:
      return unreachable(trouble);
  }
}
