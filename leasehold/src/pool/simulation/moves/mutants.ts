/** The rules of moves (`docs/design/moves.md`), wrong by one line each: `npm run sim -- moves --mutants`. */

import type { Mutant } from '../../../sim/simulation.ts';

const INCOMING = 'pool/core/moves/incoming.ts';
const OUTGOING = 'pool/core/moves/outgoing.ts';
const OWNER_MOVES = 'pool/core/moves/owner-moves.ts';
const HAND_OVERS = 'pool/core/moves/hand-overs.ts';
const TICKETS = 'pool/core/moves/tickets.ts';
const HOLDINGS = 'pool/core/owner/holdings.ts';
const LEASE_INDEX = 'pool/core/owner/lease-index.ts';
const DECISION = 'pool/core/manager/decision.ts';
const LEADER = 'pool/core/manager/leader.ts';
const POOL_MOVES = 'pool/core/manager/pool-moves.ts';
const TABLE = 'pool/core/table.ts';
const STATE = 'pool/core/state.ts';
const STICKY = 'pool/core/policy/sticky.ts';
const CARRIER = 'pool/simulation/moves/carrier.ts';
const CHAOS = 'pool/simulation/moves/moves-chaos.ts';

export const mutants: readonly Mutant[] = [
  {
    ...{ name: 'committed-on-the-targets-word', promise: 'one-owner', file: TICKETS },
    story: 'A move is committed when the target has everything, and the source serves on.',
    from: 'const { moving = [], receiving = [], handed = [], leaving } = report;',
    to: 'const { moving = [], receiving = [], leaving } = report;\n    const handed = [...(report.handed ?? []), ...moving.flatMap((one) => { const digest = this.#terms.sessions().get(one.to)?.report.receiving?.find(({ ticket }) => ticket === one.ticket)?.digest; return digest === undefined ? [] : [{ ...one, digest }]; })];',
  },
  {
    ...{ name: 'committed-on-the-sources-word', promise: 'needless-loss', file: HAND_OVERS },
    story: 'A move is committed although the target has not said that it has everything.',
    from: 'const isConfirmed = isFresh && isStaged(word, target);',
    to: 'const isConfirmed = isStaged !== undefined;',
  },
  {
    ...{ name: 'handed-keys-served', promise: 'one-owner', file: LEASE_INDEX },
    story: 'A source goes on serving what it has handed over.',
    from: "const isServed = phase === 'serving' || phase === 'stopping';",
    to: "const isServed = phase === 'serving' || phase === 'stopping' || phase === 'handed';",
  },
  {
    ...{ name: 'frozen-takes-late-writes', promise: 'nothing-missing', file: LEASE_INDEX },
    story: 'Work under way finishes after the last frame was made.',
    from: "if (isServed || phase === 'revoking') this.#usedUntil[row] = until;",
    to: "if (isServed || phase === 'revoking' || phase === 'frozen') this.#usedUntil[row] = until;",
  },
  {
    ...{ name: 'frozen-keys-served', promise: 'nothing-missing', file: LEASE_INDEX },
    story: 'Work begins and ends after the last frame was made.',
    from: "const isServed = phase === 'serving' || phase === 'stopping';",
    to: "const isServed = phase === 'serving' || phase === 'stopping' || phase === 'frozen';",
  },
  {
    ...{ name: 'failed-move-frees', promise: 'needless-loss', file: HAND_OVERS },
    story: 'Keys that cannot move are freed although their source remembers them.',
    from: "(verdict === 'free' ? free : renumber).push({ start: part.start, end: part.end });",
    to: "(verdict === 'wait' ? renumber : free).push({ start: part.start, end: part.end });",
  },
  {
    ...{ name: 'leaver-not-waited-for', promise: 'needless-loss', file: HAND_OVERS },
    story: 'The keys of a source that leaves are freed before the target could say that it has them.',
    from: "return isOver || isDenied ? 'free' : 'wait';",
    to: "return isOver || !isConfirmed || isDenied ? 'free' : 'wait';",
  },
  {
    ...{ name: 'void-ticket-committed', promise: 'no-loss-on-a-clean-move', file: HAND_OVERS },
    story: 'A ticket that this leader has withdrawn is committed, and the target has dropped the import.',
    from: 'const isOver = !isThere || !isWhole || isVoid;',
    to: 'const isOver = !isThere || !isWhole || (isVoid && !isWhole);',
  },
  {
    ...{ name: 'grant-without-import', promise: 'nothing-missing', file: HOLDINGS },
    story: 'A target takes keys that came by a ticket without the state that came with it.',
    from: 'if (ticket !== undefined && !imports.isComplete(ticket, { start, end }))',
    to: 'if (ticket !== undefined && imports.isComplete(ticket, { start: 0n, end: 0n }) && start === end)',
  },
  {
    ...{ name: 'import-discarded-after-confirming', promise: 'no-loss-on-a-clean-move', file: INCOMING },
    story: 'A target drops what it has confirmed as soon as the Manager knows of it.',
    from: 'if (live.has(ticket)) continue;',
    to: 'if (live.has(ticket) && digest === undefined) continue;',
  },
  {
    ...{ name: 'any-import-adopted', promise: 'nothing-revived', file: INCOMING },
    story: 'A grant without a ticket takes whatever is staged for the keys.',
    from: 'one.number === number && one.start < end && start < one.end)?.ticket;',
    to: 'one.number === number && one.start < end && start < one.end)?.ticket ?? [...this.#arrivals.values()].find(({ digest, expected }) => digest !== undefined && expected.start <= start && end <= expected.end)?.expected.ticket;',
  },
  {
    ...{ name: 'row-without-ticket', promise: 'nothing-missing', file: TABLE },
    story: 'The table forgets by which ticket keys came.',
    from: 'continues: [], ticket };',
    to: 'continues: [], ticket: ticket.slice(0, 0) || undefined };',
  },
  {
    ...{ name: 'snapshot-without-tickets', promise: 'nothing-missing', file: STATE },
    story: 'A snapshot forgets by which ticket keys came, and the next leader begins with it.',
    from: 'return row.ticket === undefined ? written : [...written, row.ticket];',
    to: 'return written;',
  },
  {
    ...{ name: 'dead-removed-before-hand-overs', promise: 'needless-loss', file: DECISION },
    story: 'A source that is gone is removed before what it and the target have said is committed.',
    from: 'const moved = facts.moves?.handOvers(afterJoins, most) ?? NO_HAND_OVERS;',
    to: 'const moved = facts.moves?.handOvers(afterJoins.apply(leaves(table, facts.whyGone), position), most) ?? NO_HAND_OVERS;',
  },
  {
    ...{ name: 'certificate-forgets-words', promise: 'needless-loss', file: TICKETS },
    story: 'With a dead process the leader forgets that the process had handed keys over.',
    from: 'if (heard === undefined) continue;',
    to: 'if (heard === undefined || !this.#terms.sessions().has(from)) continue;',
  },
  {
    ...{ name: 'ticket-dropped-before-the-commit', promise: 'no-loss-on-a-clean-move', file: LEADER },
    story: 'The target is no longer told of a ticket while its move is being written, and drops the import.',
    from: 'moves: (session, table) => this.#moves.newsFor(session, table),',
    to: 'moves: (session, table) => this.#moves.newsFor(session, this.#pending.inFlight?.next.pool(session.pool) ?? table),',
  },
  {
    ...{ name: 'leader-adopts-nothing', promise: 'needless-loss', file: TICKETS },
    story: 'A new leader takes over no tickets, so the target drops what both have said.',
    from: 'if (known !== undefined || this.#void.has(ticket)) return;',
    to: 'if (known === undefined || this.#void.has(ticket)) return;',
  },
  {
    ...{ name: 'leaver-releases-what-it-handed', promise: 'needless-loss', file: HOLDINGS },
    story: 'An owner that leaves releases what it has handed over, too.',
    from: "return piece.phase === 'lapsed' ? released(piece, transitions) : piece;",
    to: "return piece.phase === 'lapsed' || piece.phase === 'handed' ? released(piece, transitions) : piece;",
  },
  {
    ...{ name: 'moved-keys-told-as-lost', promise: 'needless-loss', file: HOLDINGS },
    story: 'The application of the source is told that keys are lost which another owner has.',
    from: "if (part.phase === 'handed') transitions.departed.push(plain(part));\n  return undefined;",
    to: "if (part.phase === 'handed') transitions.dropped.push(plain(part));\n  return undefined;",
  },
  {
    ...{ name: 'returned-keys-stay-handed', promise: 'settles', file: HOLDINGS },
    story: 'A source that is given its keys back does not serve them.',
    from: "else if (phase === 'handed') transitions.returned.push(plain(next));",
    to: "else if (phase === 'handed') return next;",
  },
  {
    ...{ name: 'leaves-with-an-import', promise: 'no-loss-on-a-clean-move', file: OWNER_MOVES },
    story: 'An owner that drains leaves while the keys that it has confirmed may be committed to it.',
    from: 'this.#holdings.pieces.length === 0 && this.#incoming.isEmpty;',
    to: 'this.#holdings.pieces.length === 0;',
  },
  {
    ...{ name: 'drains-as-a-candidate', promise: 'settles', file: OWNER_MOVES },
    story: 'An owner that drains and is no member waits for its own name.',
    from: 'if (!admitted) return true;',
    to: 'if (!admitted) return false;',
  },
  {
    ...{ name: 'drain-taken-back-beside-a-successor', promise: 'settles', file: POOL_MOVES },
    story: 'Two members with one name stay, because nobody asks the earlier one to drain.',
    from: "const asked = hasSuccessor(incarnation, table.members) ? 'draining' : ordered;",
    to: "const asked = hasSuccessor(incarnation, new Map()) ? 'draining' : ordered;",
  },
  {
    ...{ name: 'drains-to-drainers', promise: 'settles', file: STICKY },
    story: 'The keys of an owner that drains belong to another one that drains.',
    from: "const isTarget = ({ intent = 'stay' }: PolicyMember): boolean => intent === 'stay';",
    to: "const isTarget = ({ intent = 'stay' }: PolicyMember): boolean => intent !== 'cordoned';",
  },
  {
    ...{ name: 'keys-of-a-mover-recalled', promise: 'no-loss-on-a-clean-move', file: POOL_MOVES },
    story: 'A new leader asks keys back from an owner of which it has not heard yet that it moves state.',
    from: 'return session === undefined || session.report.transfer !== undefined;',
    to: 'return session?.report.transfer !== undefined;',
  },
  {
    ...{ name: 'form-not-compared', promise: 'nothing-missing', file: TICKETS },
    story: 'Keys move to an owner that cannot read the form of their state.',
    from: 'return open.has(to) && source !== undefined && target !== undefined && canTake(source, target);',
    to: 'return open.has(to) && source !== undefined && target !== undefined && (canTake(source, target) || open.has(to));',
  },
  {
    ...{ name: 'lapse-of-a-drainer-freed', promise: 'needless-loss', file: DECISION },
    story: 'Keys that lapsed at an owner that drains are freed although it remembers them.',
    from: "(how === 'released' || report.leaving ? free : renumber).push({ start, end });",
    to: "(how === 'released' || givesUp(report) ? free : renumber).push({ start, end });",
  },
  {
    ...{ name: 'write-not-captured', promise: 'nothing-missing', file: CARRIER },
    story: 'The stream of a move does not note what is written meanwhile.',
    from: 'if (stream.keys.includes(key)) stream.dirty.add(key);',
    to: 'if (stream.keys.includes(-1)) stream.dirty.add(key);',
  },
  {
    ...{ name: 'delete-not-captured', promise: 'nothing-revived', file: CARRIER },
    story: 'The stream of a move does not note what is deleted meanwhile.',
    from: 'this.#touched(key);\n',
    to: 'if (version !== undefined) this.#touched(key);\n',
  },
  {
    ...{ name: 'restart-keeps-the-old-stage', promise: 'nothing-revived', file: CARRIER },
    story: 'A new attempt does not empty the stage of the one before.',
    from: "stage.digest = '';\n      stage.items = new Map();",
    to: "stage.digest = '';",
  },
  {
    ...{ name: 'late-frame-applied', promise: 'nothing-missing', file: CARRIER },
    story: 'A frame that comes once more, late, overwrites what came after it.',
    from: 'if (stage.isComplete || frame.sequence !== stage.next) return;',
    to: 'if (frame.sequence < stage.next) for (const item of frame.items) stage.items.set(item[0], item);\n    if (stage.isComplete || frame.sequence !== stage.next) return;',
  },
  {
    ...{ name: 'delete-not-sent', promise: 'nothing-revived', file: CARRIER },
    story: 'Frames have what is there, and say nothing of what was deleted.',
    from: 'const frame = { sequence: stream.frames.length + 1, items, isLast };',
    to: 'const frame = { sequence: stream.frames.length + 1, items: items.filter(([, version]) => version !== undefined), isLast };',
  },
  {
    ...{ name: 'failed-move-forgets', promise: 'nothing-missing', file: CARRIER },
    story:
      'A source forgets what it has handed over before the table has answered, and is given the keys back.',
    from: '} else this.#streams.delete(effect.ticket);',
    to: "} else {\n      this.#streams.delete(effect.ticket);\n      if (effect.do === 'handed') for (const key of stream.keys) this.store.set([key, undefined]);\n    }",
  },
  {
    ...{ name: 'staged-keeps-old-number', promise: 'nothing-missing', file: HOLDINGS },
    story: 'What was staged is not made the state of the number under which the keys arrive.',
    from: 'transitions.taken.push({ start, end, number, ticket });',
    to: 'transitions.taken.push({ start, end: start, number, ticket });',
  },
  {
    ...{ name: 'abandoned-ticket-handed', promise: 'one-owner', file: OUTGOING },
    story:
      'A source says `handed` before the target has acknowledged, and serves on when no acknowledgement comes.',
    from: 'return { moving, handed: [...this.#words.values()] };',
    to: "const early = [...this.#departures.values()].flatMap(({ order, phase, digest }) => (phase === 'frozen' && digest !== undefined ? [{ ...order, digest }] : []));\n    return { moving, handed: [...this.#words.values(), ...early] };",
  },
  {
    ...{ name: 'arriving-served-after-a-lapse', promise: 'arrival-first', file: HOLDINGS },
    story:
      'Keys that lapse while the application takes them up are served, under the next number, as if it had.',
    from: "if (phase === 'lapsed' && next.ticket !== undefined) {",
    to: "if (phase === 'lapsed' && next.ticket !== undefined && next.start === next.end) {",
  },
  {
    ...{ name: 'arriving-served-at-once', promise: 'arrival-first', file: LEASE_INDEX },
    story: 'Keys are served as soon as they are granted, while the application takes up what it was brought.',
    from: "const isServed = phase === 'serving' || phase === 'stopping';",
    to: "const isServed = phase === 'serving' || phase === 'stopping' || phase === 'arriving';",
  },
  {
    ...{ name: 'clock-beyond-the-bound', promise: 'one-owner', file: CHAOS },
    story:
      'Clocks are further apart than the toolkit allows, so that a lease outlasts its hold: the worlds must show it.',
    from: 'rateSpread: dice.chance(0.3) ? 1 : Math.min(drawn.rate, CLOCK_RATE_BOUND),',
    to: 'rateSpread: dice.chance(0.3) ? 1 : 2 * Math.min(drawn.rate, CLOCK_RATE_BOUND),',
  },
];
