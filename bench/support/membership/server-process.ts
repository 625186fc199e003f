/** One or several servers of the group that is measured, in one process. Each can also run the detector that the group is measured beside. */

import process from 'node:process';
import { type GroupMember, joinGroup, type JoinGroupOptions, silent } from 'leasehold/membership';
import { nowMs, obey, say, told } from '../processes/conversation.ts';
import { Swim } from './swim.ts';

export interface ProcessConfig {
  readonly servers: readonly Pick<JoinGroupOptions, 'name' | 'listen' | 'peers' | 'etcd'>[];
  /** The ports of the detectors of all servers. */
  readonly swim: Readonly<Record<string, number>>;
}

const LOOK_EVERY_MS = 2;

const { servers, swim: members } = told<ProcessConfig>();
const groups: GroupMember[] = [];
let detectors: Swim[] = [];

for (const options of servers) {
  const { name } = options;
  let looking: NodeJS.Timeout | undefined;
  const group = await joinGroup({
    ...options,
    logger: silent,
    onView: (view) => {
      say('view', { server: name, size: view.members.length });
      clearInterval(looking);
      looking = setInterval(() => {
        if (group.standing(view) !== 'acts') return;
        clearInterval(looking);
        say('acts', { server: name, size: view.members.length });
      }, LOOK_EVERY_MS);
    },
  });
  groups.push(group);
}

const stopSwim = () => {
  for (const swim of detectors) swim[Symbol.dispose]();
  detectors = [];
  return {};
};

const sum = (each: readonly { readonly messages: number; readonly bytes: number }[]) => ({
  messages: each.reduce((total, { messages }) => total + messages, 0),
  bytes: each.reduce((total, { bytes }) => total + bytes, 0),
});

obey({
  /** Begins anew, with every server alive. */
  startSwim: () => {
    stopSwim();
    detectors = servers.map(({ name }) => {
      const onDead = (dead: string): void => say('dead', { server: name, name: dead });
      return new Swim({ name, port: members[name] ?? 0, members, onDead });
    });
    return {};
  },
  stopSwim,
  traffic: () => ({
    ...sum(groups.map(({ traffic }) => traffic)),
    atMs: nowMs(),
    swim: sum(detectors.map(({ sent }) => sent)),
  }),
});
say('ready', { pid: process.pid });
