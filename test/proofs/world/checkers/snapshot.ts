import type { QueueRecord } from '../../../../engine/core/record.ts'
import type { StoredRecord } from '../../../../engine/core/stored-record.ts'
import { decodeRecord } from '../../../../engine/core/stored-record.ts'
import type { Item } from '../../../../testing/simulated/dynamodb/values.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { getOrMake } from '../harness/get-or-make.ts'
import { type LaneView, viewLane } from './lane-view.ts'
import type { Model, QueueModel } from './model.ts'

/** One write to a queue record. */
export type Commit = {
  readonly model: Model
  readonly queue: string
  readonly queueModel: QueueModel
  /** Whose request it is. */
  readonly operation: Operation | undefined
  /** Its call, if that is about this queue. */
  readonly command: Command | undefined
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
    const lane = this.record.lanes.get(priority)
    return lane && getOrMake(this.#views, priority, () => viewLane(this.record, priority, lane))
  }

  /** Items that a pop could take if it ended no lock. */
  hasFree(): boolean {
    const priorities = [...this.record.lanes.keys()]
    return priorities.some((priority) => (this.view(priority)?.free.length ?? 0) > 0)
  }
}
