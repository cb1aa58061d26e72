import type { QueueRecord } from '../../../../lambdas/engine/core/record.ts'
import type { StoredRecord } from '../../../../lambdas/engine/core/stored-record.ts'
import { decodeRecord } from '../../../../lambdas/engine/core/stored-record.ts'
import type { Item } from '../../../../testing/simulated/dynamodb/value.ts'
import { type LaneView, viewLane } from './lane-view.ts'
import type { Model, QueueModel } from './model.ts'

/** One write to a queue record. */
export type Commit = {
  readonly model: Model
  readonly queue: string
  readonly queueModel: QueueModel
  readonly before: Snapshot | undefined
  readonly after: Snapshot | undefined
}

/** One whose record is there after it. */
export type Put = Commit & { readonly after: Snapshot }

/** One whose record was there before it too. */
export type Write = Put & { readonly before: Snapshot }

/** A queue record at one moment: as stored, decoded, and its lanes as the model sees them. */
export class Snapshot {
  readonly stored: StoredRecord
  readonly record: QueueRecord
  readonly #views = new Map<number, LaneView>()

  constructor(item: Item) {
    this.stored = item as unknown as StoredRecord
    this.record = decodeRecord(this.stored)
  }

  view(priority: number): LaneView | undefined {
    const known = this.#views.get(priority)
    if (known !== undefined) return known
    const lane = this.record.lanes.get(priority)
    if (lane === undefined) return undefined
    const view = viewLane(this.record, priority, lane)
    this.#views.set(priority, view)
    return view
  }

  /** Items that a pop could take if it ended no lock. */
  hasFree(): boolean {
    for (const priority of this.record.lanes.keys()) {
      if ((this.view(priority) as LaneView).free.length > 0) return true
    }
    return false
  }
}
