/** Ids of views are ordered by their numbers (`membership/core/view.ts`); the digest at the end says nothing about the order. */

export function isLaterView(one: string, other: string): boolean {
  const [greatest = 0, sum = 0] = one.split('.').map(Number);
  const [otherGreatest = 0, otherSum = 0] = other.split('.').map(Number);
  return greatest > otherGreatest || (greatest === otherGreatest && sum > otherSum);
}
