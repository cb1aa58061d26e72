import { decodeReference, isReference } from '../../../../engine/core/item.ts'
import { batchObjectKey, segmentObjectKey, segmentPartition } from '../../../../engine/core/keys.ts'
import { segmentOf } from '../../../../engine/core/record.ts'
import { checkKeysOnce } from './check-pushed.ts'
import { type ItemRecord, isAnsweredWithSuccess } from './ledger.ts'
import type { Model } from './model.ts'

/** After the drain: where every pushed item went, and what the store still holds. */
export function checkEnd(model: Model): void {
  const { world, ledger } = model
  for (const pushedBy of ledger.pushes()) {
    const { texts, appended, operations } = pushedBy
    if (appended === 0 && isAnsweredWithSuccess(pushedBy)) {
      world.violated('every push is delivered, dead-lettered, purged or stored', texts.join())
    }
    // What was pushed in a transaction came with the caller's own row.
    const { command } = operations[0] ?? {}
    if (appended === 0 || command === undefined || !('businessRow' in command)) continue
    if (model.rows.row(command.businessRow, 'business') !== undefined) continue
    world.violated('a transaction is all or nothing', `${command.businessRow} is not there`)
  }
  for (const { text, appended, live, fate } of ledger.items()) {
    if (appended && (live !== 0 || (fate === undefined && !ledger.schedules.has(text)))) {
      world.violated('after a drain nothing is missing', `${text}: ${live} live, ${fate}`)
    }
    if (fate !== undefined) world.statistics.count(`fate ${fate}`)
    else if (!appended) world.statistics.count('fate never pushed')
    const business = model.rows.row(`business#${text}`, 'business')
    if (business !== undefined && !appended) world.violated('a transaction is all or nothing', text)
  }
  checkKeysOnce(model)
  const strays = findStrays(model)
  world.statistics.count('stray rows and objects', strays.length)
  // Nobody can delete what he wrote once his time is up: an answer may wait for the transactions of others until then.
  if (world.faultFree && strays.length > world.statistics.get('background discard-batch failed')) {
    world.violated('without faults nothing is left over', strays.join(', '))
  }
}

/**
 * Rows and objects that no record leads to. A lane may keep those of the segment that its head is
 * in, and of later ones; with the lane they go too.
 */
function findStrays(model: Model): string[] {
  const { rows, world, batchWriters } = model
  const known = new Set<string>()
  for (const [place, { command, outcome }] of batchWriters) {
    // The caller's transaction never came: this is documented, and the engine cannot know. Nor can a process that has died
    // delete what it wrote: that happens without any fault as well, where the actor lets it die.
    const isKnown = /^(pushTransactItem|transact)$/.test(command.verb)
    if (isKnown || outcome?.kind === 'crashed') known.add(place)
  }
  for (const { queue, current } of model.queues()) {
    const know = (entry: string): void => {
      const { batch } = decodeReference(entry)
      known.add(`b#${queue}#${batch}`).add(batchObjectKey(queue, batch))
    }
    if (current !== undefined && current.record.scheduled.purged.length > 0) {
      for (const pk of rows.partitions()) if (pk.startsWith(`t#${queue}#`)) known.add(pk)
    }
    for (const [priority, lane] of current?.record.lanes ?? []) {
      for (const entry of lane.tail) if (isReference(entry)) know(entry)
      const last = segmentOf(lane, lane.sealed)
      for (let segment = segmentOf(lane, lane.head); segment <= last; segment += 1) {
        const pk = segmentPartition(queue, lane.epoch, priority, segment)
        known.add(pk).add(segmentObjectKey(queue, lane.epoch, priority, segment))
        for (const { reference } of rows.chunks(pk)) {
          if (reference !== undefined) know(reference.entry)
        }
      }
    }
  }
  const strays: string[] = []
  for (const pk of rows.partitions()) {
    if (!/^[sbt]#/.test(pk) || known.has(pk)) continue
    for (const sk of rows.partition(pk)?.keys() ?? []) strays.push(`${pk}/${sk}`)
  }
  for (const key of world.store.objects.keys()) {
    if (!known.has(key)) strays.push(`s3:${key}`)
  }
  return strays
}

/** What a producer sent to the inbox: the texts of its items, or one text that is no push. */
export type Sent = { readonly queue: string; readonly texts: readonly string[] }

/**
 * Every message that SQS accepted is in its queue or among its dead letters, once, or was given up where it has none;
 * and what was pushed without a key is there in the order in which SQS has it.
 */
export function checkInbox(model: Model, accepted: readonly Sent[], givenUp: readonly string[]) {
  const { ledger, world } = model
  const last = new Map<string, number>()
  for (const { queue, texts } of accepted) {
    const records = texts.map((text) => ledger.item(text))
    const [pushedBy] = records.map((record) => record?.pushedBy)
    if (records.some((record) => record?.first === undefined) || pushedBy === undefined) {
      const isKept = givenUp.some((body) => body.includes(texts[0] as string))
      if (!isKept)
        world.violated('what the inbox accepted is pushed', `${texts.join()} to ${queue}`)
      continue
    }
    // A repetition has the place of the first, which may have gone beside the inbox.
    if (pushedBy.key !== undefined) continue
    for (const { text, first = { at: 0, lane: '' } } of records as ItemRecord[]) {
      const lane = `${queue} in ${first.lane}`
      if (first.at < (last.get(lane) ?? 0)) {
        world.violated('the inbox keeps its order', `${text} came too early to ${lane}`)
      }
      last.set(lane, first.at)
    }
  }
}
