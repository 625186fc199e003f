import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { onAbort, unlessAborted } from './on-abort.ts';

describe('many who wait for one signal', () => {
  it('are called in the order in which they came, and are one listener', () => {
    const controller = new AbortController();
    const called: number[] = [];
    for (let one = 0; one < 100; one += 1) onAbort(controller.signal, () => called.push(one));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    expect(called).toEqual(Array.from({ length: 100 }, (_, one) => one));
  });

  it('leave nothing behind when they wait no longer', () => {
    const controller = new AbortController();
    const called = vi.fn();
    const [one, other] = [onAbort(controller.signal, called), onAbort(controller.signal, called)];
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    other[Symbol.dispose]();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    using _ = onAbort(controller.signal, called);
    other[Symbol.dispose]();
    controller.abort();
    expect(called).toHaveBeenCalledOnce();
  });

  it('are not called any more if another of them said so', () => {
    const controller = new AbortController();
    const second = vi.fn();
    onAbort(controller.signal, () => waiting[Symbol.dispose]());
    const waiting = onAbort(controller.signal, second);
    controller.abort();
    expect(second).not.toHaveBeenCalled();
  });
});

describe('a promise that is waited for unless a signal aborts', () => {
  const never = new Promise<never>(() => {});

  it('settles as it would', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
    await expect(unlessAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    expect(await unlessAborted(Promise.resolve(8), undefined)).toBe(8);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason of the signal, at once or when it aborts', async () => {
    await expect(unlessAborted(never, AbortSignal.abort('before'))).rejects.toBe('before');
    const controller = new AbortController();
    const waiting = unlessAborted(never, controller.signal);
    controller.abort('meanwhile');
    await expect(waiting).rejects.toBe('meanwhile');
  });
});
