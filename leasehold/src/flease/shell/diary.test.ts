import { describe, expect, it } from 'vitest';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import type { PeerTrouble } from '../core/peer-table.ts';
import { Diary } from './diary.ts';

describe('trouble with a member', () => {
  it.each<[PeerTrouble, string]>([
    [{ why: 'same-name' }, 'warn'],
    [{ why: 'later-view', view: 8 }, 'warn'],
    [{ why: 'other-group', group: 'night' }, 'warn'],
    // As in every change of the group, at the member that is started first and at the member that is stopped last.
    [{ why: 'not-a-member' }, 'info'],
  ])('is %o: %s', (trouble, level) => {
    const logger = listeningLogger();
    new Diary(logger, { tell: () => {} }).note({ kind: 'trouble', peer: 'ben', trouble });
    expect(logger.lines).toMatchObject([
      { level, message: expect.stringMatching(/^trouble with member ben: /), member: 'ben' },
    ]);
  });
});
