/** Where people look for the status of each module if nothing else is said: one number a module, so that all fit on one machine. */
export const STATUS_PORTS: {
  readonly [Module in 'manager' | 'flease' | 'quorum' | 'membership' | 'ratelimit' | 'pool']: number;
} = { manager: 7_401, flease: 7_501, quorum: 7_601, membership: 7_701, ratelimit: 7_801, pool: 7_901 };
