/**
 * Membership, wrong by a line each time. A promise counts as checked once the mutants named for it are caught:
 * `npm run sim -- membership --mutants`.
 */

import type { Mutant } from '../../sim/simulation.ts';
import { registryMutants } from './registry-mutants.ts';

const CHAIN = 'membership/core/chain.ts';
const CLIENT = 'membership/core/client.ts';
const CLIENTS = 'membership/core/clients.ts';
const DIFFERENCE = 'membership/core/view-difference.ts';
const DOUBTS = 'membership/core/doubts.ts';
const FLOOD = 'membership/core/record-flood.ts';
const GRAPH = 'membership/core/graph.ts';
const HEARD = 'membership/core/heard-words.ts';
const LETTERS = 'membership/core/letters.ts';
const LINKS = 'membership/core/links.ts';
const MEMBER = 'membership/core/member.ts';
const OVERLAY = 'membership/core/overlay.ts';
const PROMISES = 'membership/core/promises.ts';
const REMOVAL = 'membership/core/removal.ts';
const SHARDS = 'membership/core/shards.ts';
const TABLE = 'membership/core/record-table.ts';
const VIEW = 'membership/core/view.ts';
const LEASE = 'membership/core/view-lease.ts';

export const mutants: readonly Mutant[] = [
  // Links, records and the graph.
  {
    name: 'link-proved-by-hearing',
    promise: 'liveness',
    story: 'A link counts as up while heartbeats arrive, although nothing passes the other way.',
    file: MEMBER,
    from: '    if (linkEcho !== undefined) {\n      this.#refute(linkEcho.incarnation, now);',
    to: '    link.prove(now);\n    if (linkEcho !== undefined) {\n      this.#refute(linkEcho.incarnation, now);',
  },
  {
    name: 'late-server-accuses',
    promise: 'views-last',
    story:
      'A server that waited for a processor takes its peers, which wait for the processor now, for silent.',
    file: LINKS,
    from: 'Math.min(downMs * (1 + this.#lateness), doubtMs);',
    to: 'Math.min(downMs, doubtMs + this.#lateness);',
  },
  {
    name: 'edge-by-one-side',
    promise: 'not-obsolete',
    story: 'A link that one side lists is an edge, so servers with the same records compute different sets.',
    file: GRAPH,
    from: 'return isSameIncarnation(incarnation, other.incarnation) && lists(other, one);',
    to: 'return isSameIncarnation(incarnation, other.incarnation);',
  },
  {
    name: 'no-repair',
    promise: 'liveness',
    story: 'A record that was lost on the way is never sent again.',
    file: FLOOD,
    from: "if (records.length > 0) this.#send(link.name, { kind: 'records', records });",
    to: '',
  },
  {
    name: 'repair-of-the-own-component-only',
    promise: 'liveness',
    story:
      'A server that restarted with a clock that went back is not told of its greater incarnation by those who have only its record.',
    file: TABLE,
    from: 'component.has(record.name) : isNewer(record, known);',
    to: 'component.has(record.name) : component.has(record.name) && isNewer(record, known);',
  },
  {
    name: 'digest-without-sequences',
    promise: 'liveness',
    story:
      'Servers that know the same processes by different records take their tables for equal, and repair nothing.',
    file: TABLE,
    from: 'const { incarnation, sequence } = record;',
    to: 'const { incarnation } = record;\n      const sequence = 0;',
  },
  {
    name: 'no-forwarding',
    promise: 'liveness',
    story: 'Packets for others are dropped, so a view over a cut link is never confirmed.',
    file: OVERLAY,
    from: 'if (hopsLeft > 0) this.#forward({ ...packet, hopsLeft: hopsLeft - 1 });',
    to: 'void hopsLeft;',
  },
  {
    name: 'no-refutation',
    promise: 'liveness',
    story:
      'A server that restarted with a lower incarnation keeps it, and everybody takes its records for old.',
    file: MEMBER,
    from: 'if (compareIncarnations(other, this.#incarnation) <= 0) return;',
    to: 'if (compareIncarnations(other, this.#incarnation) <= 1e99) return;',
  },
  {
    name: 'lower-incarnation-not-echoed',
    promise: 'liveness',
    story:
      'A server restarted with a clock that went back. A member that heard the process before echoes none of its stamps over the overlay.',
    file: HEARD,
    from: '!isSameIncarnation(incarnation, known.incarnation) || stamp > known.stamp)',
    to: 'incarnation.startedMs > known.incarnation.startedMs || (isSameIncarnation(incarnation, known.incarnation) && stamp > known.stamp))',
  },
  {
    name: 'old-records-accepted',
    promise: 'comes-to-an-end',
    story: 'A record is passed on although it is known, and goes around for ever.',
    file: MEMBER,
    from: 'if (record.name === this.name || !this.#table.isNews(record)) return;',
    to: 'if (record.name === this.name) return;',
  },
  // Agreement.
  {
    name: 'number-above-the-own-only',
    promise: 'ids-grow',
    story: 'A server that restarted proposes with a low number, and the id of the next view is lower.',
    file: MEMBER,
    from: 'const number = this.#table.greatestNumber + 1;',
    to: 'const number = (this.#proposal?.number ?? 0) + 1;',
  },
  {
    name: 'number-of-a-client-ignored',
    promise: 'ids-grow',
    story: 'A client moves to a server that has just started, and the ids of its views begin anew.',
    file: MEMBER,
    from: "if (message.kind === 'stamp' && message.greatestNumber <= CLIENT_NUMBER_MAX)",
    to: "if (message.kind === 'stamp' && message.greatestNumber <= 0 * CLIENT_NUMBER_MAX)",
  },
  {
    name: 'id-without-digest',
    promise: 'agreement',
    story: 'Two views on the two sides of a partition have the same numbers, and so the same id.',
    file: VIEW,
    from: 'const DIGEST_LENGTH = 16;',
    to: 'const DIGEST_LENGTH = 0;',
  },
  {
    name: 'delivered-before-all-agree',
    promise: 'agreement',
    story: 'A view is delivered as soon as every member has a record, whatever it proposes.',
    file: VIEW,
    from: 'if (records.some((record) => record?.proposal.key !== own.key)) return undefined;',
    to: '',
  },
  {
    name: 'old-proposal-delivered',
    promise: 'not-obsolete',
    story:
      'A server that is changing waits for its first proposal, although its records describe another set by now.',
    file: MEMBER,
    from: 'if (computed.key === this.#proposal?.key) break;',
    to: "if (computed.key === this.#proposal?.key || (this.#state.kind === 'changing' && this.#proposal !== undefined)) break;",
  },
  {
    name: 'removed-server-joins-the-rest',
    promise: 'self-inclusion',
    story: 'A server that a conflict takes out proposes the set that the others propose, without itself.',
    file: GRAPH,
    from: 'removed.has(name) ? new Set([name]) : this.component(name, removed);',
    to: 'removed.has(name) ? new Set([...component].filter((other) => !removed.has(other))) : this.component(name, removed);',
  },
  // Leases, promises and holds.
  {
    name: 'no-view-lease',
    promise: 'one-view-acts',
    story: 'A member acts in its view although the others no longer confirm it.',
    file: LEASE,
    from: 'return isLeased(this.#oldest, this.#leaseMs, now);',
    to: 'void [isLeased, now, this.#leaseMs];\n    return true;',
  },
  {
    name: 'lease-counted-from-the-answer',
    promise: 'one-view-acts',
    story: 'A confirmation counts from when it arrived, and outlasts the promise that it stands for.',
    file: MEMBER,
    from: '    this.#hearWord(from, word, now);\n',
    to: '    this.#hearWord(from, { ...word, echo: word.echo && { ...word.echo, stamp: now } }, now);\n',
  },
  {
    name: 'promise-as-long-as-the-lease',
    promise: 'one-view-acts',
    story: 'The promise is not longer by the clock-rate bound, so a slow lease holder outlasts it.',
    file: 'runtime/lease-time.ts',
    from: 'Math.ceil((leaseMs + suspensionToleranceMs) * CLOCK_RATE_BOUND)',
    to: 'Math.ceil(leaseMs + suspensionToleranceMs)',
  },
  {
    name: 'promise-counted-from-the-first',
    promise: 'one-view-acts',
    story: 'Only the first promise to a member counts, and not those that renewed it.',
    file: PROMISES,
    from: 'at: known === undefined ? heardAt : latest(known.at, heardAt)',
    to: 'at: known === undefined ? heardAt : latest(known.at, known.at)',
  },
  {
    name: 'no-hold',
    promise: 'one-view-acts',
    story: 'A new view acts at once, while a server that it leaves out still acts in the last one.',
    file: TABLE,
    from: 'if (kept !== undefined) overAt = latest(overAt, later(kept.proposedAt, kept.record.proposal.holdMs));',
    to: 'void [kept, latest, later];',
  },
  {
    name: 'own-hold-only',
    promise: 'one-view-acts',
    story: 'A server waits for its own promises, and not for those of the other members.',
    file: MEMBER,
    from: 'this.#table.holdsOverAt(view.members, now);',
    to: 'this.#table.holdsOverAt([this.id], now);',
  },
  {
    name: 'no-recovery-after-a-start',
    promise: 'one-view-acts',
    story:
      'A restarted process forgets the promises of the process before it, and acts beside those who rely on them.',
    file: PROMISES,
    from: 'let until = later(this.#rememberedSince, this.#promiseMs);',
    to: 'let until = later(now, 0 * (this.#rememberedSince + this.#promiseMs));',
  },
  {
    name: 'greater-incarnation-ends-a-promise',
    promise: 'one-view-acts',
    story:
      'A server restarts with a clock that went back. A member that promised it something hears of the greater incarnation of the process before, and acts without it at once.',
    file: PROMISES,
    from: 'return record?.hasLeft === true && isSameIncarnation(record.incarnation, incarnation);',
    to: 'return record !== undefined && (compareIncarnations(record.incarnation, incarnation) > 0 || (record.hasLeft && isSameIncarnation(record.incarnation, incarnation)));',
  },
  {
    name: 'promise-passes-to-the-later-process',
    promise: 'one-view-acts',
    story:
      'A server crashes while its client is cut off, restarts at once and leaves. The promise to the crashed process ends with it, and the client acts beside the next view.',
    file: PROMISES,
    from: 'const process = keyOf(to);',
    to: 'const process = name;',
  },
  {
    name: 'suspension-ignored',
    promise: 'one-view-acts',
    story: 'A suspended machine goes on with leases that its clock shows as valid.',
    file: MEMBER,
    from: "    if (this.#state.kind === 'left') return this.#take();\n    this.#promises.suspended(now);",
    to: "    if (this.#state.kind !== 'no-view') return this.#take();\n    this.#promises.suspended(now);",
  },
  {
    name: 'promises-forgotten-by-suspension',
    promise: 'one-view-acts',
    story: 'A suspended machine counts its promises by the clock that stood still, and the other way around.',
    file: PROMISES,
    from: '  suspended(now: Instant): void {\n    this.#rememberedSince = now;',
    to: '  suspended(now: Instant): void {\n    this.#given.clear();\n    this.#rememberedSince = later(now, -this.#promiseMs);',
  },
  {
    name: 'acts-after-leaving',
    promise: 'one-view-acts',
    story: 'A server says that it has left and goes on acting, and nobody holds for it.',
    file: MEMBER,
    from: "    this.#state = { kind: 'left' };\n",
    to: '',
  },
  // Continuing.
  {
    name: 'everybody-kept',
    promise: 'counted-once',
    story:
      'A member continues on behalf of members that came another way, and another server counts them too.',
    file: VIEW,
    from: "const isKept = record.name === self || (chainKey !== '' && chainKeyOf(chain) === chainKey);",
    to: "const isKept = record.name !== '' || (self !== '' && chainKeyOf(chain) === chainKey);",
  },
  {
    name: 'chain-of-the-last-view',
    promise: 'counted-once',
    story: 'The chain forgets the views before the last, in which another server had the right.',
    file: CHAIN,
    from: 'if (isHoldOver) return [{ key, members }];',
    to: 'if (isHoldOver || chain.length < 1e9) return [{ key, members }];',
  },
  {
    name: 'chain-begins-with-any-view',
    promise: 'counted-once',
    story: 'A process that remembers nothing begins a chain with a view whose hold was not over.',
    file: CHAIN,
    from: 'if (chain.length === 0 || chain.at(-1)?.key === key) return chain;',
    to: 'if (chain.at(-1)?.key === key) return chain;',
  },
  // The overlay.
  {
    name: 'conflicts-ignored',
    promise: 'fate-sharing',
    story: 'Two members that cannot reach each other stay in one view.',
    file: REMOVAL,
    from: 'if (worst === undefined) return removed;',
    to: 'if (worst === undefined || worst.length < 1e9) return removed;',
  },
  {
    name: 'unacknowledged-messages-not-doubted',
    promise: 'fate-sharing',
    story: 'A message that never arrives waits for ever in a view that goes on.',
    file: DOUBTS,
    from: 'yield* overlay.doubtedAfter(doubtMs, now);',
    to: 'void overlay;',
  },
  {
    name: 'send-fails-on-its-own',
    promise: 'fate-sharing',
    story: 'A message that was not acknowledged in time fails, although the view goes on.',
    file: MEMBER,
    from: 'doubted(sources, lease, now)) this.#doubt(member, now);',
    to: "doubted(sources, lease, now)) this.#failSends(member === undefined ? undefined : this.view, 'new-view');",
  },
  {
    name: 'packet-without-end',
    promise: 'comes-to-an-end',
    story: 'A packet that goes in circles is passed on for ever.',
    file: OVERLAY,
    from: 'this.#forward({ ...packet, hopsLeft: hopsLeft - 1 });',
    to: 'this.#forward({ ...packet, hopsLeft });',
  },
  {
    name: 'left-ignored',
    promise: 'not-obsolete',
    story: 'A server that says that it has left stays in the views of the others until its links are down.',
    file: GRAPH,
    from: 'if (other === undefined || one.hasLeft || other.hasLeft) return false;',
    to: 'if (other === undefined) return false;',
  },
  {
    name: 'acknowledged-by-the-next-server',
    promise: 'fate-sharing',
    story:
      'A server that forwards a message acknowledges it, although it may be lost on the rest of the way.',
    file: OVERLAY,
    from: '    const { hopsLeft } = packet;\n',
    to: "    const { hopsLeft, from, to, payload } = packet;\n    if (payload.kind === 'data') this.#forward({ ...packet, from: to, to: from, payload: { kind: 'acknowledgement', id: payload.id } });\n",
  },
  {
    name: 'repeated-message-handed-over',
    promise: 'handed-over-once',
    story: 'A message whose acknowledgement was lost is handed over again.',
    file: OVERLAY,
    from: 'if (id < received.oldestId || received.ids.has(id)) return false;',
    to: 'if (id < received.oldestId) return false;',
  },
  // Clients.
  {
    name: 'view-confirmed-before-clients-stop',
    promise: 'one-view-acts',
    story: 'A server goes over to the next view while its clients act in the last one.',
    file: CLIENTS,
    from: '    if (this.#awaited > 0 || now >= this.#provedUntil) return false;\n',
    to: '    if (this.#awaited >= 0) return now < this.#provedUntil;\n',
  },
  {
    name: 'client-counted-without-agreeing',
    promise: 'client-counted-once',
    story: 'A server counts a client that has moved in the meantime, because it is still in the list.',
    file: CLIENTS,
    from: 'if (this.#awaited > 0 || now',
    to: 'if (now',
  },
  {
    name: 'client-counted-without-proof',
    promise: 'client-counted-once',
    story: 'A server that is cut off goes on counting a client that was last heard long ago.',
    file: CLIENTS,
    from: 'if (this.#awaited > 0 || now >= this.#provedUntil) return',
    to: 'if (this.#awaited > 0) return',
  },
  {
    name: 'moved-client-counted-at-once',
    promise: 'client-counted-once',
    story:
      'A client that moves to the other side of a partition is counted there while the first side counts it.',
    file: CLIENT,
    from: 'return this.#countedBefore === undefined || this.#countedBefore.common.has(name);',
    to: "return this.#countedBefore === undefined || name !== '';",
  },
  {
    name: 'attachment-said-again-ends-its-lease',
    promise: 'one-view-acts',
    story:
      'A connection breaks, and only the server notices. The client says its attachment again, the server takes that for a new one, and the client acts beside the next view.',
    file: CLIENTS,
    from: '    // A client attaches itself anew only after giving up its leases.\n    this.#endLeases(client, client.count);',
    to: '    this.#endLeases(client, client.count + 1);',
  },
  {
    name: 'leases-of-two-processes-confused',
    promise: 'one-view-acts',
    story:
      'A second process under the name of a client detaches, and the lease of the first one counts as over.',
    file: CLIENTS,
    from: 'if (id !== undefined && isSameIncarnation(id.incarnation, incarnation) && id.count < below)',
    to: 'if (id !== undefined && incarnation !== undefined && id.count < below)',
  },
  {
    name: 'acknowledged-by-another-process',
    promise: 'one-view-acts',
    story:
      'A second process under the name of a client acknowledges a view, and the first one acts in the view before.',
    file: CLIENTS,
    from: 'if (before !== undefined && isSameIncarnation(before.incarnation, id.incarnation))',
    to: 'if (before !== undefined)',
  },
  {
    name: 'counted-client-forgets-where',
    promise: 'client-counted-once',
    story: 'A client that moves forgets which servers may still count it.',
    file: CLIENT,
    from: '    if (server.common !== undefined)\n',
    to: '    if (server.common === null)\n',
  },
  {
    name: 'suspended-client-forgets-where',
    promise: 'client-counted-once',
    story: 'A client that moves and is then suspended forgets which servers may still count it.',
    file: CLIENT,
    from: '    if (this.#countedBefore !== undefined) this.#countBefore(this.#countedBefore.common, now);\n',
    to: '    this.#countedBefore = undefined;\n',
  },
  {
    name: 'client-takes-an-answer-for-another-view',
    promise: 'one-view-acts',
    story: 'An answer that was given for the last view makes a client act.',
    file: CLIENT,
    from: 'if (leaseMs <= 0 || number !== server.number || ',
    to: 'if (leaseMs <= 0 || ',
  },
  {
    name: 'client-lease-counted-from-the-answer',
    promise: 'one-view-acts',
    story: 'A client counts its lease from when the answer arrived, and outlasts the lease of its server.',
    file: CLIENT,
    from: 'latest(this.#actsUntil, later(stamp, leaseMs));',
    to: 'latest(this.#actsUntil, later(now, 0 * stamp + leaseMs));',
  },
  {
    name: 'client-lease-as-long-as-a-lease',
    promise: 'one-view-acts',
    story: 'A server gives its clients a whole lease, and not the rest of its own.',
    file: CLIENTS,
    from: 'const leaseMs = actsUntil - now - suspensionToleranceMs;',
    to: 'const leaseMs = this.#durations.leaseMs + 0 * (actsUntil - now);',
  },
  {
    name: 'leaves-before-its-clients-stop',
    promise: 'one-view-acts',
    story: 'A server says that it has left, nobody holds for it, and its clients act.',
    file: MEMBER,
    from: 'if (this.hasLeft || now < this.#clients.drainedAt) return;',
    to: 'if (this.hasLeft) return;',
  },
  {
    name: 'difference-applied-to-another-base',
    promise: 'clients-agree',
    story: 'A client applies a difference to the view that it happens to hold.',
    file: CLIENT,
    from: '    if (difference.base !== undefined && difference.base !== server.number) return;\n',
    to: '',
  },
  {
    name: 'difference-without-those-that-are-gone',
    promise: 'clients-agree',
    story: 'A difference names new clients, and not those that are gone.',
    file: DIFFERENCE,
    from: 'clientsGone: gone(base.clients, next.clients),',
    to: 'clientsGone: gone(base.clients, base.clients),',
  },
  // The registry.
  {
    name: 'promise-during-a-change',
    promise: 'one-view-acts',
    story:
      'A server that proposes another set goes on confirming the last view, and the promises are younger than the hold in its proposal.',
    file: MEMBER,
    from: "const view = this.#state.kind === 'in-view' && isClear ? this.#state.lease.view : undefined;",
    to: "const view = isClear && this.#state.kind !== 'left' ? this.view : undefined;",
  },
  {
    name: 'tolerance-given-to-clients',
    promise: 'one-view-acts',
    story:
      'A server gives its clients the whole rest of its lease. Server and client are each suspended unnoticed, and the promise covers one suspension.',
    file: CLIENTS,
    from: 'const leaseMs = actsUntil - now - suspensionToleranceMs;',
    to: 'const leaseMs = actsUntil - now;',
  },
  {
    name: 'view-sent-once',
    promise: 'liveness',
    story: 'A view that was lost on the way to a client is not sent again.',
    file: CLIENTS,
    from: '    if (attached.holds !== this.#history.number && now - attached.viewSentAt >= stampMs / 2)\n      this.#sendView(attached, now);',
    to: '    void stampMs;',
  },
  {
    name: 'client-stays-with-a-silent-server',
    promise: 'liveness',
    story: 'A client waits for ever for a server that does not answer.',
    file: CLIENT,
    from: 'now - this.#server.answeredAt >= patienceMs) this.#detach(now);',
    to: 'now - this.#server.answeredAt >= 1e9 * patienceMs) this.#detach(now);',
  },
  {
    name: 'client-tries-one-server',
    promise: 'liveness',
    story: 'A client that lost its server tries the same one again and again.',
    file: CLIENT,
    from: '    this.#turn += 1;\n',
    to: '',
  },
  {
    name: 'list-not-gathered-again',
    promise: 'liveness',
    story: 'A client that moved may be counted by now, and its server does not list it.',
    file: CLIENTS,
    from: '    if (attached.isCountable !== isCountable) this.#change(now);\n',
    to: '',
  },
  // Shards.
  {
    name: 'shards-without-a-majority',
    promise: 'one-holder',
    story: 'Each side of a partition has a view that acts, and the owners of all shards.',
    file: SHARDS,
    from: 'maxServers === undefined || (2 * members > maxServers && members <= maxServers);',
    to: 'maxServers === undefined || members <= maxServers;',
  },
  {
    name: 'shards-held-while-continuing',
    promise: 'one-holder',
    story:
      'A server whose next view is confirmed takes the shards of a server that still acts on an earlier promise.',
    file: SHARDS,
    from: "if (view === undefined || standing !== 'acts' || ",
    to: "if (view === undefined || standing === 'none' || ",
  },
  // Messages with a client at one end or at both.
  {
    name: 'repeated-letter-handed-over',
    promise: 'handed-over-once',
    story: 'A client whose receipt was lost is sent the letter again, and hands it over again.',
    file: LETTERS,
    from: "    if (id < known.oldestId || known.ids.has(id)) return 'repeated';\n",
    to: '',
  },
  {
    name: 'letter-handed-over-in-a-later-view',
    promise: 'in-one-view',
    story: 'A letter that was long on its way is handed over in a view of other processes.',
    file: LETTERS,
    from: "    if (viewId !== presentId) return 'refused';\n",
    to: '',
  },
  {
    name: 'letter-acknowledged-and-not-handed-over',
    promise: 'fate-sharing',
    story: 'A client that is in another view, and hands nothing over, sends a receipt.',
    file: CLIENT,
    from: "    if (outcome === 'refused') return;\n",
    to: '',
  },
  {
    name: 'letter-acknowledged-by-a-server-between',
    promise: 'fate-sharing',
    story: 'The server of a client sends the receipt, and the letter is lost on the way to the client.',
    file: MEMBER,
    from: '    if (!isSameProcess(post.to, this.id)) this.#clients.passOn(post);\n',
    to: "    if (!isSameProcess(post.to, this.id)) {\n      if (this.#clients.passOn(post) && post.kind === 'letter') this.#deliverPost(receiptOf(post));\n    }\n",
  },
  ...registryMutants,
  {
    name: 'messages-repeated-by-the-next-incarnation',
    promise: 'handed-over-once',
    story:
      'A server that was suspended repeats, as a new incarnation, a message that was handed over before; its acknowledgement was lost.',
    file: 'membership/core/member.ts',
    from: '    this.#overlay.abandon();\n',
    to: '',
  },
];
