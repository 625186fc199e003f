/**
 * The log lines of Managers that elect each other: no Manager can be elected, because too few members answer, with the reason
 * of each; and that enough members answer again. Not at once: while members are restarted one after the other, there is no
 * majority for as long as one of them recovers.
 */

import type { NoMajorityDetails } from '../../../flease/core/errors.ts';
import type { EpisodeLog } from '../../../runtime/episode-log.ts';

export interface MajorityLines {
  missed(details: Pick<NoMajorityDetails, 'reasons'>): void;
  heard(): void;
}

const NO_MAJORITY = 'no majority of the electing members answers, so no Manager can lead';

export const majorityLines = (episodes: EpisodeLog, afterMs: number): MajorityLines => ({
  missed: ({ reasons }) => {
    const why = Object.entries(reasons)
      .map(([member, reason]) => `${member} (${reason})`)
      .join(', ');
    episodes.met(NO_MAJORITY, { why }, afterMs);
  },
  heard: () => episodes.over(NO_MAJORITY, 'a majority of the electing members answers again'),
});
