/** Tells the events of a member to the log and to readers of `events()`: once each, and by name. */

import type { HandleEvents } from '../../node/service/handle-events.ts';
import { unreachable } from '../../runtime/assert.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PeerTrouble } from '../core/peer-table.ts';
import type { MemberEvent } from '../core/member.ts';
import type { RecoveryReason } from '../core/wording.ts';
import { recoveryWords, troubleWords } from '../core/wording.ts';

/** The events that matter beyond the one request or lease that they are about. */
type Noteworthy = Extract<MemberEvent, { kind: 'recovering' | 'ready' | 'trouble' | 'settled' }>;

export class Diary {
  readonly #logger: Logger;
  readonly #events: Pick<HandleEvents<'flease'>, 'tell'>;

  constructor(logger: Logger, events: Pick<HandleEvents<'flease'>, 'tell'>) {
    this.#logger = logger;
    this.#events = events;
  }

  note(event: Noteworthy): void {
    const logger = this.#logger;
    switch (event.kind) {
      case 'recovering':
        this.#recovering(event.why, event.forMs);
        return;
      case 'ready':
        logger.info('ready: this member can acquire leases');
        this.#events.tell('flease.ready');
        return;
      case 'settled':
        logger.info(`view ${event.view} is settled: members outside this view are no longer needed`, {
          view: event.view,
        });
        this.#events.tell('flease.settled', { peersVersion: event.view });
        return;
      case 'trouble':
        this.#trouble(event.peer, event.trouble);
        return;
      default:
        unreachable(event);
    }
  }

  #trouble(member: string, trouble: PeerTrouble): void {
    const words = troubleWords(trouble);
    const line = `trouble with member ${member}: ${words}`;
    // In every change of the group there is one that is started before the others move, or stopped after they have.
    if (trouble.why === 'not-a-member') this.#logger.info(line, { member });
    else this.#logger.warn(line, { member });
    this.#events.tell('flease.trouble', { peer: member, why: trouble.why, words });
  }

  #recovering(why: RecoveryReason, forMs: number): void {
    const words = recoveryWords(why, forMs);
    this.#events.tell('flease.recovering', { why, words });
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
