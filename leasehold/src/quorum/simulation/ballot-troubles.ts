/**
 * Troubles of leaders and candidates: ballots that follow each other quickly, each heard by a part of the members, so that logs keep entries of old
 * ballots and have gaps.
 *
 * Elections are rare by themselves: a pre-vote and a hold keep them so. Here members stand without asking. In each *episode* some directions of
 * some links work, a member stands, disks are slow, and members lose power in the middle of what they write:
 *
 *     episode   1: a leads, only b hears a      a: 7¹ 8¹   b: 7¹     c: –
 *               2: c stands, with a             a: 7² …    b: 7¹     c: 7²
 *               3: b stands, with a             which value has slot 7?
 */

import type { Storm, Trouble } from '../../sim/storm.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

export function ballotTroubles(quorum: QuorumWorld): Readonly<Record<string, Trouble<ReplicaNode>>> {
  return {
    transfer: (_, storm) => {
      const { leader, members } = quorum.operator;
      leader?.transfer(storm.random.pick(members).storage);
    },
    'new leader': (_, storm) => {
      const { leader } = quorum.operator;
      const { electionMs } = quorum.drawn.durations;
      if (leader !== undefined) storm.pause(leader, electionMs * storm.random.between(1, 5));
    },
    'changing majorities': (_, storm) => changeMajorities(quorum, storm),
  };
}

function changeMajorities(quorum: QuorumWorld, storm: Storm<ReplicaNode>): void {
  const { random, ground } = storm;
  const { electionMs } = quorum.drawn.durations;
  const episodes = random.integer(3, 12);
  const episodeMs = electionMs * random.pick([0.1, 0.3, 1]);
  const style = {
    cutChance: random.pick([0.2, 0.4, 0.6]),
    crashChance: random.pick([0, 0.2, 0.5]),
    stuckChance: random.pick([0, 0.3]),
    stands: random.pick([1, 1, 2]),
  };
  storm.stage(episodes * episodeMs);
  for (let episode = 0; episode < episodes; episode += 1)
    storm.after(episode * episodeMs, () => {
      const members = ground.victims();
      for (const from of members)
        for (const to of members)
          if (from !== to && random.chance(style.cutChance))
            storm.cut(quorum.replicas, from.storage, to.storage, episodeMs * random.between(0.5, 1), {
              dropInFlight: random.chance(0.3),
            });
      for (const candidate of random.shuffle(members).slice(0, style.stands))
        storm.after(episodeMs * random.between(0, 0.5), () => candidate.stand());
      for (const each of members) {
        if (random.chance(style.stuckChance)) each.stickDisk(ground.world.trueMs + episodeMs);
        if (random.chance(style.crashChance))
          storm.after(episodeMs * random.between(0, 1), () =>
            storm.crash(each, random.pick([0, 0, episodeMs])),
          );
      }
    });
}
