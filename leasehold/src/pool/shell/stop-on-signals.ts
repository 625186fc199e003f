/** The orderly end of a process, for those who import only the pool. */

export {
  type ClosableServer,
  type Stoppable,
  type Stopping,
  stopOnSignals,
} from '../../node/stop-on-signals.ts';
