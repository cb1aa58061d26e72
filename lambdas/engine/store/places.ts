import { type BatchReference, decodeReference } from '../core/entry.ts'
import { type Lane, segmentOf } from '../core/record.ts'
import type { Fact } from './segments.ts'

type BatchPart = {
  readonly key: string
  readonly reference: BatchReference
  readonly part: number
}
/** Where in a batch an item is. */
export type Part = BatchPart & { readonly at: number }

/**
 * The names under which a read of one queue remembers segments and parts of batches. Neighbours have the same name,
 * often a hundred items in a row, so we keep the one made for the item before.
 */
export class Places {
  readonly #queue: string
  #segment: { readonly lane: Lane; readonly number: number; readonly key: string } | undefined
  #part: (BatchPart & { readonly text: string }) | undefined

  constructor(queue: string) {
    this.#queue = queue
  }

  segmentKey(lane: Lane, sequence: number): string {
    const number = segmentOf(lane, sequence)
    const before = this.#segment
    if (before?.lane === lane && before.number === number) return before.key
    const key = `${this.#queue}/${lane.epoch}/${lane.priority}/${number}`
    this.#segment = { lane, number, key }
    return key
  }

  partOf({ reference: text, index }: Exclude<Fact, string>): Part {
    const before = this.#part?.text === text ? this.#part : undefined
    const reference = before?.reference ?? decodeReference(text)
    const part = Math.floor(index / reference.partItems)
    const at = index % reference.partItems
    if (before?.part === part) return { key: before.key, reference, part, at }
    const key = `${this.#queue}/${reference.batch}/${part}`
    this.#part = { text, key, reference, part }
    return { key, reference, part, at }
  }
}
