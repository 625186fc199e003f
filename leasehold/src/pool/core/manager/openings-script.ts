/**
 * For tests only: how many scripts for a Manager begin (see `manager-script.ts`). What follows in a script
 * comes after the last instant here, and counts sequences on from the last report.
 */

/** The log of another leader, in which a has everything; the word "secret" would prove its death. */
export const LOG = `
      0     log 1 1 join:a:secret grant:a:0-16`;

/** A leader of nobody, for as long as any script lasts. */
export const LED = `
      0     elected 1 2000000
              > append 1 term 1
      1     appended`;

/** A leader with the owner a, which has everything and has said so; the word "secret" would prove its death. */
export const ONE_OWNER: string = `${LED}
      10    report a 0? proof=secret
              > a: update ack=0 candidate
      10    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      30    report a 2 heard proof=secret 0-16#2`;

/** And b, which waits for its half. */
export const TWO_OWNERS: string = `${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 candidate
      40    report b 1? heard
              > append 3 term 1 join:b
      50    appended
              > a: update ack=2 0-8#2 8-16#2!
              > b: update ack=1
      60    report b 2 heard`;
