/** The messages of a spread limit and of a group total. The sender's name and incarnation come with each message. */

import type { Transfer } from './account.ts';

/** Takes part in views (rule S7): the cohort that the sender comes from, and its settings. */
export interface Word {
  readonly kind: 'word';
  readonly view: string;
  /** The view in which the sender last took part, or a text of its own. */
  readonly from: string;
  readonly maxServers: number;
  readonly tokensPerSecond: number;
  readonly burst: number;
  /** The sender lacks the receiver's word, which is to answer. */
  readonly isRepeated: boolean;
}

/** The sender's credits and demand: a richer receiver gives (rules S3, S4). Divided by `parts`, because so many are asked. */
export interface Show {
  readonly kind: 'show';
  readonly view: string;
  readonly demand: number;
  readonly credits: number;
  readonly parts: number;
  /** Members that the sender does not reach directly. */
  readonly blacklist: readonly string[];
}

export type BookMessage =
  /** Items of an account (rule S5). `line`: since when the two have had the account. */
  | ({ readonly kind: 'transfer'; readonly line: string } & Transfer)
  | { readonly kind: 'acknowledgement'; readonly line: string; readonly seen: number }
  /** Over the overlay: the direct link does not work; which items up to `cur` have arrived (rule S6)? */
  | { readonly kind: 'settle'; readonly line: string; readonly cur: number }
  | { readonly kind: 'settled'; readonly line: string; readonly cur: number; readonly seen: number }
  /** Does the direct link work again? */
  | { readonly kind: 'probe'; readonly isAnswer: boolean };

export type SpreadMessage = Word | Show | BookMessage;
