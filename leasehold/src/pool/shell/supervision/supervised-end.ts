/**
 * How a supervised command came to an end, without the types of Node, because applications get this type.
 */

export interface SupervisedEnd {
  /** Undefined if a signal ended the command. */
  readonly code: number | undefined;
  /** `SIGKILL`; undefined if the command ended by itself. */
  readonly signal: string | undefined;
  /** The exit code of a shell: the code, or 128 and the number of the signal. */
  readonly exitCode: number;
  /**
   * `certified`: the keys of the process are free. `ran-out`: no Manager confirmed in time, and the lease, if any, has
   * to expire. `not-needed`: the process never took a proof, so the process itself did not join a pool.
   */
  readonly death: 'certified' | 'ran-out' | 'not-needed';
}
