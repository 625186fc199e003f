/** Forms of single values that every message of shared and of spread limits may have, with their bounds. */

import { Flaw } from '../../runtime/msgpack/flaw.ts';
import {
  checked,
  double,
  type Form,
  milliseconds,
  record,
  text,
  wholeUpTo,
} from '../../runtime/wire/form.ts';

/** A text that is not empty, bounded in UTF-16 units as options are. A unit takes at most three bytes. */
export const characters = (most: number): Form<string> =>
  checked(
    text(3 * most),
    (value) => value !== '' && value.length <= most,
    `must be a text of 1 to ${most} characters`,
  );

/** Also of a time that an application chose, such as that of a block. */
export const time: Form<number> = milliseconds(Number.MAX_VALUE);

/** Finite, of either sign. */
export const finite = (most: number = Number.MAX_VALUE): Form<number> =>
  checked(double, (value) => Math.abs(value) <= most, `must be from -${most} to ${most}`);

interface Versioned<T> {
  readonly version: number;
  readonly message: T;
}

/**
 * A datagram of a group has no handshake of its own, so its first byte names the version of the form. A datagram of another version is
 * refused as a whole, and never read as something else.
 */
export const versioned = <T>(version: number, message: Form<T>): Form<Versioned<T>> =>
  record<Versioned<T>>({
    version: {
      ...wholeUpTo(version),
      read: (reader) => {
        const found = reader.varint();
        if (found === version) return version;
        throw new Flaw(`must be ${version}, that of this server: run one version of the toolkit in a group`);
      },
      samples: () => [version],
    },
    message,
  });
