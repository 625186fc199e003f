/** What the Manager's HTTP API answers. Types alone: the command line knows a Manager only by its port. */

import type { HandleHead, StatusAnswer as ManagerStatus } from 'leasehold/internal';

/** The status of one handle, as {@link HttpApi} picks it out of the status of the process. */
export interface StatusHead extends HandleHead {
  /** Of the package. */
  readonly version: string;
}

export interface StatusAnswer extends ManagerStatus, StatusHead {}

export type {
  LookupsAnswer,
  MoverAnswer,
  MovesAnswer,
  OrderAnswer,
  OwnerAnswer,
  OwnersAnswer,
  PoolAnswer,
  PoolsAnswer,
  PoolSummary,
  RemovePoolAnswer,
  RowAnswer,
  StepDownAnswer,
  TableAnswer,
  Gap,
  LoggedEvent,
  ExplainAnswer,
  KeyAnswer,
} from 'leasehold/internal';
