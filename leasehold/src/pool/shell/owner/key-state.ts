/**
 * The state by key that the library keeps for the application, or moves for it: leased maps, and movables by name.
 *
 * With `moves` a map needs a name, because keys move only between owners that have the same names; the entries of a map without one would vanish in a
 * move, and no caller would be told.
 */

import { environment } from '../../../node/process/environment.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { fillIn, type OptionTable, optional } from '../../../runtime/option-table.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import type { KeyCarrier } from '../moves/key-carrier.ts';
import { LeasedMap, type Leases } from '../state/leased-map.ts';
import { type LeasedMapOptions, resolveLeasedMap } from '../state/leased-map-options.ts';
import type { ItemCodec, Movable } from '../state/movable.ts';

/** @internal */
export interface KeyStateAround {
  readonly leases: Leases;
  readonly runtime: Runtime;
  readonly moves: boolean;
  /** Undefined if this owner can be brought nothing. */
  readonly carrier: KeyCarrier | undefined;
  /** Other owners are to know the names. */
  namesChanged(): void;
}

const FUNCTIONS = is.functions<Movable<unknown>>('snapshot', 'changes', 'done', 'stage');
const FORM: OptionTable<Pick<Movable<unknown>, 'version' | 'reads' | 'codec'>> = {
  version: optional(is.whole(1), '1'),
  reads: optional(is.wholes(1)),
  codec: optional(is.functions<ItemCodec<unknown>>('encode', 'decode'), 'structured clone'),
};

/** At once: otherwise each move would fail, one after the other. State of a class may have more names than these. */
function checkMovable(state: unknown): void {
  fillIn('movable ', FUNCTIONS.check('movable state', state), FORM);
}

/** @internal */
export class KeyState {
  readonly #around: KeyStateAround;
  readonly #maps: Pick<LeasedMap<unknown>, 'name' | 'forget' | 'close'>[] = [];
  readonly #names = new Set<string>();
  #isToldSoon = false;

  constructor(around: KeyStateAround) {
    this.#around = around;
  }

  leasedMap<T>(name: string | undefined, options: LeasedMapOptions<T>): LeasedMap<T> {
    if (typeof name === 'object' && name !== null)
      throw invalidOption('leasedMap name', 'an object', "the name comes first: leasedMap('carts', { … })");
    const settings = resolveLeasedMap(name, options);
    const { leases, runtime, moves } = this.#around;
    if (name === undefined && moves)
      throw invalidOption(
        'leasedMap name',
        name,
        'with moves a map needs a name, the same in every process of the pool: its entries move with their keys',
      );
    if (name !== undefined)
      this.#checkIsFree('leasedMap name', name, 'this owner has a map of that name: make each map once');
    const freezes = name !== undefined && environment('NODE_ENV') === 'development';
    const map = new LeasedMap<T>({ ...{ name, settings, freezes }, ...{ leases, runtime } });
    if (name !== undefined) this.#name(name, moves ? map.movable : undefined);
    this.#maps.push(map);
    return map;
  }

  movable<Item>(name: string, state: Movable<Item>): void {
    if (!this.#around.moves)
      throw invalidOption('movable', name, 'this owner moves nothing: join the pool with moves: true');
    is.name(LONGEST_NAME).check('movable name', name);
    checkMovable(state);
    this.#checkIsFree('movable name', name, 'this owner has state of that name: name each once');
    this.#name(name, state);
  }

  /** These keys are lost: what is remembered is worth nothing. */
  forget(spans: readonly NumberedSpan[]): void {
    for (const map of this.#maps) map.forget(spans);
  }

  close(): void {
    for (const map of this.#maps) map.close();
  }

  #checkIsFree(option: string, name: string, rule: string): void {
    if (this.#names.has(name)) throw invalidOption(option, name, rule);
  }

  #name<Item>(name: string, state: Movable<Item> | undefined): void {
    const { carrier, namesChanged } = this.#around;
    if (state !== undefined) carrier?.movable(name, state);
    this.#names.add(name);
    if (state === undefined || this.#isToldSoon) return;
    this.#isToldSoon = true;
    // An application names all it has in one turn.
    queueMicrotask(() => {
      this.#isToldSoon = false;
      namesChanged();
    });
  }
}
