import { describe, expect, it } from 'vitest';
import { AsyncDisposableStack } from './async-disposable-stack.ts';

describe('a stack of opened things', () => {
  it('is closed in the opposite order, whatever kind of thing it is', async () => {
    const story: string[] = [];
    const closing = new AsyncDisposableStack();
    closing.use({ [Symbol.dispose]: () => void story.push('first') });
    closing.use({ [Symbol.asyncDispose]: async () => void story.push('second') });
    closing.defer(() => void story.push('third'));
    await closing[Symbol.asyncDispose]();
    await closing[Symbol.asyncDispose]();
    expect(story).toEqual(['third', 'second', 'first']);
  });

  it('is closed although closing something else fails, which is said afterwards', async () => {
    const story: string[] = [];
    const closing = new AsyncDisposableStack();
    closing.defer(() => void story.push('first'));
    closing.defer(() => {
      throw new Error('stuck');
    });
    await expect(closing[Symbol.asyncDispose]()).rejects.toThrow('stuck');
    expect(story).toEqual(['first']);
  });

  it('is not closed by one that has handed it over', async () => {
    const story: string[] = [];
    const closing = new AsyncDisposableStack();
    closing.defer(() => void story.push('first'));
    const other = closing.move();
    await closing[Symbol.asyncDispose]();
    expect(story).toEqual([]);
    await other[Symbol.asyncDispose]();
    expect(story).toEqual(['first']);
  });
});
