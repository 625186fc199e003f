import { describe, expect, it } from 'vitest';
import { listeningLogger } from '../../../node/tcp/socket-script.ts';
import { type PlaceOptions, placeOfMoves } from './place-of-moves.ts';

const NOTHING: PlaceOptions = { listen: undefined, advertise: undefined, insecure: false };
const HERE = ['127.0.0.1:7400', 'localhost:7401', '[::1]:7402'];
const ELSEWHERE = ['127.0.0.1:7400', '10.0.0.2:7400'];

function place(managers: readonly string[], options: Partial<PlaceOptions> = {}) {
  const logger = listeningLogger();
  const found = placeOfMoves(true, { ...NOTHING, ...options }, managers, undefined, logger);
  return { found, warnings: logger.lines.map(({ level, managers: which }) => ({ level, which })) };
}

describe('the place where an owner listens for keys', () => {
  it('is any port of loopback if every Manager is on this machine', () => {
    expect(place(HERE)).toEqual({
      found: { listen: { host: '127.0.0.1', port: 0 }, advertise: undefined },
      warnings: [],
    });
  });

  it('is nowhere if a Manager is on another machine and nothing is said, which is said', () => {
    expect(place(ELSEWHERE)).toEqual({
      found: undefined,
      warnings: [{ level: 'warn', which: '10.0.0.2:7400' }],
    });
  });

  it('is where it is said, with consent to be reached by all, which is worth a line', () => {
    const options = { listen: '0.0.0.0:7500', advertise: 'web-3:7500', insecure: true };
    expect(place(ELSEWHERE, options)).toEqual({
      found: { listen: { host: '0.0.0.0', port: 7_500 }, advertise: 'web-3:7500' },
      warnings: [{ level: 'warn', which: undefined }],
    });
    expect(() => place(ELSEWHERE, { ...options, insecure: false })).toThrow(/insecure: true/);
    expect(() => place(HERE, { advertise: '0.0.0.0:7500' })).toThrow(/others can connect to/);
  });
});
