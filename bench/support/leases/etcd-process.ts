/**
 * Asks etcd for a lease and a key under it, by its JSON gateway, over connections that are all kept.
 */

import { Agent, request } from 'node:http';
import { obey, say, told } from '../processes/conversation.ts';
import { askingCommands } from './asking.ts';

export interface EtcdConfig {
  readonly endpoint: string;
}

/** None is to end while it is measured how fast they can be taken. */
const LEASE_SECONDS = 3_600;
const HOLDER = btoa('holder');

const { endpoint } = told<EtcdConfig>();
const agent = new Agent({ keepAlive: true, noDelay: true, maxFreeSockets: Number.POSITIVE_INFINITY });

function post<Answer>(path: string, body: object): Promise<Answer> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const asked = request(`${endpoint}${path}`, { method: 'POST', agent, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (part: string) => (answer += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(answer) as Answer);
        else reject(new Error(`etcd answered ${response.statusCode} to ${path}: ${answer}`));
      });
    });
    asked.on('error', reject);
    asked.end(text);
  });
}

async function acquire(resource: string): Promise<string> {
  const { ID: lease } = await post<{ ID: string }>('/v3/lease/grant', { TTL: String(LEASE_SECONDS) });
  const key = btoa(resource);
  const { succeeded } = await post<{ succeeded?: boolean }>('/v3/kv/txn', {
    compare: [{ key, target: 'CREATE', result: 'EQUAL', create_revision: '0' }],
    success: [{ request_put: { key, value: HOLDER, lease } }],
  });
  if (succeeded !== true) throw new Error(`etcd would not let us have ${resource}`);
  return lease;
}

/** The key goes with its lease. */
const release = (lease: string): Promise<unknown> => post('/v3/lease/revoke', { ID: lease });

obey(askingCommands(acquire, release));
say('ready');
