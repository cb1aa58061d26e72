/**
 * Works through a list, a number of elements at a time. It begins another only while `mayBegin` allows it, and
 * returns how many it has begun. The work must handle its own errors.
 */
export async function sideBySide<T>(
  list: Iterable<T> | AsyncGenerator<T>,
  atOnce: number,
  work: (one: T) => Promise<void>,
  mayBegin: () => boolean = () => true,
): Promise<number> {
  const left = Symbol.asyncIterator in list ? list : list[Symbol.iterator]()
  let begun = 0
  const worker = async (): Promise<void> => {
    while (mayBegin()) {
      const pulled = left.next()
      const next = pulled instanceof Promise ? await pulled : pulled
      if (next.done === true) return
      begun += 1
      await work(next.value)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return begun
}
