/**
 * Where a server is: agreeing on the next view, in a view, without one for too long, or gone.
 *
 *                    all propose the same set
 *     changing ───────────────────────────────────► in view
 *      ▲    │ noViewAfterMs,                          │
 *      │    │ or registration lost                    │
 *      │    └────────► no-view ────────────────────►   │ the records or the registry describe another set,
 *      │                     all propose the same set  │ or the machine was suspended
 *      └───────────────────────────────────────────────┘
 */

import type { Instant } from '../../runtime/time.ts';
import type { Chain } from './chain.ts';
import type { MemberView } from './view.ts';
import type { ViewLease } from './view-lease.ts';

export type State =
  | { readonly kind: 'changing'; readonly since: Instant; readonly view: MemberView | undefined }
  | { readonly kind: 'in-view'; readonly lease: ViewLease; readonly chain: Chain }
  | { readonly kind: 'no-view' }
  | { readonly kind: 'left' };
