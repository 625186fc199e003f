/** A look-up, which says what it is told. */

import { type ConnectLookupOptions, connectLookup } from 'leasehold/pool';
import { chooseClocks, type ClockChoice } from './clocks.ts';
import { fail, logger, obey, say, told } from './conversation.ts';

interface Config {
  readonly open: ConnectLookupOptions;
  readonly keys: readonly string[];
  readonly clocks?: ClockChoice;
}

interface Request {
  readonly keys: readonly string[];
}

const { open, keys, clocks } = told<Config>();
chooseClocks(clocks);

try {
  const lookup = await connectLookup({
    ...open,
    logger,
    onLoss: (loss) => say('loss', { why: loss.why, keys: keys.filter((key) => loss.has(key)) }),
  });
  obey({
    find: ({ keys: asked }: Request) => ({ owners: asked.map((key) => lookup.find(key) ?? null) }),
    position: () => ({ ...lookup.status().position }),
    clocks: () => ({ wallMs: Date.now() }),
  });
  say('ready', { pid: process.pid });
} catch (error) {
  fail(error);
  process.exit();
}
