/**
 * What the fields of a message are called on the wire. A name means the same wherever it occurs.
 */

export type FieldName =
  | 'kind'
  | 'pool'
  | 'incarnation'
  | 'name'
  | 'url'
  | 'proof'
  | 'sequence'
  | 'wantsAnswer'
  | 'heard'
  | 'seen'
  | 'history'
  | 'term'
  | 'position'
  | 'held'
  | 'letGo'
  | 'leaving'
  | 'load'
  | 'acknowledges'
  | 'leaseMs'
  | 'admitted'
  | 'spans'
  | 'from'
  | 'to'
  | 'rows'
  | 'answers'
  | 'lookup'
  | 'secret'
  | 'asker'
  | 'code'
  | 'message'
  | 'retryable'
  | 'pace'
  | 'renewEveryMs'
  | 'retryMs'
  | 'revokeWithinMs'
  | 'suspensionToleranceMs'
  | 'syncEveryMs'
  | 'staleAfterMs'
  | 'leader'
  | 'stamp'
  | 'key'
  | 'signature'
  | 'round'
  | 'leads'
  | 'holdMs'
  | 'isLogShared';

export const KEYS: Readonly<Record<FieldName, string>> = {
  kind: 'k',
  pool: 'p',
  incarnation: 'i',
  name: 'n',
  url: 'u',
  proof: 'pf',
  sequence: 's',
  wantsAnswer: 'w',
  heard: 'hd',
  seen: 'sn',
  history: 'hi',
  term: 't',
  position: 'at',
  held: 'h',
  letGo: 'lg',
  leaving: 'lv',
  load: 'ld',
  acknowledges: 'ack',
  leaseMs: 'ms',
  admitted: 'ad',
  spans: 'sp',
  from: 'fr',
  to: 'to',
  rows: 'r',
  answers: 'an',
  lookup: 'lk',
  secret: 'sec',
  asker: 'as',
  code: 'c',
  message: 'm',
  retryable: 're',
  pace: 'pc',
  renewEveryMs: 'rn',
  retryMs: 'rt',
  revokeWithinMs: 'rv',
  suspensionToleranceMs: 'tl',
  syncEveryMs: 'se',
  staleAfterMs: 'st',
  leader: 'le',
  stamp: 'sta',
  key: 'key',
  signature: 'sig',
  round: 'ro',
  leads: 'l',
  holdMs: 'hm',
  isLogShared: 'sh',
};

/** The `kind` of a `NotLeader`, which was first called that. Old peers know no other name. */
export const NOT_LEADER_ON_THE_WIRE = 'elsewhere';
