/** Joins a group as the member that the command line names, and says what it means if somebody is that already. */

import {
  type Flease,
  type JoinFleaseOptions,
  joinFlease,
  LeaseholdError,
  PortInUseError,
} from 'leasehold/flease';

/** This member seems to run already. End that process, or be another member. */
export class MemberTakenError extends LeaseholdError {
  override readonly name = 'MemberTakenError';
  readonly code = 'MEMBER_TAKEN';
  readonly retryable = true;
  readonly id: string;
  readonly host: string;
  readonly port: number;

  constructor(id: string, { host, port }: PortInUseError, options?: ErrorOptions) {
    super(
      `another process is ${id} here, or something else listens on port ${port} of ${host}: no two processes may have one --id at a time, so wait until that one has ended, or give this one an id and an address of its own in --peers, on every member`,
      options,
    );
    this.id = id;
    this.host = host;
    this.port = port;
  }
}

/**
 * @throws {MemberTakenError} if somebody listens where this member should
 */
export async function joinAs(options: JoinFleaseOptions): Promise<Flease> {
  try {
    return await joinFlease(options);
  } catch (error) {
    if (error instanceof PortInUseError) throw new MemberTakenError(options.id, error, { cause: error });
    throw error;
  }
}
