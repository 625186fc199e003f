/** Ids of views are ordered by their numbers, which compare as texts (`membership/core/view.ts`); the digest at the end says nothing about the order. */

export const isLaterView = (one: string, other: string): boolean => numbersOf(one) > numbersOf(other);

const numbersOf = (id: string): string => id.slice(0, id.lastIndexOf('.'));
