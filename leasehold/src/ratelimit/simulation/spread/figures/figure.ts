/** A run with a name, and what is drawn of it. */

export interface Series {
  readonly label: string;
  /** Seconds, and a value. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

export interface Figure {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly series: readonly Series[];
  /** Instants at which something happened, in seconds. */
  readonly marks: readonly number[];
  /** Values above this are drawn at the edge. */
  readonly most?: number;
}

/** The points from this instant on, up to another. */
export const between = ({ points }: Series, fromS: number, toS: number): number[] =>
  points.filter(([x]) => x >= fromS && x <= toS).map(([, y]) => y);
