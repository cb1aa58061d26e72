import type { BrowseRequest, PopRequest, PushItem } from '../../../../../engine/queues.ts'
import { deadLetterQueueOf, isDeadLetterQueue } from '../../../../../shared/bounds.ts'
import type { Random } from '../../../../../testing/random.ts'
import type { Command } from './command.ts'
import type { Knowledge, KnownLock } from './knowledge.ts'
import type { Drawn, Mix } from './mixes.ts'
import { drawLimit, drawPatterns, type Profile } from './profile.ts'

type Draw = {
  readonly profile: Profile
  readonly knowledge: Knowledge
  readonly random: Random
  readonly nowMs: number
  /** Queues that callers do not pop from. */
  readonly workedBy: ReadonlySet<string>
}

export function drawCommand(draw: Draw, mix: Mix): Command {
  const { random, profile } = draw
  const drawn = random.weighted<Drawn>(mix)
  const configured = random.pick(profile.queues)
  const often = drawn === 'housekeep' || drawn === 'popWithoutAck' || drawn === 'pop'
  const dead = deadLetterQueueOf(configured.queue)
  // Now and then the dead-letter queue itself is used, as any queue may be.
  const queue = random.chance(often ? 0.1 : 0.03) ? dead : configured.queue
  switch (drawn) {
    case 'push':
      return { verb: 'push', queue, request: { items: [drawPushItem(draw)] } }
    case 'bulkPush':
      return { verb: 'push', queue, request: { items: drawBulk(draw) } }
    case 'idempotentPush':
      return drawKeyedPush(draw, queue)
    case 'pushTransactItem': {
      const item = drawPushItem(draw)
      const businessRow = `business#${item.text}`
      return { verb: drawn, queue, item, businessRow, again: random.chance(0.3) }
    }
    case 'transact': {
      const items = random.chance(0.9)
        ? Array.from({ length: random.pick([1, 1, 2, 3]) }, () => drawPushItem(draw))
        : drawBulk(draw)
      const own = random.chance(0.8) ? 'passes' : random.pick(['refuses', 'throws'] as const)
      return { verb: drawn, queue, items, businessRow: `business#${items[0]?.text}`, own }
    }
    case 'pop':
    case 'popWithoutAck':
    case 'idempotentPop':
      return drawPop(draw, queue, drawn)
    case 'acknowledge':
    case 'acknowledgeMany':
    case 'extend':
    case 'release':
    case 'deadLetter':
      return drawSettling(draw, queue, drawn)
    case 'inspect':
      return { verb: drawn, queue, request: { consistent: random.chance(0.5) } }
    case 'browse':
      return { verb: drawn, queue, request: drawBrowse(draw, queue) }
    case 'configuration':
    case 'housekeep':
      return { verb: drawn, queue }
    case 'configure':
      return { verb: drawn, queue, request: drawConfiguration(profile, random) }
    case 'unconfigure':
      return { verb: drawn, queue, request: {} }
    case 'configurePatterns': {
      const request = random.chance(0.15) ? { ifMatch: random.between(1, 6) } : {}
      return { verb: drawn, queue: '', patterns: drawPatterns(profile, random), request }
    }
    case 'scheduled':
      return drawListing(draw, queue)
    case 'cancel':
    case 'move':
    case 'purgeByIds':
    case 'redriveByIds':
      return drawByIds(draw, queue, drawn)
    case 'purge': {
      const request = random.chance(0.5) ? {} : { priority: random.pick(profile.priorities) }
      return { verb: drawn, queue, request }
    }
    case 'redrive': {
      const request = random.chance(0.5) ? {} : { limit: random.between(1, 5) }
      return { verb: drawn, queue: dead, request }
    }
    case 'list':
    case 'returnExpiredLocks':
    case 'announceWaiting':
      return { verb: drawn, queue: '' }
    default:
      return drawn satisfies never
  }
}

function drawConfiguration({ limited, expiring }: Profile, random: Random) {
  const drawNewLimit = () => (random.chance(0.4) ? null : drawLimit(random))
  return {
    ...(random.chance(0.5) && { segmentSize: random.between(1, 10) }),
    ...(random.chance(0.5) && { bufferSegments: random.between(1, 3) }),
    ...(random.chance(0.3) && { maxDeliveries: random.pick([null, 1, 2, 3]) }),
    ...(random.chance(0.2) && { capacity: random.pick([null, null, 5, 50]) }),
    ...(limited && random.chance(0.4) && { pushLimit: drawNewLimit() }),
    ...(limited && random.chance(0.4) && { popLimit: drawNewLimit() }),
    ...(expiring && { itemTtlSeconds: random.pick([null, null, 1, 10, 600]) }),
    ...(expiring && random.chance(0.5) && { expired: random.pick(['discard', null] as const) }),
  }
}

const unknownLock = 'unknown0123'

/** What callers do with a lock; without one they pop. */
function drawSettling(
  draw: Draw,
  queue: string,
  verb: 'acknowledge' | 'acknowledgeMany' | 'extend' | 'release' | 'deadLetter',
): Command {
  const { knowledge, random, profile } = draw
  if (random.chance(0.02)) return { verb: 'acknowledge', queue, request: { lockId: unknownLock } }
  const lock = knowledge.lock(random)
  if (lock === undefined) return drawPop(draw, queue, 'pop')
  const { queue: its, lockId } = lock
  if (verb === 'extend') {
    return { verb, queue: its, request: { lockId, ttlSeconds: random.pick(profile.ttlSeconds) } }
  }
  if (verb === 'acknowledgeMany') {
    const others = [1, 2, 3].map(() => knowledge.lock(random, its)?.lockId)
    const lockIds = [lockId, ...others, random.chance(0.1) ? unknownLock : undefined]
    return { verb, queue: its, request: [...new Set(lockIds.filter((id) => id !== undefined))] }
  }
  const part = drawPart(draw, lock, verb === 'acknowledge' ? 0.2 : 0.4)
  if (verb === 'acknowledge') return { verb, queue: its, request: part }
  if (verb === 'release') return { verb, queue: its, request: { ...part, ...drawDelay(draw) } }
  const reason = random.chance(0.5) && { reason: 'broken' }
  return { verb, queue: its, request: { ...part, ...reason } }
}

function drawDelay({ random }: Draw) {
  if (random.chance(0.5)) return {}
  // In the drain all of these are over.
  return { delaySeconds: random.pick([0, 1, 1, 5, 40, 300]), overtake: random.chance(0.5) }
}

function drawPart({ random }: Draw, lock: KnownLock, odds: number) {
  if (!random.chance(odds) || lock.ids.length === 0) return { lockId: lock.lockId }
  const ids = lock.ids.filter(() => random.chance(0.5))
  return { lockId: lock.lockId, ids: ids.length === 0 ? lock.ids.slice(0, 1) : ids }
}

/** In some worlds most pops wait, and some callers go away meanwhile. */
function drawPop(draw: Draw, queue: string, drawn: DrawnPop): Command {
  if (draw.workedBy.has(queue)) {
    return { verb: 'push', queue, request: { items: [drawPushItem(draw)] } }
  }
  const command = drawPromptPop(draw, queue, drawn)
  const { profile, random } = draw
  if (profile.waiting === undefined || command.verb !== 'pop') return command
  // A repeat by key may wait where the first call did not.
  if (!random.chance(0.7)) return command
  const request = { ...command.request, waitSeconds: random.pick([1, 1, 2, 5, 20]) }
  const cancelled = random.chance(0.15) && { cancelAfterMs: random.pick([1, 200, 3_000]) }
  return { ...command, request, ...cancelled }
}

type DrawnPop = 'pop' | 'popWithoutAck' | 'idempotentPop'

function drawPromptPop(draw: Draw, queue: string, drawn: DrawnPop): Command {
  const { profile, knowledge, random } = draw
  const count = random.pick(profile.popCounts)
  const competing = random.chance(profile.competing)
  if (drawn === 'popWithoutAck') {
    return { verb: 'pop', queue, request: { count, ...combined(draw, queue), competing } }
  }
  const isKeyed = drawn === 'idempotentPop'
  const earlier = knowledge.keyedPops
  if (isKeyed && earlier.length > 0 && random.chance(0.5)) {
    return { verb: 'pop', ...random.pick(earlier.slice(-4)) }
  }
  const ttlSeconds = random.pick(profile.ttlSeconds)
  const asked = { count, requireAck: true, ttlSeconds, competing, ...combined(draw, queue) }
  const request = isKeyed ? { ...asked, idempotencyKey: knowledge.nextKey() } : asked
  if (isKeyed) earlier.push({ queue, request })
  return { verb: 'pop', queue, request }
}

/** The lock to acknowledge in the same write, where the caller knows one. */
function combined({ profile, knowledge, random }: Draw, queue: string): PopRequest {
  if (!random.chance(profile.combined)) return {}
  const lock = knowledge.lock(random, queue)
  return lock === undefined ? {} : { acknowledge: lock.lockId }
}

/** What callers do with items whose ids they know; without one they pop. */
function drawByIds(
  draw: Draw,
  queue: string,
  drawn: 'cancel' | 'move' | 'purgeByIds' | 'redriveByIds',
): Command {
  const { knowledge, random, profile } = draw
  const from =
    drawn === 'redriveByIds' && !isDeadLetterQueue(queue) ? deadLetterQueueOf(queue) : queue
  const ids = knowledge.someIds(random, from)
  if (ids.length === 0) {
    // Dead letters have ids that no push told.
    if (drawn === 'redriveByIds') return { verb: 'browse', queue: from, request: { limit: 20 } }
    return drawPop(draw, queue, 'pop')
  }
  if (drawn === 'cancel') return { verb: 'cancel', queue, request: ids }
  if (drawn === 'purgeByIds') return { verb: 'purge', queue, request: { ids } }
  if (drawn === 'redriveByIds') return { verb: 'redrive', queue: from, request: { ids } }
  const other = random.pick(profile.queues).queue
  const priority = random.pick(profile.priorities)
  const isElsewhere = random.chance(0.4)
  const time = drawMoveTime(draw)
  const to = random.chance(0.2) && !isDeadLetterQueue(other) ? deadLetterQueueOf(other) : other
  const lane = (!isElsewhere || random.chance(0.5)) && { priority }
  const where = { ...(isElsewhere && { queue: to }), ...lane, ...time }
  return { verb: drawn, queue, request: { ids, ...where } }
}

function drawBrowse({ knowledge, random }: Draw, queue: string): BrowseRequest {
  const [from] = random.chance(0.2) ? knowledge.someIds(random, queue) : []
  return {
    limit: random.pick([1, 5, 20, 100]),
    ...(random.chance(0.3) && { order: 'newest' as const }),
    ...(from !== undefined && { from }),
  }
}

function drawPushItem(draw: Draw): PushItem {
  const { profile, knowledge, random } = draw
  const priority = random.pick(profile.priorities)
  const text = knowledge.nextText(random.pick(profile.itemBytes))
  const item = priority === 0 && random.chance(0.5) ? { text } : { text, priority }
  const { expiring } = profile
  const isExpiring = expiring !== undefined && random.chance(expiring.odds)
  const expiresInSeconds = isExpiring ? random.pick(expiring.seconds) : undefined
  return withTime(draw, expiresInSeconds === undefined ? item : { ...item, expiresInSeconds })
}

function drawBulk(draw: Draw): PushItem[] {
  const { bulkItems, itemsMax } = draw.profile
  const [min, max] = draw.knowledge.texts < itemsMax ? bulkItems : [2, 4]
  const count = draw.random.between(min, max)
  const one = draw.random.chance(0.6) && { priority: draw.random.pick(draw.profile.priorities) }
  const bulk = Array.from({ length: count }, () => ({ ...drawPushItem(draw), ...one }))
  return forOneTime(draw, bulk)
}

function drawKeyedPush(draw: Draw, queue: string): Command {
  const { knowledge, random } = draw
  const earlier = knowledge.keyedPushes
  if (earlier.length > 0 && random.chance(0.5)) {
    const { queue: earlierQueue, request } = random.pick(earlier.slice(-6))
    if (random.chance(0.9)) return { verb: 'push', queue: earlierQueue, request }
    // The same key with another body: refused, unless the first one never came to be.
    const { idempotencyKey } = request
    if (idempotencyKey !== undefined) {
      const items = [drawPushItem(draw)]
      return { verb: 'push', queue: earlierQueue, request: { items, idempotencyKey } }
    }
  }
  const items = random.chance(0.7) ? [drawPushItem(draw)] : drawBulk(draw)
  const request = { items, idempotencyKey: knowledge.nextPushKey() }
  earlier.push({ queue, request })
  return { verb: 'push', queue, request }
}

/** In some worlds many items are pushed for later, a few of them for a time that has just passed. */
function withTime(draw: Draw, item: PushItem): PushItem {
  const { profile, random } = draw
  const { later } = profile
  if (later === undefined || !random.chance(later.odds)) return item
  const seconds = drawSeconds(draw)
  const { expiresInSeconds } = item
  const lasting =
    expiresInSeconds === undefined || random.chance(0.02)
      ? item
      : { ...item, expiresInSeconds: expiresInSeconds + Math.max(0, Math.ceil(seconds)) + 2 }
  if (random.chance(0.5)) return { ...lasting, delaySeconds: Math.max(0, seconds) }
  return { ...lasting, deliverAtMs: atMs(draw, seconds) }
}

/** Half of the bulk pushes for later are for one time: these lie in batches, if they are large. */
function forOneTime({ profile, random }: Draw, bulk: PushItem[]): PushItem[] {
  if (profile.later === undefined || random.chance(0.5)) return bulk
  const { delaySeconds, deliverAtMs } = bulk[0] as PushItem
  const time = deliverAtMs === undefined ? { delaySeconds } : { deliverAtMs }
  return bulk.map((item) => {
    const { delaySeconds: _, deliverAtMs: __, expiresInSeconds: ___, ...untimed } = item
    return { ...untimed, ...time }
  })
}

/** Often a whole number, so that many are due together. */
function drawSeconds({ profile: { later }, random }: Draw): number {
  const seconds = random.between(0, later?.seconds ?? 0)
  return random.chance(0.7) ? seconds : seconds - random.next()
}

const atMs = ({ nowMs }: Draw, seconds: number): number => Math.floor(nowMs + 1_000 * seconds)

/** To snooze an item, or to call it back. */
function drawMoveTime(draw: Draw): { readonly deliverAtMs?: number } {
  const { profile, random } = draw
  if (profile.later === undefined || random.chance(0.4)) return {}
  return { deliverAtMs: atMs(draw, drawSeconds(draw)) }
}

/** A page of what is scheduled, or the one that follows an earlier one. */
function drawListing(draw: Draw, queue: string): Command {
  const { knowledge, random } = draw
  const page = random.chance(0.5) ? knowledge.pages.pop() : undefined
  if (page !== undefined) return { verb: 'scheduled', ...page }
  const request = {
    limit: random.pick([1, 3, 20, 100]),
    ...(random.chance(0.2) && { fromMs: atMs(draw, drawSeconds(draw)) }),
    ...(random.chance(0.2) && { toMs: atMs(draw, drawSeconds(draw)) }),
  }
  return { verb: 'scheduled', queue, request }
}
