/** What an application sees of views, and what it is told. */

/** A set of servers that all agreed on exactly this set. */
export interface View {
  /** Greater, by `<`, than the id of every view before at this process; equal at all members. */
  readonly id: string;
  /** The servers, sorted by name; at a server, this one included. */
  readonly members: readonly string[];
  /** The clients of all servers, sorted by name. */
  readonly clients: readonly string[];
  /** The members that have come through the same views as this server since they last acted; see `docs/membership.md`. Empty at a client. */
  readonly kept: readonly string[];
  /** The members of the view before at this process that are not in this one. */
  readonly lost: readonly string[];
}

/** The functions of the application that `joinGroup` and `connectGroup` take. */
export interface GroupCallbacks {
  /** The present view is about to end: finish, and begin nothing that needs the whole view. */
  onViewEnding?: (() => void) | undefined;
  onView?: ((view: View) => void) | undefined;
  /** This process has been without a view for `noViewAfterMs`. The next `onView` ends that. */
  onNoView?: (() => void) | undefined;
  /** A message of another member or client, handed over once. While a server leaves, until `close` resolves, messages still come: their senders take them for delivered. */
  onMessage?: ((from: string, bytes: Uint8Array) => void) | undefined;
}
