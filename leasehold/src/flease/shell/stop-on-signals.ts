/** The orderly end of a process, for those who import only flease. */

export {
  type ClosableServer,
  type Stoppable,
  type Stopping,
  stopOnSignals,
} from '../../node/stop-on-signals.ts';
