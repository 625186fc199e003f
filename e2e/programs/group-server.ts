/** A server of a group that reports views and messages, and sends on command. */

import { joinGroup, type JoinGroupOptions, type View } from 'leasehold/membership';
import { chooseClocks, type ClockChoice } from './clocks.ts';
import { errorFacts, fail, logger, nowMs, obey, say, told } from './conversation.ts';

const LOOK_EVERY_MS = 5;
/** So many bytes of messages may wait, each message with 256 more (`docs/membership.md`). */
const WAITING_BYTES = 2 * 1024 * 1024;
/** A look that comes so much later tells of a process that could not run: a part of the time after which peers take it for dead. */
const STALL_MS = 300;

/** All views of this process, by id: an application may ask about a view that is long over. */
const views = new Map<string, View>();

const { clocks, ...options } = told<JoinGroupOptions & { clocks?: ClockChoice }>();
chooseClocks(clocks);

try {
  const group = await joinGroup({
    ...options,
    logger,
    onView: (view) => {
      views.set(view.id, view);
      say('view', { id: view.id, members: view.members.join(), lost: view.lost.join() });
    },
    onNoView: () => say('no-view'),
    onMessage: (from, bytes) => say('message', { from, text: new TextDecoder().decode(bytes) }),
  });
  void group.closed.then((why) => say('ended', why === undefined ? {} : errorFacts(why)));
  say('ready', { pid: process.pid });
  // Each stretch of time in which this server acted in one view, from the first look to the last, by the clock that all processes of a machine share.
  let stretch:
    | { readonly id: string; readonly members: string; readonly fromMs: number; toMs: number }
    | undefined;
  let lookedMs = nowMs();
  setInterval(() => {
    const { view } = group;
    const [atMs, acts] = [nowMs(), group.standing(view) === 'acts'];
    if (atMs - lookedMs > STALL_MS) say('stalled', { ms: atMs - lookedMs });
    lookedMs = atMs;
    if (stretch !== undefined && acts && stretch.id === view?.id) {
      stretch.toMs = atMs;
      return;
    }
    if (stretch !== undefined) say('acted', { ...stretch });
    stretch =
      acts && view !== undefined
        ? { id: view.id, members: view.members.join(), fromMs: atMs, toMs: atMs }
        : undefined;
  }, LOOK_EVERY_MS);
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
      problem: group.status().peers.find(({ name }) => name === peer)?.problem,
    }),
    send: async ({ to, text }: { to: string; text: string }) => {
      await group.send(to, new TextEncoder().encode(text));
      return { atMs: nowMs() };
    },
    /** As many messages at once as may wait: large ones, and then small ones, which count for little. */
    flood: async ({ to, rounds }: { to: string; rounds: number }) => {
      for (let round = 0; round < rounds; round += 1) {
        const bytes = round % 2 === 0 ? 64 * 1_024 : 0;
        const sends = Array.from({ length: Math.floor(WAITING_BYTES / (bytes + 256)) }, () =>
          group.send(to, new Uint8Array(bytes)),
        );
        await Promise.all(sends);
      }
      return { sent: group.status().counters.messagesSent };
    },
    acting: () => ({ ...stretch }),
    close: async () => {
      await group.close();
      return {};
    },
  });
} catch (error) {
  fail(error);
}
