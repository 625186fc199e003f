/** Where a server is: agreeing on the next view, in a view, without one for too long, or gone. */

import type { Instant } from '../../runtime/time.ts';
import type { Chain } from './chain.ts';
import type { View } from './view.ts';
import type { ViewLease } from './view-lease.ts';

export type State =
  | { readonly kind: 'changing'; readonly since: Instant; readonly view: View | undefined }
  | { readonly kind: 'in-view'; readonly lease: ViewLease; readonly chain: Chain }
  | { readonly kind: 'panicking' }
  | { readonly kind: 'left' };
