/** What the Manager's HTTP API answers. Types alone: the command line knows a Manager only by its port. */

export type {
  LookupsAnswer,
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolsAnswer,
  PoolSummary,
  StatusAnswer,
  RemovePoolAnswer,
  StepDownAnswer,
  Gap,
  LoggedEvent,
  ExplainAnswer,
  KeyAnswer,
} from 'leasehold/internal';
