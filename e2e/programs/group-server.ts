/** A server of a group that reports views and messages, and sends on command. */

import { type GroupView, joinGroup, type JoinGroupOptions } from 'leasehold/membership';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';

/** All views of this process, by id: an application may ask about a view that is long over. */
const views = new Map<string, GroupView>();

try {
  const group = await joinGroup({
    ...told<JoinGroupOptions>(),
    logger,
    onView: (view) => {
      views.set(view.id, view);
      say('view', { id: view.id, members: view.members.join(), lost: view.lost.join() });
    },
    onPanic: () => say('panic'),
    onMessage: (from, bytes) => say('message', { from, text: new TextDecoder().decode(bytes) }),
    onEnd: (why) => say('ended', why === undefined ? {} : errorFacts(why)),
  });
  say('ready', { pid: process.pid });
  obey({
    standingIn: ({ id }: { id: string }) => {
      const view = views.get(id);
      return {
        isKnown: view !== undefined,
        standing: view && group.standing(view),
        members: group.view?.members.join(),
      };
    },
    state: ({ peer }: { peer: string }) => ({
      id: group.view?.id,
      members: group.view?.members.join(),
      standing: group.standing(),
      reach: group.reach(peer),
    }),
    send: async ({ to, text }: { to: string; text: string }) => {
      await group.send(to, new TextEncoder().encode(text));
      return {};
    },
    close: async () => {
      await group.close();
      return {};
    },
  });
} catch (error) {
  fail(error);
}
