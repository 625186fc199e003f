/** Which items of many are checked, and whether each has exactly one owner. */

export interface Sample {
  readonly count: number;
  /** Every so many-th item of all. */
  readonly step: number;
}

export interface Ownership {
  readonly exactlyOne: number;
  readonly none: number;
  readonly several: number;
}

/** All of them, or as many as are allowed, evenly spread. */
export function sampleOf(items: number, largest: number): Sample {
  const step = Math.ceil(items / largest);
  return { step, count: Math.ceil(items / step) };
}

/** What the owners together say; each has a bit for every item of the sample. */
export function ownership(count: number, owners: readonly Uint8Array[]): Ownership {
  let [several, none] = [0, 0];
  for (let index = 0; index < count; index += 1) {
    const [byte, bit] = [index >> 3, 1 << (index & 7)];
    let holders = 0;
    for (const bits of owners) if (((bits[byte] ?? 0) & bit) !== 0) holders += 1;
    if (holders === 0) none += 1;
    else if (holders > 1) several += 1;
  }
  return { exactlyOne: count - none - several, none, several };
}
