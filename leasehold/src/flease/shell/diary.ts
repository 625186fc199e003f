/** What happens to a member, in the log: once each, and by name. */

import { unreachable } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PeerTrouble } from '../acquaintances.ts';
import type { MemberEvent, SilenceReason } from '../member.ts';
import { silenceWords, troubleWords } from '../wording.ts';

/** What is of interest beyond the one request or lease that it is about. */
type Noteworthy = Extract<MemberEvent, { kind: 'silent' | 'speaking' | 'trouble' | 'settled' }>;

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

  #silent(why: SilenceReason, forMs: number): void {
    const words = silenceWords(why, forMs);
    switch (why) {
      case 'began':
        this.#logger.info(words);
        return;
      case 'clock-jumped':
        this.#logger.warn(words);
        return;
      case 'odd-one-out':
      case 'other-members':
      case 'earlier-view':
        this.#logger.error(words);
        return;
      default:
        unreachable(why);
    }
  }
}
