/**
 * How a supervised command came to its end, in words that do not need the types of Node: it is handed
 * to applications.
 */

export interface SupervisedEnd {
  /** Undefined if it was ended by a signal. */
  readonly code: number | undefined;
  /** `SIGKILL`; undefined if it ended by itself. */
  readonly signal: string | undefined;
  /** What a shell would end with: the code, or 128 and the number of the signal. */
  readonly exitCode: number;
  /**
   * `certified`: what it held is free. `ran-out`: no Manager confirmed in time, and its lease, if it had
   * one, has to run out. `not-needed`: it never took a proof, so it did not join a pool itself.
   */
  readonly death: 'certified' | 'ran-out' | 'not-needed';
}
