/** The date so many milliseconds from now, for interfaces of others that want a `Date`; undefined if that is never. */
export const dateIn = (ms: number): Date | undefined =>
  Number.isFinite(ms) ? new Date(Date.now() + Math.ceil(ms)) : undefined;
