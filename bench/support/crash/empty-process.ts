/** Does nothing but start: what every Node process takes before its first line, on this machine at this time. */

import { say } from '../processes/conversation.ts';

say('started');
