import { text } from './option-table.ts'

/** Items by their ids, with commas between them. */
export const idsOption = (help: string) => text('A,B', help)

export const idsGiven = (given: string | undefined): string[] | undefined =>
  given?.split(',').filter((id) => id !== '')

/** The most ids that one call of the API takes. */
const IDS_PER_CALL = 100

/** The answers to all ids, a hundred at a time, in their order. */
export async function byHundreds<T>(
  ids: readonly string[],
  call: (some: readonly string[]) => Promise<readonly T[]>,
): Promise<T[]> {
  const results: T[] = []
  for (let at = 0; at < ids.length; at += IDS_PER_CALL) {
    results.push(...(await call(ids.slice(at, at + IDS_PER_CALL))))
  }
  return results
}
