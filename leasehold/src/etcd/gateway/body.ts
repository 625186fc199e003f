/**
 * An answer that arrives in pieces, up to a bound: whole, or line by line. Bytes beyond the bound are not kept.
 */

/** More pieces than this are joined: a byte at a time would cost a hundred times the size. */
const PIECES_MAX = 1_024;

export class Body {
  readonly #bytesMax: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** False if there are too many bytes; nothing is kept then. */
  add(piece: Uint8Array): boolean {
    this.#bytes += piece.length;
    if (this.#bytes > this.#bytesMax) {
      this.#pieces = [];
      return false;
    }
    if (this.#pieces.length === PIECES_MAX) this.#pieces = [Buffer.concat(this.#pieces)];
    this.#pieces.push(piece);
    return true;
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString();
  }
}

const NEWLINE = 0x0a;

/** The lines of a stream, each when whole. */
export class Lines {
  readonly #bytesMax: number;
  #rest: Body;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#rest = new Body(bytesMax);
  }

  /** The lines that end in this piece; undefined if one is too long. */
  add(piece: Uint8Array): readonly string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, from)) {
      if (!this.#rest.add(piece.subarray(from, at))) return undefined;
      const line = this.#rest.text();
      if (line.trim() !== '') lines.push(line);
      this.#rest = new Body(this.#bytesMax);
      from = at + 1;
    }
    return this.#rest.add(piece.subarray(from)) ? lines : undefined;
  }
}
