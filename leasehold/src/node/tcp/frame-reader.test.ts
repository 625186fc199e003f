import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameTooLargeError } from './errors.ts';
import { FrameReader } from './frame-reader.ts';
import { framed, writeFrames } from './frame-writer.ts';

const LIMIT_BYTES = 100_000;

/** The frames that come out, copied. */
function read(reader: FrameReader, chunks: readonly Uint8Array[]): Buffer[] {
  const frames: Buffer[] = [];
  for (const chunk of chunks) reader.push(chunk, (frame) => frames.push(Buffer.from(frame)));
  return frames;
}

/** The bytes, cut at these places. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length));
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const bytesOf = (payloads: readonly Uint8Array[]): Buffer => {
  const written: Uint8Array[] = [];
  writeFrames(payloads, (bytes) => written.push(Buffer.from(bytes)));
  return Buffer.concat(written);
};

describe('frames', () => {
  it('come out as they went in, however the bytes are cut', () => {
    const payload = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(60_000).map((length) => new Uint8Array(length).fill(length)),
    );
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 12 }), fc.array(fc.nat()), (payloads, places) => {
        const reader = new FrameReader(LIMIT_BYTES);
        const frames = read(reader, cut(bytesOf(payloads), places));
        expect(frames.map(hex)).toEqual(payloads.map(hex));
        expect([reader.isMidFrame, reader.bufferedBytes]).toEqual([false, 0]);
      }),
    );
  });

  it('come out as they went in, byte by byte', () => {
    const payloads = [Buffer.from('a'), Buffer.alloc(0), Buffer.alloc(70_000, 7)];
    const bytes = bytesOf(payloads);
    const chunks = Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
    expect(read(new FrameReader(LIMIT_BYTES), chunks).map(hex)).toEqual(payloads.map(hex));
  });

  it('are views of what was read when they lie whole in it: nothing is copied', () => {
    const chunk = Buffer.concat([framed(Buffer.from('one')), framed(Buffer.from('two'))]);
    new FrameReader(LIMIT_BYTES).push(chunk, (frame) => expect(frame.buffer).toBe(chunk.buffer));
  });

  it('are not there before their last byte is', () => {
    const bytes = framed(Buffer.from('hello'));
    const reader = new FrameReader(LIMIT_BYTES);
    for (let end = 1; end < bytes.length; end += 1) {
      expect(read(reader, [bytes.subarray(end - 1, end)])).toEqual([]);
      expect(reader.isMidFrame).toBe(true);
    }
    expect(read(reader, [bytes.subarray(-1)])).toEqual([Buffer.from('hello')]);
  });
});

describe('a frame that is too large', () => {
  const announcing = (length: number): Uint8Array => {
    const header = Buffer.alloc(4);
    header.writeUInt32BE(length);
    return header;
  };

  it('is refused by its length, before anything of it is kept', () => {
    for (const length of [LIMIT_BYTES + 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff]) {
      const reader = new FrameReader(LIMIT_BYTES);
      const push = () => read(reader, [Buffer.concat([announcing(length), Buffer.alloc(50)])]);
      expect(push).toThrow(new FrameTooLargeError(length, LIMIT_BYTES));
      expect(reader.bufferedBytes).toBe(0);
    }
    const largest = Buffer.concat([announcing(LIMIT_BYTES), Buffer.alloc(LIMIT_BYTES)]);
    expect(read(new FrameReader(LIMIT_BYTES), [largest])).toHaveLength(1);
  });

  it('is measured by the limit of the moment, which may change from one frame to the next', () => {
    const reader = new FrameReader(3);
    const bytes = Buffer.concat([framed(Buffer.from('abc')), framed(Buffer.from('abcdef'))]);
    let frames = 0;
    reader.push(bytes, () => {
      frames += 1;
      reader.limitBytes = 6;
    });
    expect(frames).toBe(2);
  });
});

describe('a frame that was announced and does not come', () => {
  it('costs what has come of it, twice over at most', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 40 }), (sizes) => {
        const reader = new FrameReader(2 ** 30);
        read(reader, [Buffer.from([0x3f, 0xff, 0xff, 0xff])]);
        let come = 0;
        for (const size of sizes) {
          read(reader, [new Uint8Array(size)]);
          come += size;
          expect(reader.bufferedBytes).toBeLessThanOrEqual(Math.max(2 * come, 512));
        }
      }),
    );
  });
});

describe('a reader that was stopped', () => {
  it('says nothing more, not even what is in the same chunk', () => {
    const reader = new FrameReader(LIMIT_BYTES);
    const heard: string[] = [];
    const chunk = Buffer.concat([framed(Buffer.from('one')), framed(Buffer.from('two'))]);
    const use = (frame: Uint8Array): void => {
      heard.push(Buffer.from(frame).toString());
      reader.stopped = true;
    };
    reader.push(chunk, use);
    reader.push(chunk, use);
    expect(heard).toEqual(['one']);
  });
});

describe('writing frames', () => {
  it('makes one write of many small ones, and never copies a large one', () => {
    const large = Buffer.alloc(20_000, 1);
    const small = Array.from({ length: 100 }, (_, index) => Buffer.from(`message ${index}`));
    const writes: Uint8Array[] = [];
    writeFrames([...small, large, ...small, large], (bytes) => writes.push(bytes));
    expect(writes).toHaveLength(4);
    expect([writes[1] === large, writes[3] === large]).toEqual([true, true]);
  });

  it('copies what is before a shared tail, and never the tail', () => {
    const tail = Buffer.alloc(20_000, 1);
    const payloads = ['one', 'two'].map((head) => ({ head: Buffer.from(head), tail }));
    const writes: Uint8Array[] = [];
    writeFrames(payloads, (bytes) => writes.push(bytes));
    expect([writes.length, writes[1] === tail, writes[3] === tail]).toEqual([4, true, true]);
    const read: Buffer[] = [];
    new FrameReader(30_000).push(Buffer.concat(writes), (frame) => read.push(Buffer.from(frame)));
    expect(read).toEqual(payloads.map(({ head }) => Buffer.concat([head, tail])));
  });
});
