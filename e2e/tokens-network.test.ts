/** From nothing to an owner of a pool on another machine, by the three commands of `docs/security.md`; and the other modules with the same line. */

import { describe, expect, inject, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { Network } from './harness/network.ts';
import type { Program } from './harness/program.ts';
import { onScene } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { run } from './harness/tools.ts';

const MACHINES = ['m', 'a', 'b'] as const;
const NEEDS = { needs: ['network namespaces'] } as const;
const TOKEN_CHARACTERS_MAX = 300;

describe('one token for everything, on machines of their own', () => {
  it(
    'starts a Manager, an owner and a look-up, and then a group of flease, replicas and a view',
    onScene(async (scene) => {
      const network = await Network.open(scene, ...MACHINES);
      const [file, root] = [scene.path('token'), scene.path('leasehold-ca')];
      // The first command.
      const argv = ['token', 'create', 'everything', '--root', root, '--out', file, '--json'];
      scene.printed(
        await run(process.execPath, inject('programs')['cli'] as string, JSON.stringify({ argv })),
      );
      const token = readFileSync(file, 'utf8');
      expect(token.trim()).toMatch(/^lh1\.[\w-]+$/);
      expect(token.length).toBeLessThan(TOKEN_CHARACTERS_MAX);
      scene.isSecret(token.trim());
      const environment = { LEASEHOLD_TOKEN_FILE: file };

      // The second, on one machine.
      const listen = `${network.address('m')}:7400`;
      const start = [
        'manager',
        'start',
        '--listen',
        listen,
        '--data',
        scene.path('log'),
        '--first-start',
        '--json',
      ];
      scene.start({
        ...{ name: 'manager', program: 'cli', config: { argv: start }, environment },
        under: network.on('m'),
      });

      // The third, on another machine, where it has no other address than the one in the environment.
      const own = { ...environment, LEASEHOLD_MANAGERS: listen };
      const owner = scene.start({
        ...{ name: 'ann', program: 'owner', environment: own, under: network.on('a') },
        config: {
          join: { pool: 'presence', name: 'ann', url: 'http://ann' },
          ...{ keys: scene.keys, register: scene.register.path, writeEveryMs: 20 },
        },
      });
      await owner.event('ready');
      scene.observer.watch(owner);
      await scene.shared(owner);
      const lookup = await scene.lookup({ managers: [listen], environment, under: network.on('b') });
      const { owners } = await lookup.ask('find', { keys: scene.keys });
      expect(new Set((owners as { name: string }[]).map(({ name }) => name))).toEqual(new Set(['ann']));

      const peersAt = (port: number) =>
        Object.fromEntries(MACHINES.map((name) => [name, `${network.address(name)}:${port}`]));
      const each = (program: string, configOf: (name: string) => object): readonly Program[] =>
        MACHINES.map((name) =>
          scene.start({ ...{ name, program, environment, under: network.on(name) }, config: configOf(name) }),
        );
      const members = each('member', (name) => ({
        join: { name, peers: peersAt(7500), leaseMs: 1_500 },
        ...{ keys: [], register: scene.register.path, writeEveryMs: 20 },
      }));
      const replicas = each('replica', (name) => ({
        ...{ name, peers: peersAt(7600), directory: scene.path(`replica-${name}`) },
      }));
      const servers = each('group-server', (name) => ({
        ...{ name, peers: peersAt(7700), listen: peersAt(7700)[name], leaseMs: 3_000 },
      }));
      await Promise.all([...members, ...replicas, ...servers].map((program) => program.event('ready')));
      expect((await members[0]?.ask('acquire', { key: 'job' }))?.error).toBeUndefined();
      await until('the servers act in one view', async () => {
        const states = await Promise.all(servers.map((server) => server.ask('state', { peer: '' })));
        const isOne = states.every(({ members, standing }) => members === 'a,b,m' && standing === 'acts');
        return isOne || undefined;
      });
    }, NEEDS),
  );
});
