/** A server of one message: it says again what it was told, over TLS if it has a token, and tells what that has cost. */

import { setFlagsFromString } from 'node:v8';
import process from 'node:process';
import { runInNewContext } from 'node:vm';
import { secureSocketsOf } from '../../../leasehold/src/node/mesh/tls-option.ts';
import { nodeRuntime } from '../../../leasehold/src/node/runtime.ts';
import { listenTcp } from '../../../leasehold/src/node/tcp/listen.ts';
import { silent } from '../../../leasehold/src/runtime/logger.ts';
import { cpu, obey, say, told } from '../processes/conversation.ts';
import { ECHO_PROTOCOL, frames } from './echo.ts';

const { token } = told<{ readonly token: string | false }>();
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const runtime = nodeRuntime();
const secure = secureSocketsOf({ tls: token, logger: silent }, runtime.wallMs());
const listener = await listenTcp<Uint8Array, Uint8Array>({
  ...{ host: '127.0.0.1', port: 0, codec: frames, protocol: ECHO_PROTOCOL, runtime, logger: silent, secure },
});
listener.listen((from, frame) => listener.send(from, frame));
say('ready', { address: `127.0.0.1:${listener.port}` });
obey({
  cpu,
  memory: () => {
    collect();
    return { bytes: process.memoryUsage().rss, connections: listener.peers.size };
  },
});
