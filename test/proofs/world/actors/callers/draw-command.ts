import { deadLetterQueueOf } from '../../../../../shared/bounds.ts'
import type { Random } from '../../../../../testing/random.ts'
import type { Command } from './command.ts'
import {
  type Draw,
  drawBrowse,
  drawBulk,
  drawByIds,
  drawKeyedPush,
  drawListing,
  drawPop,
  drawPushItem,
  drawSettling,
} from './draw-calls.ts'
import type { Drawn, Mix } from './mixes.ts'
import { drawLimit, drawPatterns, type Profile } from './profile.ts'

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
