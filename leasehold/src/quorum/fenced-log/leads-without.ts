/** Whether the holder of \`term\` may be replaced: a question of progress, see \`campaign.ts\`. */

import type { Instant } from '../../runtime/time.ts';
import { isSeated } from '../core/configuration.ts';
import type { Replica } from '../core/replica.ts';

/** Whether a replica leads, and the promise to that other one has run out, or no configuration that counts seats the other. */
export function leadsWithout({ role, view }: Replica, storage: string, now: Instant): boolean {
  if (role !== 'leader') return false;
  const { log, leases } = view;
  const isMember = log.countingConfigurations.some((configuration) => isSeated(configuration, storage));
  return !isMember || !leases.mayHavePromised(storage, now);
}
