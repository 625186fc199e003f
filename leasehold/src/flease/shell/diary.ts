/** Writes the events of a member to the log: once each, and by name. */

import { unreachable } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PeerTrouble } from '../peer-table.ts';
import type { MemberEvent, RecoveryReason } from '../member.ts';
import { recoveryWords, troubleWords } from '../wording.ts';

/** The events that matter beyond the one request or lease that they are about. */
type Noteworthy = Extract<MemberEvent, { kind: 'recovering' | 'ready' | 'trouble' | 'settled' }>;

export class Diary {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  note(event: Noteworthy): void {
    const logger = this.#logger;
    switch (event.kind) {
      case 'recovering':
        this.#recovering(event.why, event.forMs);
        return;
      case 'ready':
        logger.info('ready: this member can acquire leases');
        return;
      case 'settled':
        logger.info(`view ${event.view} is settled: members outside this view are no longer needed`, {
          view: event.view,
        });
        return;
      case 'trouble':
        this.#trouble(event.peer, event.trouble);
        return;
      default:
        unreachable(event);
    }
  }

  #trouble(member: string, trouble: PeerTrouble): void {
    const line = `trouble with member ${member}: ${troubleWords(trouble)}`;
    // In every change of the group there is one that is started before the others move, or stopped after they have.
    if (trouble.why === 'not-a-member') this.#logger.info(line, { member });
    else this.#logger.warn(line, { member });
  }

  #recovering(why: RecoveryReason, forMs: number): void {
    const words = recoveryWords(why, forMs);
    switch (why) {
      case 'began':
        this.#logger.info(words);
        return;
      case 'clock-jumped':
        this.#logger.warn(words);
        return;
      case 'clock-outlier':
      case 'other-members':
      case 'earlier-view':
        this.#logger.error(words);
        return;
      default:
        unreachable(why);
    }
  }
}
