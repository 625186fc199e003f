import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent, startManager } from 'leasehold/manager';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../cli.ts';
import { recordedContext } from '../testing/recorded-context.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-recover-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('leasehold manager recover', () => {
  let directory = '';
  let questions: string[] = [];
  beforeEach(async () => {
    directory = mkdtempSync(join(folder, 'data-'));
    questions = [];
    await (await startManager({ store: { directory }, listen: '127.0.0.1:0', logger: silent })).close();
  });

  const recover = async (answer: string | undefined, ...argv: string[]) => {
    const ask = async (question: string): Promise<string> => {
      questions.push(question);
      return answer ?? '';
    };
    const context = recordedContext(answer === undefined ? {} : { ask });
    const code = await runCli(['manager', 'recover', '--data', directory, ...argv], context);
    return { code, printed: context.printed(), complained: context.complained() };
  };
  const LEAP = /above +1099511627\d{3}\n/;

  it('says what it will do and what follows, and does it when the operator types yes', async () => {
    const { code, printed } = await recover('yes');
    expect(questions).toHaveLength(1);
    expect(code).toBe(0);
    expect(printed).toMatch(/has got to position \d/);
    expect(printed).toMatch(LEAP);
    for (const word of ['waited out', 'removed', 'look-ups report everything as lost', 'Done: history '])
      expect(printed).toContain(word);
  });

  it.each(['', 'y', 'no', 'yes please'])('changes nothing for whoever types "%s"', async (answer) => {
    const { code, printed } = await recover(answer);
    expect(code).toBe(1);
    expect(printed).toContain('Nothing was changed.');
    const { printed: again } = await recover('no');
    expect(again.split('\n')[0]).toBe(printed.split('\n')[0]);
  });

  it('does not ask where nobody is to be asked, and does nothing without --yes', async () => {
    expect(await recover(undefined)).toMatchObject({ code: 2, complained: expect.stringContaining('--yes') });
    expect(await recover('yes', '--json')).toMatchObject({ code: 2, printed: '' });
    expect(questions).toEqual([]);
    expect((await recover(undefined, '--yes')).code).toBe(0);
  });

  it('takes the numbers of a Manager that has halted', async () => {
    const seen = ['--seen-term', '40', '--seen-position', '9000000000000'];
    const { code, printed } = await recover(undefined, ...seen, '--yes', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(printed)).toMatchObject({
      found: { term: expect.any(Number), position: expect.any(Number) },
      raised: { term: 40, floor: 9_000_000_000_000, history: expect.any(String) },
    });
  });

  it('is refused while a Manager runs', async () => {
    await using _ = await startManager({
      store: { directory },
      listen: '127.0.0.1:0',
      logger: silent,
    });
    expect(await recover(undefined, '--yes')).toMatchObject({
      code: 1,
      complained: expect.stringContaining('LOCKED'),
    });
  });

  it('wants to be told which log', async () => {
    const context = recordedContext();
    expect(await runCli(['manager', 'recover', '--yes'], context)).toBe(2);
    expect(context.complained()).toContain('say which log');
  });
});
