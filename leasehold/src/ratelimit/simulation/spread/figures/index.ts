/** All figures, for `npm run figures`. */

import type { Figure } from './figure.ts';
import { limitFigures } from './limits.ts';
import { totalsFigures } from './totals.ts';

export { svgOf } from './svg.ts';

export const figures = (): Figure[] => [...limitFigures(), ...totalsFigures()];
