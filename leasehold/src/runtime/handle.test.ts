import { describe, expect, it } from 'vitest';
import { ClosedError, StorageError } from './errors.ts';
import { closeOnAbort, Closing } from './handle.ts';

describe('the end of a handle', () => {
  it('comes once, however often it is closed, and is told without a reason', async () => {
    const closing = new Closing();
    let stops = 0;
    const stop = async (): Promise<void> => void (stops += 1);
    expect(closing.isOver).toBe(false);
    await Promise.all([closing.close(stop), closing.close(stop)]);
    expect(stops).toBe(1);
    expect(closing.isClosing).toBe(true);
    expect(await closing.closed).toBeUndefined();
  });

  it('has the first reason of a failure, which a close afterwards does not take back', async () => {
    const closing = new Closing();
    const why = new StorageError('DAMAGED_LOG', 'slot 7');
    closing.fail(why);
    closing.fail(new ClosedError('REMOVED', 'too late'));
    expect([closing.isOver, closing.isClosing]).toEqual([true, false]);
    await closing.close(async () => {});
    expect(await closing.closed).toBe(why);
  });

  it('is no failure if something fails while the handle is closed', async () => {
    const closing = new Closing();
    const over = closing.close(async () => closing.fail(new StorageError('EIO', 'the disk')));
    await over;
    expect(await closing.closed).toBeUndefined();
  });

  it.each([
    ['rejects', (): Promise<void> => Promise.reject(new Error('not stopped'))],
    [
      'throws',
      (): Promise<void> => {
        throw new Error('not stopped');
      },
    ],
  ])('is told even if the stop %s, which the caller of close hears', async (_, stop) => {
    const closing = new Closing();
    await expect(closing.close(stop)).rejects.toThrow('not stopped');
    expect(await closing.closed).toBeUndefined();
  });
});

describe('a signal for the life of a handle', () => {
  const handle = (): { closes: number; close(): Promise<void> } => ({
    closes: 0,
    async close() {
      this.closes += 1;
    },
  });
  const unheard = (error: unknown): never => {
    throw error;
  };

  it('closes the handle when it aborts, also if it had before', () => {
    const [later, before] = [handle(), handle()];
    const controller = new AbortController();
    closeOnAbort(controller.signal, later, unheard);
    expect(later.closes).toBe(0);
    controller.abort();
    closeOnAbort(controller.signal, before, unheard);
    expect([later.closes, before.closes]).toEqual([1, 1]);
  });

  it('closes nothing once it was let go', () => {
    const [closed, controller] = [handle(), new AbortController()];
    closeOnAbort(controller.signal, closed, unheard)[Symbol.dispose]();
    controller.abort();
    expect(closed.closes).toBe(0);
  });

  it('says why a close that nobody awaits has failed', async () => {
    const error = new Error('not closed');
    const heard = await new Promise((resolve) => {
      closeOnAbort(AbortSignal.abort(), { close: () => Promise.reject(error) }, resolve);
    });
    expect(heard).toBe(error);
  });
});
