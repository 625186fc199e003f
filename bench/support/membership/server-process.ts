/** A server of the group that is measured, as a process, which can also run the detector that the group is measured beside. */

import process from 'node:process';
import { joinGroup, type JoinGroupOptions, silent } from 'leasehold/membership';
import { nowMs, obey, say, told } from '../processes/conversation.ts';
import { Swim } from './swim.ts';

export interface ServerConfig extends Pick<JoinGroupOptions, 'name' | 'listen' | 'peers'> {
  /** The ports of the detectors of all servers. */
  readonly swim: Readonly<Record<string, number>>;
}

const LOOK_EVERY_MS = 2;

const { swim: members, ...options } = told<ServerConfig>();
const { name } = options;
let swim: Swim | undefined;
let looking: NodeJS.Timeout | undefined;

const group = await joinGroup({
  ...options,
  logger: silent,
  onView: (view) => {
    say('view', { size: view.members.length });
    clearInterval(looking);
    looking = setInterval(() => {
      if (group.standing(view) !== 'acts') return;
      clearInterval(looking);
      say('acts', { size: view.members.length, actedAtMs: nowMs() });
    }, LOOK_EVERY_MS);
  },
});

obey({
  /** Begins anew, with every server alive. */
  startSwim: () => {
    swim?.[Symbol.dispose]();
    swim = new Swim({
      name,
      port: members[name] ?? 0,
      members,
      onDead: (dead) => say('dead', { name: dead }),
    });
    return {};
  },
  stopSwim: () => {
    swim?.[Symbol.dispose]();
    swim = undefined;
    return {};
  },
  traffic: () => ({ ...group.traffic, atMs: nowMs(), swim: { ...swim?.sent } }),
});
say('ready', { pid: process.pid });
