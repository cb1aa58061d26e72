import type { BatchReference } from '../../../../engine/core/item.ts'
import { parseItemId } from '../../../../engine/core/keys.ts'
import type { Range } from '../../../../engine/core/ranges.ts'
import type { QueuePatternInput, Queues } from '../../../../engine/queues.ts'
import type { Command, CommandOf, Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { getOrMake } from '../harness/get-or-make.ts'
import type { World } from '../harness/world.ts'
import { Availability } from './availability.ts'
import type { LockModel } from './check-locks.ts'
import { Seats } from './check-waiting.ts'
import { type ItemRecord, Ledger, type PushedBy } from './ledger.ts'
import { Rows } from './rows.ts'
import { ScheduledItems } from './scheduled-items.ts'
import { type LaneLog, laneKey, type Place, type Snapshot } from './snapshot.ts'

/** The plain model of everything in the store, fed with each committed write, one after another. */
export class Model {
  readonly world: World
  readonly ledger = new Ledger()
  readonly rows = new Rows()
  /** Every revision of the patterns that there ever was, as those who put them meant it. */
  readonly patterns: (readonly QueuePatternInput[])[] = [[]]
  readonly seats = new Seats()
  readonly #queues = new Map<string, QueueModel>()
  readonly #logs = new Map<string, LaneLog>()
  commits = 0
  operations = 0
  /** Items that pushes have appended so far. */
  pushed = 0
  /** Items that the request under way has touched; we judge them when it is done. */
  readonly touched = new Set<ItemRecord>()
  readonly touchedPushes = new Set<PushedBy>()
  readonly moved = new Set<ItemRecord>()
  readonly changed = new Set<QueueModel>()
  /** Numbers whose items must still be readable after it. */
  readonly toRead = new Map<LaneLog, Range[]>()
  readonly #batches = new Map<string, AppendedBatch>()
  /** The operation that wrote a batch, by the partition of its rows or the key of its object. */
  readonly batchWriters = new Map<string, Operation>()

  /** Where the last push of each process that lingers came to lie, by process and lane. */
  readonly lastOfCalls = new Map<string, { sequence: number; operation: number }>()

  constructor(world: World) {
    this.world = world
  }

  queue(queue: string): QueueModel {
    return getOrMake(this.#queues, queue, () => new QueueModel(queue))
  }

  queues(): IterableIterator<QueueModel> {
    return this.#queues.values()
  }

  log(queue: string, epoch: string, priority: number): LaneLog | undefined {
    return this.#logs.get(laneKey(queue, epoch, priority))
  }

  place(queue: string, id: string | undefined): Place | undefined {
    const at = parseItemId(id)
    return at && this.log(queue, at.epoch, at.priority)?.places[at.sequence]
  }

  batch(queue: string, batch: string): AppendedBatch | undefined {
    return this.#batches.get(`${queue}/${batch}`)
  }

  noteBatch(log: LaneLog, start: number, reference: BatchReference): void {
    this.#batches.set(`${log.queue}/${reference.batch}`, { log, start, reference })
  }

  mustRead(log: LaneLog, from: number, to: number): void {
    getOrMake(this.toRead, log, () => []).push({ from, to })
  }

  makeLog(queue: string, epoch: string, priority: number): LaneLog {
    const log: LaneLog = { queue, epoch, priority, places: [] }
    this.#logs.set(laneKey(queue, epoch, priority), log)
    return log
  }

  get operation(): Operation | undefined {
    return this.world.applying?.operation
  }

  violated(rule: string, explanation: string): void {
    const { operation } = this
    const by = operation === undefined ? '' : ` (by #${operation.id} ${operation.command.verb})`
    this.world.violated(rule, explanation + by)
  }

  /** Something that an operation's caller would call its effect. */
  noteEffect(what: string, operation = this.operation): void {
    if (operation?.outcome?.kind !== 'refused') return
    const { code } = operation.outcome.error
    this.violated('a definite error changed nothing', `${what} after the answer ${code}`)
  }
}

type AppendedBatch = {
  readonly log: LaneLog
  readonly start: number
  readonly reference: BatchReference
}

export class QueueModel {
  readonly queue: string
  current: Snapshot | undefined
  births = 0
  /** It has had so many lanes that its record may lack where some of their items lie. */
  isWide = false
  /** The commit since which something has been free all the time. */
  freeSinceCommit: number | undefined
  freeSinceMs = 0
  takenMs = 0
  configuredAtCommit = 0
  /** Since when, and by whom, there has been nothing to pop and no mark that says so. */
  silence: { readonly sinceCommit: number; readonly by: Operation | undefined } | undefined
  readonly locks = new Map<string, LockModel>()
  readonly scheduled = new ScheduledItems()
  readonly availability = new Availability()

  constructor(queue: string) {
    this.queue = queue
  }
}

/** A call under judgement, by what its requests did and what was true meanwhile. */
export type Asked = {
  readonly model: Model
  readonly operation: Operation
  readonly command: Command
  readonly effects: Operation['effects']
  readonly queueModel: QueueModel
  readonly say: (rule: string, explanation: string) => void
}

/** A success: what the caller asked and what it got. */
export type Answer<V extends Verb = Verb> = Asked & {
  readonly command: CommandOf<V>
  readonly value: Awaited<ReturnType<Queues[V]>>
}

export type Refusal = Asked & { readonly code: string }
