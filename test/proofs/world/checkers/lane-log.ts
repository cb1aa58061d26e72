import type { Item } from '../../../../lambdas/engine/core/entry.ts'
import type { ItemRecord } from './ledger.ts'

/** What the plain model knows of a lane: each sequence number's item, fixed for ever. */
export type LaneLog = {
  readonly queue: string
  readonly epoch: string
  readonly priority: number
  readonly places: Place[]
}

export type Place = {
  /** The entry as it was appended, or as its batch holds it. */
  readonly entry: string
  readonly item: Item
  readonly record: ItemRecord
  readonly sinceMs: number
  /** How often a pop has handed it out. */
  handouts: number
}

export const laneKey = (queue: string, epoch: string, priority: number): string =>
  `${queue}/${epoch}/${priority}`
