import { isReference } from '../../../../engine/core/item.ts'
import { scheduledPartition } from '../../../../engine/core/keys.ts'
import {
  decodeScheduled,
  dueOfRow,
  indexesLeft,
  scheduledBytes,
} from '../../../../engine/core/later.ts'
import { isPatient } from '../../../../engine/core/record.ts'
import type { Change } from '../../../../testing/simulated/dynamodb/database.ts'
import type { Item } from '../../../../testing/simulated/dynamodb/values.ts'
import { getOrMake } from '../harness/get-or-make.ts'
import { checkJoined } from './availability.ts'
import { noteScheduled } from './check-arrival.ts'
import { endItem } from './check-settling.ts'
import type { Fate } from './ledger.ts'
import type { Model, QueueModel } from './model.ts'
import { groupOf, nameOf, type ScheduledItem } from './scheduled-items.ts'
import type { Commit, Snapshot } from './snapshot.ts'

/** What a write to the record did to its own list, and to the rows that count. */
export function noteScheduledInRecord({ model, queueModel, before, after }: Commit): void {
  noteList(model, queueModel, before?.stored.T ?? [], after?.stored.T ?? [], undefined)
  const [rowsBefore, rowsAfter] = [partitionOf(before), partitionOf(after)]
  if (rowsBefore === rowsAfter) return
  for (const [sk, row] of model.rows.partition(rowsBefore) ?? []) {
    noteList(model, queueModel, entriesIn(model, row), [], sk)
  }
  for (const [sk, row] of model.rows.partition(rowsAfter) ?? []) {
    noteList(model, queueModel, [], entriesIn(model, row), sk)
  }
}

const partitionOf = (snapshot: Snapshot | undefined): string =>
  snapshot?.stored.sc === undefined
    ? ''
    : scheduledPartition(snapshot.record.queue, snapshot.record.born, snapshot.record.scheduled.era)

const entriesIn = (model: Model, row: Item | undefined): readonly string[] =>
  row === undefined ? [] : model.rows.unpacked(row.d as Uint8Array)

/** A row counts if it is of the era that its record names. */
export function noteScheduledRow(model: Model, { pk, sk, oldItem, newItem }: Change): void {
  const queueModel = model.queue(pk.slice(2, pk.indexOf('#', 2)))
  if (partitionOf(queueModel.current) !== pk) return
  noteList(model, queueModel, entriesIn(model, oldItem), entriesIn(model, newItem), sk)
}

function noteList(
  model: Model,
  queueModel: QueueModel,
  was: readonly string[],
  is: readonly string[],
  row: string | undefined,
): void {
  let same = 0
  while (same < was.length && was[same] === is[same]) same += 1
  if (same === was.length && same === is.length) return
  const { scheduled, queue } = queueModel
  model.changed.add(queueModel)
  const kept = new Set(is.slice(same))
  const changeOf = (text: string, isNew: boolean) =>
    getOrMake(scheduled.changes, nameOf(text), () => ({ isNew }))
  for (const text of was.slice(same)) if (!kept.delete(text)) changeOf(text, false).lost = text
  for (const text of kept) {
    const isNew = !scheduled.groups.has(nameOf(text))
    Object.assign(changeOf(text, isNew), { gained: text, row })
    if (!isNew) continue
    const group = groupOf(model, queue, text, row)
    for (const one of group?.items.values() ?? []) noteScheduled(model, queue, one)
  }
}

/** Once a request is done: what has left, and whether the record counts right. */
export function judgeScheduled(model: Model, queueModel: QueueModel): void {
  const { scheduled, current } = queueModel
  const { changes, joining } = scheduled
  const joined: ScheduledItem[] = []
  for (const [name, { lost, gained, row, isNew }] of changes) {
    const group = scheduled.groups.get(name)
    if (group === undefined) continue
    if (lost !== undefined && gained !== undefined && group.row !== row) {
      if (row !== undefined) model.world.statistics.count('path sealed for later')
    } else if (gained !== undefined && lost === undefined && !isNew) {
      model.violated('an item is in one place', `${name} is scheduled twice`)
    }
    const left = new Set(gained === undefined ? [] : indexesLeft(decodeScheduled(gained)))
    for (const [index, one] of group.items) {
      if (left.has(index)) continue
      group.items.delete(index)
      scheduled.count -= 1
      one.untilCommit = model.commits
      if (joining.has(one.id)) joined.push(one)
      else leave(model, queueModel, one)
      one.record.live -= 1
      model.touched.add(one.record)
    }
    if (group.items.size === 0) scheduled.groups.delete(name)
    else Object.assign(group, { text: gained, row })
  }
  if (joined.length > 0) checkJoined(model, queueModel, joined)
  const takings = current?.record.scheduled.changes ?? 0
  if (takings !== scheduled.takings) scheduled.changedAtCommit = model.commits
  scheduled.takings = takings
  changes.clear()
  joining.clear()
  if (current !== undefined) checkScheduledRecord(model, queueModel, current)
}

/** Without joining: by its id, or by a purge of all. */
function leave(model: Model, { queue }: QueueModel, { id, record }: ScheduledItem): void {
  const { operation, world } = model
  const { command, effects } = operation ?? {}
  const end = (fate: Fate, path: string): void => {
    endItem(model, record, fate)
    world.statistics.count(`path ${path}`)
    model.noteEffect(`${record.text} was ${fate}`)
  }
  if (command?.queue !== queue || effects === undefined) {
    model.violated('what is scheduled leaves by a call', `${record.text} of ${queue}`)
  } else if (command.verb === 'cancel' && command.request.includes(id)) {
    effects.takenOut.add(id)
    end('cancelled', 'cancelled while scheduled')
  } else if (command.verb === 'move' && command.request.ids.includes(id)) {
    effects.takenOut.add(id)
    model.moved.add(record)
    world.statistics.count('path moved while scheduled')
    model.noteEffect(`${record.text} was moved`)
  } else if (
    command.verb === 'purge' &&
    (command.request.ids ?? command.request.priority) === undefined
  ) {
    effects.purged += 1
    end('purged', 'purged while scheduled')
  } else {
    model.violated('what is scheduled leaves by a call', `${record.text} of ${queue}`)
  }
}

/** Whether what is scheduled lies in this batch, which may not go then. */
export const isBatchScheduled = ({ scheduled }: QueueModel, batch: string): boolean =>
  [...scheduled.groups.values()]
    .map(({ text }) => decodeScheduled(text).entry)
    .some((entry) => isReference(entry) && entry.slice(2, 10) === batch)

/** What the record says of its scheduled items: how many, how large, when the first is due, which rows are new. */
function checkScheduledRecord(model: Model, queueModel: QueueModel, { record }: Snapshot): void {
  const { queue, scheduled } = queueModel
  const { entries, items, bytes, nextDue, unseen } = record.scheduled
  const say = (rule: string, what: string) => model.violated(rule, `${queue}: ${what}`)
  const inRecord = entries.reduce((sum, entry) => sum + scheduledBytes(entry), 0)
  if (items !== scheduled.count || bytes !== inRecord) {
    const recounted = `a recount gives ${scheduled.count} and ${inRecord} bytes`
    say('counts equal a recount', `${items} scheduled, ${bytes} bytes, ${recounted}`)
  }
  let [first, firstInRows] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  const rows = new Set<string>()
  for (const { due, row } of scheduled.groups.values()) {
    first = Math.min(first, due)
    if (row === undefined) continue
    rows.add(row)
    firstInRows = Math.min(firstInRows, due)
  }
  if ((nextDue ?? Number.POSITIVE_INFINITY) > firstInRows) {
    say('the earliest row is known', `${firstInRows}, and the record says ${nextDue}`)
  }
  for (const sk of unseen) {
    if (!rows.has(sk)) say('a row that the record names is there', `${dueOfRow(sk)} ${sk}`)
  }
  if (first === Number.POSITIVE_INFINITY) return
  const { nowMs } = model.world.scheduler
  const isAhead = 1_000 * first > nowMs + model.world.skewMaxMs
  const { checkAtMs = Number.POSITIVE_INFINITY } = record
  // A cancel has emptied the row that the record takes for the next: until somebody looks there, the sweeper of a full
  // queue may put the timer off by a minute. A known lateness of at most that, and not of what the others show.
  const isMisled = (nextDue ?? first) < first
  if (isAhead && !isMisled && isPatient(checkAtMs)) {
    say('a patient timer hides no prompt one', `${checkAtMs} hides what is due at ${first}`)
  }
  if (isAhead && !isMisled ? checkAtMs > 1_000 * first : checkAtMs === Number.POSITIVE_INFINITY) {
    say('what is due has its timer', `${first}, and the timer is at ${checkAtMs}`)
  }
}
