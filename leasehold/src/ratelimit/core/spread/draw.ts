/** So many of the items, each at most once, in any order. The list is shuffled in place. */
export function draw<T>(items: T[], count: number, random: () => number): T[] {
  for (let i = 0; i < Math.min(count, items.length); i++) {
    const j = i + Math.floor(random() * (items.length - i));
    [items[i], items[j]] = [items[j] as T, items[i] as T];
  }
  return items.slice(0, count);
}
