/** What the Manager's HTTP API answers. Types alone: the command line knows a Manager only by its port. */

export type {
  LookupsAnswer,
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolsAnswer,
  PoolSummary,
  StatusAnswer,
  StepDownAnswer,
} from '../../../leasehold/src/pool/http/answers.ts';
export type { Gap, LoggedEvent } from '../../../leasehold/src/pool/http/event-log.ts';
export type { ExplainAnswer, KeyAnswer } from '../../../leasehold/src/pool/http/explain.ts';
