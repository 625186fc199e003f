/**
 * The accounts of one process with its peers, over direct links and, where one of those is cut, over the overlay of the group.
 *
 *                 four sendings without acknowledgement, or the peer says `settle`
 *     direct ──────────────────────────────────────────────────────────────────────► blacklisted
 *        ▲                                                                              │ settles what is out, over the overlay
 *        └────────────── a probe over the direct link was answered ◄────────────────────┘ probes every 5 s
 *
 * A transfer that is not acknowledged within two epochs is sent again. A blacklisted peer is given nothing, so its account stands still and can be
 * settled by one question and one answer, repeated until they get through. The overlay shares the fate of the view: if the question never
 * gets through, the group makes a view without the peer.
 *
 * While an account is being settled, acknowledgements do not count: the peer acknowledges a late transfer whose items it has voided as
 * seen, and the items would be lost. For the same reason a peer stays on the blacklist until its account is settled.
 *
 * An account has a *line*: the view in which the two processes opened the account. Transfers on another line are dropped. Both sides
 * compute the line from the same words (`participation.ts`).
 */

import type { Instant } from '../../../runtime/time.ts';
import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import { Account, type Amount } from './account.ts';
import type { BookMessage } from './messages.ts';

/** So many sendings without an acknowledgement, and the direct link counts as cut. */
const SENDINGS_MAX = 4;
const PROBE_EVERY_MS = 5_000;
/** Unacknowledged for so many epochs: send again. */
const RESEND_EPOCHS = 2;

interface Peer {
  readonly id: MemberId;
  line: string;
  account: Account;
  isBlacklisted: boolean;
  probedAt: number;
  settleAskedAt: number;
}

export interface BookDependencies {
  readonly epochMs: number;
  send(to: MemberId, message: BookMessage, isDirect: boolean): void;
  /** Whether this can be an amount. */
  accepts(amount: Amount): boolean;
  /** An amount has arrived, or has come back. */
  add(amount: Amount): void;
}

export class AccountBook {
  readonly #around: BookDependencies;
  readonly #peers = new Map<string, Peer>();

  constructor(around: BookDependencies) {
    this.#around = around;
  }

  /** Names of the peers that are not reached directly. */
  get blacklist(): readonly string[] {
    return [...this.#peers.values()].filter(({ isBlacklisted }) => isBlacklisted).map(({ id }) => id.name);
  }

  /** The peers to give to. */
  get direct(): MemberId[] {
    return [...this.#peers.values()].filter(({ isBlacklisted }) => !isBlacklisted).map(({ id }) => id);
  }

  /** Opens an account with each of these peers; an account with the same process on the same line stays. All others are closed. */
  open(lines: ReadonlyMap<string, { readonly id: MemberId; readonly line: string }>): void {
    for (const key of this.#peers.keys()) if (!lines.has(key)) this.#peers.delete(key);
    for (const [key, { id, line }] of lines) {
      const known = this.#peers.get(key);
      if (known?.line === line) continue;
      // A cut link stays cut through a change of the view.
      const { isBlacklisted = false, probedAt = Number.NEGATIVE_INFINITY } = known ?? {};
      const times = { probedAt, settleAskedAt: Number.NEGATIVE_INFINITY };
      this.#peers.set(key, { id, line, account: new Account(), isBlacklisted, ...times });
    }
  }

  lineWith(id: MemberId): string | undefined {
    return this.#peers.get(keyOf(id))?.line;
  }

  /** For checks from outside. */
  accountWith(id: MemberId): Account | undefined {
    return this.#peers.get(keyOf(id))?.account;
  }

  /** The amount has been subtracted already. */
  give(to: MemberId, amount: Amount, now: Instant): void {
    const peer = this.#peers.get(keyOf(to));
    // A blacklisted peer may still ask, over a link that works one way. Its account stands still until it is settled.
    if (peer === undefined || peer.isBlacklisted) {
      this.#around.add(amount);
      return;
    }
    peer.account.give(amount);
    if (peer.account.sendings < SENDINGS_MAX) this.#transfer(peer, now);
    else this.#blacklist(peer, now);
  }

  /** Sends again, settles and probes. */
  epoch(now: Instant): void {
    const { epochMs } = this.#around;
    for (const peer of this.#peers.values()) {
      const { account } = peer;
      if (!peer.isBlacklisted && account.isOutstanding && now - account.sentAt > RESEND_EPOCHS * epochMs) {
        if (account.sendings < SENDINGS_MAX) this.#transfer(peer, now);
        else this.#blacklist(peer, now);
      }
      if (peer.isBlacklisted) this.#mend(peer, now);
    }
  }

  receive(from: MemberId, message: BookMessage, now: Instant): void {
    const peer = this.#peers.get(keyOf(from));
    if (peer === undefined) return;
    if (message.kind === 'probe') {
      if (!message.isAnswer) this.#around.send(peer.id, { kind: 'probe', isAnswer: true }, true);
      else if (!peer.account.isOutstanding) peer.isBlacklisted = false;
      return;
    }
    const { account, line } = peer;
    if (message.line !== line) return;
    switch (message.kind) {
      case 'transfer': {
        if (!this.#around.accepts(message.amount)) return;
        const news = account.receive(message);
        if (news !== undefined) this.#around.add(news);
        this.#around.send(peer.id, { kind: 'acknowledgement', line, seen: account.seen }, true);
        return;
      }
      case 'acknowledgement':
        if (!peer.isBlacklisted) account.acknowledge(message.seen);
        return;
      case 'settle': {
        if (!peer.isBlacklisted) this.#blacklist(peer, now);
        const { cur } = message;
        this.#around.send(peer.id, { kind: 'settled', line, cur, seen: account.void(cur) }, false);
        return;
      }
      case 'settled': {
        const back = account.takeBack(message.cur, message.seen);
        if (back !== undefined && back.length > 0) this.#around.add(back);
        return;
      }
    }
  }

  #transfer(peer: Peer, now: Instant): void {
    const { line, account, id } = peer;
    this.#around.send(id, { kind: 'transfer', line, ...account.send(now) }, true);
  }

  #blacklist(peer: Peer, now: Instant): void {
    peer.isBlacklisted = true;
    peer.probedAt = now;
    // The peer is to blacklist this process too, whether or not anything is out.
    this.#settle(peer, now);
  }

  #mend(peer: Peer, now: Instant): void {
    const { epochMs } = this.#around;
    if (peer.account.isOutstanding && now - peer.settleAskedAt > RESEND_EPOCHS * epochMs)
      this.#settle(peer, now);
    if (now - peer.probedAt < PROBE_EVERY_MS) return;
    peer.probedAt = now;
    this.#around.send(peer.id, { kind: 'probe', isAnswer: false }, true);
  }

  #settle(peer: Peer, now: Instant): void {
    const { line, account, id } = peer;
    peer.settleAskedAt = now;
    this.#around.send(id, { kind: 'settle', line, cur: account.last }, false);
  }
}
