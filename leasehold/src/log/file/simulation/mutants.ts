import type { Mutant } from '../../../sim/simulation.ts';
export const mutants: readonly Mutant[] = [];
