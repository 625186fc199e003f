/** Apart from `tls-option.ts`, so that published types that name the option need none of Node's types. */

/** Each is a path, or the text of such a file. */
export interface TlsOption {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}
