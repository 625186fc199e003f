/**
 * Where a server is: agreeing on the next view, in a view, without one for too long, or gone.
 *
 *                    all propose the same set
 *     changing ───────────────────────────────────► in view
 *      ▲    │ panicMs, or registration lost            │
 *      │    └────────► panicking ──────────────────►   │ the records or the registry describe another set,
 *      │                     all propose the same set  │ or the machine was suspended
 *      └───────────────────────────────────────────────┘
 */

import type { Instant } from '../../runtime/time.ts';
import type { Chain } from './chain.ts';
import type { View } from './view.ts';
import type { ViewLease } from './view-lease.ts';

export type State =
  | { readonly kind: 'changing'; readonly since: Instant; readonly view: View | undefined }
  | { readonly kind: 'in-view'; readonly lease: ViewLease; readonly chain: Chain }
  | { readonly kind: 'panicking' }
  | { readonly kind: 'left' };
