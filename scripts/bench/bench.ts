/**
 * What a measurement in `bench/` exports as `bench`, and what it finds.
 *
 * A figure stands beside the same figure of a peer, measured in the same run on the same machine:
 * a number alone says more about the machine than about us.
 */

export interface Bench {
  readonly name: string;
  /** One sentence: what is measured, against what. */
  readonly describe: string;
  /** `report` is for progress, a line at a time. */
  run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> | BenchResult;
}

/** What a measurement that starts processes needs. */
export interface BenchTools {
  /** Makes one file that Node can run of a module of this repository, and says where it is. */
  bundle(entry: string): Promise<string>;
}

export interface BenchResult {
  readonly name: string;
  /** What the figures depend on: the machine, versions, sizes, how often it was repeated. */
  readonly conditions: Readonly<Record<string, string | number>>;
  readonly figures: readonly Figure[];
}

export interface Figure {
  /** `look-up of a string key`, `failover` */
  readonly metric: string;
  /** `ns`, `ms`, `messages/s` */
  readonly unit: string;
  readonly ours: number;
  readonly peers: readonly { readonly name: string; readonly value: number }[];
  /** How many times better than the best peer; missing when there is none to compare with. */
  readonly ratio?: number | undefined;
  /** What was aimed for, as a person would say it: `twice as fast as the peer`. Missing if the figure is only told. */
  readonly goal?: string | undefined;
  /** Missing if there is no goal: a goal that cannot be missed is none. */
  readonly met?: boolean | undefined;
}
