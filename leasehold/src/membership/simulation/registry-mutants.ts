/** A group registered in etcd, wrong by a line each time. `mutants.ts` has the rest. */

import type { Mutant } from '../../sim/simulation.ts';

const AGREEMENT = 'membership/core/agreement/by-registry.ts';
const CLIENTS = 'membership/core/clients.ts';
const DOUBTS = 'membership/core/doubts.ts';
const KEEPER = 'membership/etcd/keeper.ts';
const MEMBER = 'membership/core/member.ts';

export const registryMutants: readonly Mutant[] = [
  {
    name: 'hold-ends-without-a-read',
    promise: 'one-view',
    story:
      'A server acts when its hold is over, on a read from before etcd was put back from a backup, in which another server is registered.',
    file: AGREEMENT,
    from: 'return holds ? NEVER : this.#registeredUntil;',
    to: 'return holds ? this.#registeredUntil : this.#registeredUntil;',
  },
  {
    name: 'confirms-without-a-registration',
    promise: 'one-view',
    story:
      'A server whose hold is over confirms a view before it has read the registry again, and another server acts on that confirmation.',
    file: MEMBER,
    from: 'const isClear = this.#clients.isClear(now) && now < this.#agreement.actsUntil;',
    to: 'const isClear = this.#clients.isClear(now);',
  },
  {
    name: 'store-that-went-back-believed',
    promise: 'one-view',
    story:
      'A server reads that it alone is registered, in a store that was put back to a time before another server joined, which acts.',
    file: AGREEMENT,
    from: 'return !wentBack && !hasGap &&',
    to: 'return (wentBack || !wentBack) && !hasGap &&',
  },
  {
    name: 'registration-counted-from-the-answer',
    promise: 'one-view',
    story:
      'A server counts its registration from when the answer to a read arrived, and outlasts the hold of its successor.',
    file: KEEPER,
    from: 'this.#hearing((found) => this.#looked(found, sentAt)),',
    to: 'this.#hearing((found) => this.#looked(found, runtime.now() + 0 * sentAt)),',
  },
  {
    name: 'registration-outlasts-the-clock',
    promise: 'one-view',
    story: 'A server that reads nothing any more goes on acting.',
    file: AGREEMENT,
    from: 'return this.isRegistered ? later(this.#readSentAt, this.#durations.registrationMs) : NEVER;',
    to: 'return this.isRegistered ? later(this.#readSentAt, 1e9 * this.#durations.registrationMs) : NEVER;',
  },
  {
    name: 'keep-alive-counts-as-a-read',
    promise: 'one-view',
    story:
      'A keep-alive prolongs a registration. An etcd member that was replaced answers it, though the lease has ended.',
    file: KEEPER,
    from: '        if (isGone) wanted.hasFailed = true;\n',
    to: '        if (isGone) wanted.hasFailed = true;\n        else if (answer.kind === "done" && this.#last !== undefined) this.#events.read(this.#last, this.#options.runtime.now());\n',
  },
  {
    name: 'first-registration-does-not-hold',
    promise: 'one-view',
    story: 'A server that registers acts at once, while one acts whose registration ended before.',
    file: AGREEMENT,
    from: 'this.#holdUntil = later(now, this.#durations.registrationHoldMs);',
    to: 'this.#holdUntil = later(now, 0 * this.#durations.registrationHoldMs);',
  },
  {
    name: 'registration-held-for-a-promise-only',
    promise: 'one-view',
    story: 'A server that registers waits for as long as promises last, and registrations last longer.',
    file: AGREEMENT,
    from: 'this.#holdUntil = later(now, this.#durations.registrationHoldMs);',
    to: 'this.#holdUntil = later(now, this.#durations.promiseMs);',
  },
  {
    name: 'registered-servers-within-reach-only',
    promise: 'not-obsolete',
    story: 'A server proposes the registered servers that it reaches, and the two sides of a partition act.',
    file: AGREEMENT,
    from: '(this.#registry?.registrations ?? []).map(({ name, incarnation }) =>',
    to: '(this.#registry?.registrations ?? []).filter((each) => each.name === self.name || isReached(each, table.graph.component(self.name), table)).map(({ name, incarnation }) =>',
  },
  {
    name: 'entry-of-another-incarnation-is-the-own',
    promise: 'not-obsolete',
    story: 'A server finds its name in the registry, and does not look which process registered.',
    file: AGREEMENT,
    from: 'const found = registry.registrations.find((each) => isSame(each, self));',
    to: 'const found = registry.registrations.find((each) => each.name === self.name);',
  },
  {
    name: 'removed-server-keeps-its-registration',
    promise: 'liveness',
    story: 'A server that has to go for a conflict stays registered, and no view can be agreed on.',
    file: AGREEMENT,
    from: 'return now >= this.#registeredUntil || hasToGo;',
    to: 'return now >= this.#registeredUntil || (hasToGo && false);',
  },
  {
    name: 'out-of-reach-not-doubted',
    promise: 'liveness',
    story: 'Registered servers that cannot reach each other wait for each other for ever.',
    file: DOUBTS,
    from: 'if (registry !== undefined) yield*',
    to: 'if (registry === null) yield*',
  },
  {
    name: 'registers-whoever-is-out-of-reach',
    promise: 'liveness',
    story:
      'A server registers although it cannot reach the others, again and again, and stops them each time.',
    file: AGREEMENT,
    from: '      !isReached(other, component, table) ||\n',
    to: '',
  },
  {
    name: 'ended-lease-tried-for-ever',
    promise: 'liveness',
    story:
      'The lease of a server ended before its entry was put. The server tries to put it under that lease for ever.',
    file: AGREEMENT,
    from: 'return registry.failed === undefined || !isSameIncarnation(registry.failed, self.incarnation);',
    to: 'return isSameIncarnation(self.incarnation, self.incarnation);',
  },
  {
    name: 'view-goes-on-in-a-conflict',
    promise: 'fate-sharing',
    story:
      'A message is not acknowledged, and the view goes on until the receiver is gone from the registry, if ever.',
    file: AGREEMENT,
    from: 'if (!this.isRegistered || this.#removed(table).size > 0) return NO_MEMBERS;',
    to: 'if (!this.isRegistered) return NO_MEMBERS;',
  },
  {
    name: 'unregistered-server-keeps-its-clients',
    promise: 'liveness',
    story: 'A server outside the registry answers its clients, and they do not go to a server that acts.',
    file: CLIENTS,
    from: 'if (!this.#server.isOfUse()) return;',
    to: 'void this.#server;',
  },
  {
    name: 'clients-outlast-the-registration',
    promise: 'one-view',
    story: 'A server gives its clients leases that last longer than its registration.',
    file: MEMBER,
    from: 'return earliest(until, this.#agreement.actsUntil);',
    to: 'return until;',
  },
  {
    name: 'oldest-holds-only-alone',
    promise: 'one-view',
    story:
      'The oldest of several registered servers does not hold, though all of them registered after the last read of a server that acts.',
    file: AGREEMENT,
    from: 'return own !== undefined && all.every(({ revision }) => revision >= own.revision);',
    to: 'return own !== undefined && all.length === 1 && all.every(({ revision }) => revision >= own.revision);',
  },
];
