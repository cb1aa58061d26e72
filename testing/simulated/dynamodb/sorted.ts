/** The first place in a sorted list whose entry is not before what is looked for. */
export function sortedIndex<T>(list: readonly T[], order: (entry: T) => number): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (order(list[middle] as T) < 0) low = middle + 1
    else high = middle
  }
  return low
}
