/**
 * Connections by the network they come from, so that a crowd makes room by itself.
 *
 * When a limit is reached, the oldest connection of the busiest origin is closed, and not the newcomer: a stranger that
 * fills a table displaces its own connections, and cannot keep others out. Origins are compared by size, so a stranger
 * at another origin than an honest peer displaces that peer only after all larger groups have shrunk to the peer's own.
 *
 * The busiest origin is found in constant time, because it is wanted most when connections arrive fastest: groups of one
 * size are kept together, and a size changes by one at a time.
 */

/**
 * The part of a remote address that one stranger cannot choose freely: an IPv4 address, also one that is mapped into IPv6,
 * or the first 64 bits of an IPv6 address, because a single host has all addresses of such a network.
 */
export function originOf(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = '', tail] = address.replace(/%.*$/, '').toLowerCase().split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}

export class AddressGroups<T> {
  readonly #groupOf = new Map<T, Group<T>>();
  readonly #byOrigin = new Map<string, Group<T>>();
  readonly #bySize = new Map<number, Set<Group<T>>>();
  #largest = 0;

  get size(): number {
    return this.#groupOf.size;
  }

  add(item: T, origin: string): void {
    if (this.#groupOf.has(item)) return;
    const group = this.#byOrigin.get(origin) ?? { origin, items: new Set<T>() };
    this.#byOrigin.set(origin, group);
    this.#groupOf.set(item, group);
    group.items.add(item);
    this.#moved(group, group.items.size - 1);
    this.#largest = Math.max(this.#largest, group.items.size);
  }

  delete(item: T): void {
    const group = this.#groupOf.get(item);
    if (group === undefined) return;
    this.#groupOf.delete(item);
    group.items.delete(item);
    this.#moved(group, group.items.size + 1);
    if (!this.#bySize.has(this.#largest)) this.#largest -= 1;
    if (group.items.size === 0) this.#byOrigin.delete(group.origin);
  }

  /** Of one origin, or else of the origin that has the most; undefined if there is none. */
  oldest(origin?: string): T | undefined {
    const group =
      origin === undefined ? firstOf(this.#bySize.get(this.#largest)) : this.#byOrigin.get(origin);
    return firstOf(group?.items);
  }

  sizeOf(origin: string): number {
    return this.#byOrigin.get(origin)?.items.size ?? 0;
  }

  /** The size of the largest group. */
  get largest(): number {
    return this.#largest;
  }

  #moved(group: Group<T>, before: number): void {
    const { size } = group.items;
    const left = this.#bySize.get(before);
    const joined = this.#bySize.get(size);
    if (left?.size === 1) {
      this.#bySize.delete(before);
      // Most often one origin has nearly all connections, and is alone in its size: nothing is made anew for it.
      if (joined === undefined && size > 0) {
        this.#bySize.set(size, left);
        return;
      }
    } else left?.delete(group);
    if (size === 0) return;
    if (joined === undefined) this.#bySize.set(size, new Set([group]));
    else joined.add(group);
  }
}

interface Group<T> {
  readonly origin: string;
  /** The oldest first. */
  readonly items: Set<T>;
}

const firstOf = <T>(items: Set<T> | undefined): T | undefined => items?.values().next().value;
