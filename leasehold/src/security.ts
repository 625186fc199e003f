/** Tokens, for the option `tls` and for tests that make clusters of their own: `leasehold/security`. */

export {
  createRoot,
  createToken,
  type CreateTokenOptions,
  readToken,
  RefusedError,
  type TokenInfo,
} from './node/identity/security.ts';
