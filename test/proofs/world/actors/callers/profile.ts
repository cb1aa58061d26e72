import type { LimitInput } from '../../../../../engine/core/settings.ts'
import type { LingerOptions } from '../../../../../engine/index.ts'
import type { QueuePatternInput } from '../../../../../engine/queues.ts'
import type { Random } from '../../../../../testing/random.ts'
import { drawFaults } from '../../harness/faults.ts'
import { SKEW_MAX_MS } from '../../harness/mortal.ts'
import { drawMixes, type Mix, sips, waiting } from './mixes.ts'

/** What one seed's world is like; everything else about a run follows from it and the seed. */
export type Profile = Readonly<Omit<ReturnType<typeof drawBasic>, keyof Kinds>> & Kinds

/** What only some worlds have. */
type Kinds = {
  readonly bulkItems: readonly [number, number]
  /** Queues have push and pop limits, and are given others. */
  readonly limited: boolean
  /** Prefixes have settings, and are given others. */
  readonly patterned: boolean
  /** Pops wait, in so many seats; any number unless set. */
  readonly waiting: { readonly seats: number | undefined } | undefined
  /** Some items expire so many seconds after their push, and queues are set to let all expire. */
  readonly expiring: { readonly seconds: readonly number[]; readonly odds: number } | undefined
  /** Items are pushed for later, up to so many seconds; some for one time, as bulk pushes often are. */
  readonly later: { readonly seconds: number; readonly odds: number } | undefined
  /** For how long others may see a transaction item by item; 0 where the store is kinder. */
  readonly settlesMaxMs: number
  /** Pushes of one process that come together go together. */
  readonly linger: LingerOptions | undefined
  /** So many lanes of the first queue have an item from the beginning. */
  readonly lanes: number
}

/** Each has its own mix of operations; between eras the world may rest. */
type Eras = readonly { readonly mix: Mix; readonly restMs: number }[]

export type QueueProfile = { readonly queue: string } & Readonly<
  Partial<Record<'segmentSize' | 'bufferSegments' | 'maxDeliveries' | 'capacity', number>> &
    Partial<Record<'pushLimit' | 'popLimit', LimitInput>> & {
      itemTtlSeconds?: number
      expired?: 'dead_letter'
    }
>

const MINUTE_MS = 60_000

/** What was drawn first is drawn as ever: each kind of world that came later draws after all others. */
export function drawProfile(random: Random): Profile {
  const kinds = [drawLimited, drawPatterned, drawWaiting, drawLingering, drawExpiring, drawLater]
  return [...kinds, asRare, asKeptFull].reduce<Profile>(
    (profile, draw) => draw(profile, random),
    drawBasic(random),
  )
}

function drawLimited(profile: Profile, random: Random): Profile {
  if (!random.chance(0.12)) return profile
  const queues = profile.queues.map((queue) => ({
    ...queue,
    ...(random.chance(0.7) && { pushLimit: drawLimit(random) }),
    ...(random.chance(0.5) && { popLimit: drawLimit(random) }),
  }))
  return { ...profile, queues, limited: true }
}

/** Prefixes have settings that change, and fewer queues have their own. */
function drawPatterned(profile: Profile, random: Random): Profile {
  if (!random.chance(0.2)) return profile
  const queues = profile.queues.map((one) => {
    // Ids in any part of the directory.
    const queue = random.chance(0.6) ? `${one.queue}.${random.between(0, 99)}` : one.queue
    return random.chance(0.7) ? { queue } : { ...one, queue }
  })
  const more = { configurePatterns: 1, unconfigure: 0.7, configure: 0.5 }
  return { ...profile, patterned: true, queues, eras: withMore(profile, () => more) }
}

/** Several processes that pop and wait, while others bring something now and then. */
function drawWaiting(profile: Profile, random: Random): Profile {
  if (!random.chance(0.15)) return profile
  return {
    ...profile,
    waiting: { seats: random.pick([undefined, 1, 1, 2, 3]) },
    writers: random.between(2, 5),
    concurrency: random.pick([1, 2, 3]),
    thinkMaxMs: random.pick([50, 1_000, 4_000]),
    bulkItems: [2, 5],
    eras: [1, 2].map(() => ({ mix: waiting, restMs: random.pick([0, 5_000, 2 * MINUTE_MS]) })),
  }
}

/** Few processes, each with many callers at once, most of whom push. */
function drawLingering(profile: Profile, random: Random): Profile {
  if (!random.chance(0.12)) return profile
  return {
    ...profile,
    linger: { waitMs: random.pick([0, 0, 5, 50]), itemsMax: random.pick([3, 20, 1_000]) },
    writers: random.between(1, 3),
    concurrency: random.between(3, 10),
    thinkMaxMs: random.pick([0, 5, 50]),
    eras: withMore(profile, () => ({ push: 40, bulkPush: 4, idempotentPush: 8 })),
  }
}

function drawExpiring(profile: Profile, random: Random): Profile {
  if (!random.chance(0.2)) return profile
  // biome-ignore format: a table
  const seconds = random.pick<readonly number[]>([[0, 1, 2], [1, 30], [5, 60, 3_600], [120, 720]])
  // Items that wait for a retry that they will not live to see, and hold up the others until then.
  const isHeldUp = random.chance(0.3)
  return {
    ...profile,
    ...(isHeldUp && {
      competing: 0,
      thinkMaxMs: 1_500,
      eras: withMore(profile, ({ release = 0 }) => ({ release: release + 12 })),
    }),
    expiring: { seconds, odds: random.pick([0.1, 0.5, 0.9, 1]) },
    queues: profile.queues.map((queue) => ({
      ...queue,
      ...(random.chance(0.3) && { itemTtlSeconds: random.pick([1, 10, 60, 600]) }),
      ...(random.chance(0.4) && { expired: 'dead_letter' as const }),
    })),
  }
}

function drawLater(profile: Profile, random: Random): Profile {
  if (!random.chance(0.3)) return profile
  // Of pushes that go together, some are refused for room while others need none.
  const isNarrow = random.chance(profile.linger === undefined ? 0.3 : 0.8)
  return {
    ...profile,
    later: { seconds: random.pick([1, 2, 5, 30, 280]), odds: random.pick([0.2, 0.6, 0.9]) },
    settlesMaxMs: random.pick([0, 0, 40, 5_000]),
    // Enough time for some to come due while others are at work.
    thinkMaxMs: random.pick([profile.thinkMaxMs, 300, 1_500]),
    ...(isNarrow && { itemsMax: 60, bulkItems: [2, 6] as const }),
    queues: profile.queues.map((queue) =>
      isNarrow ? { ...queue, capacity: random.pick([1, 2, 5, 12]) } : queue,
    ),
    // Calls about what is scheduled, beside all others.
    eras: withMore(profile, ({ cancel = 0, move = 0 }) => ({
      scheduled: 2,
      cancel: cancel + 1.5,
      move: move + 3,
    })),
  }
}

/** Producers who take each place that a pop frees, while some items are due. */
function asKeptFull(profile: Profile, random: Random): Profile {
  if (profile.lanes > 0 || !random.chance(0.03)) return profile
  return {
    ...profile,
    waiting: undefined,
    limited: false,
    patterned: false,
    later: { seconds: random.pick([1, 2]), odds: 0.2 },
    writers: 3,
    thinkMaxMs: 1_500,
    skewMaxMs: 10,
    itemsMax: 60,
    bulkItems: [2, 6],
    popCounts: [1],
    queues: [{ queue: 'q0', capacity: random.pick([1, 2, 5]) }],
    eras: [{ mix: { push: 40, popWithoutAck: 14, move: 2, scheduled: 1 }, restMs: 0 }],
  }
}

const withMore = ({ eras }: Profile, more: (mix: Mix) => Mix): Eras =>
  eras.map(({ mix, restMs }) => ({ mix: { ...mix, ...more(mix) }, restMs }))

/** Windows that many calls fall into, and that a drain can wait for. */
export function drawLimit(random: Random): LimitInput {
  return {
    maxRequests: random.pick([1, 3, 10, 30]),
    windowMillis: random.pick([100, 1_000, 4_000]),
    ...(random.chance(0.2) && { algorithm: 'smooth' as const }),
  }
}

// biome-ignore format: a table
const bulks = [[2, 5], [2, 12], [5, 40], [20, 120], [100, 300]] as const

function drawBasic(random: Random) {
  const faultFree = random.chance(0.15)
  const calm = random.chance(0.3)
  // A queue that is emptied, forgotten and made again, under memories of the one before.
  const reuse = random.chance(0.12)
  return {
    faults: drawFaults(random, faultFree),
    faultFree,
    writers: random.between(1, random.pick([1, 2, 3, 4, 8])),
    /** Operations one writer has under way at once, on one engine and its memory. */
    concurrency: random.pick([1, 1, 2, 3]),
    queues: reuse ? [{ queue: 'q0' }] : drawQueues(random),
    priorities: random.pick([[0], [0], [0, 1], [0, 1, 2], [5, 0, 2_147_483_647], [3, 2, 1, 0, 9]]),
    eras: reuse ? reuseEras(random) : drawEras(random),
    latencyMaxMs: random.pick([2, 5, 20, 100]),
    thinkMaxMs: random.pick([0, 5, 50, 1_000]),
    ttlSeconds: random.pick([[1], [1, 2, 30], [30], [5, 300]]),
    skewMaxMs: calm ? 0 : random.pick([10, 500, SKEW_MAX_MS]),
    clockJumps: calm ? 0 : random.pick([0, 0, 0.01, 0.1]),
    itemBytes: random.pick([[0], [0], [0, 50], [40, 400], [300], [200, 900, 1_500], [150]]),
    bulkItems: random.pick<Kinds['bulkItems']>(bulks),
    /** After so many items, bulk pushes are small, so that a run comes to its end. */
    itemsMax: random.pick([300, 600, 600, 1_500]),
    popCounts: random.pick([[1], [1, 2, 3], [1, 5, 10], [10, 100], [100]]),
    competing: random.pick([0, 0.5, 0.9, 1]),
    combined: random.pick([0, 0.3, 0.9]),
    /** How far back an eventually consistent read may see. */
    staleMs: random.pick([100, 2_000, 30_000]),
    limited: false,
    throttle: faultFree ? undefined : drawThrottle(random),
    /** How long a transaction may hold its items, as on AWS; 0 where the store is kinder. */
    transactionMaxMs: random.pick([0, 10, 15, 30, 200]),
    patterned: false,
    ...{ waiting: undefined, linger: undefined, expiring: undefined, later: undefined },
    lanes: 0,
    settlesMaxMs: 0,
  }
}

/** Write units a second for one item: as on AWS, or a third of that, so that a few writers feel it. */
function drawThrottle(random: Random) {
  if (random.chance(0.6)) return undefined
  const writeUnitsPerSecond = random.pick([300, 1_000])
  return { writeUnitsPerSecond, burstUnits: random.pick([0, 100, 1_000]) }
}

function drawEras(random: Random): Eras {
  return drawMixes(random).map((mix) => ({
    mix,
    restMs: random.pick([0, 0, 5_000, 2 * MINUTE_MS, 12 * MINUTE_MS, 30 * MINUTE_MS]),
  }))
}

function reuseEras(random: Random): Eras {
  const mix = random.pick(sips)
  return [12, 11, 15, 12, 11, 13].map((minutes) => ({ mix, restMs: minutes * MINUTE_MS }))
}

function drawQueues(random: Random): QueueProfile[] {
  return Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, i) => {
    const queue = `q${i}`
    // The engine forgets an empty queue that was never configured; a push makes it again.
    if (random.chance(0.3)) return { queue }
    return {
      queue,
      // Segments of a few items, so that a hundred operations fill, offload and recall many.
      ...(random.chance(0.75) && { segmentSize: random.pick([1, 2, 3, 4, 5, 8, 10]) }),
      ...(random.chance(0.5) && { bufferSegments: random.pick([1, 1, 2, 3]) }),
      ...(random.chance(0.35) && { maxDeliveries: random.pick([1, 2, 2, 3]) }),
      ...(random.chance(0.15) && { capacity: random.pick([5, 20, 100]) }),
    }
  })
}

/** Prefixes of all queues, of some, of one, of a dead-letter queue's name, and of none. */
const prefixes = ['', 'q', 'q0', 'q1', 'q0-dead', 'x']

export function drawPatterns(profile: Profile, random: Random): QueuePatternInput[] {
  const { limited, expiring } = profile
  return prefixes
    .filter(() => random.chance(0.4))
    .map((prefix) => ({
      prefix,
      settings: {
        ...(random.chance(0.5) && { segmentSize: random.between(1, 10) }),
        ...(random.chance(0.5) && { bufferSegments: random.between(1, 3) }),
        ...(random.chance(0.4) && { maxDeliveries: random.pick([1, 2, 3]) }),
        ...(random.chance(0.4) && { capacity: random.pick([1, 5, 20, 100]) }),
        ...(limited && random.chance(0.5) && { pushLimit: drawLimit(random) }),
        ...(limited && random.chance(0.5) && { popLimit: drawLimit(random) }),
        ...(expiring && random.chance(0.5) && { itemTtlSeconds: random.pick([1, 60, 600]) }),
        ...(expiring &&
          random.chance(0.5) && { expired: random.pick(['dead_letter', 'discard'] as const) }),
      },
    }))
}

/** In some worlds the time of keys is over between two eras, and then the same keys come with other items. */
export const keysExpire = (seed: number): boolean => seed % 4 === 1

/** No era lasts as long, however often its processes freeze: the keys of one era are over between eras alone. */
export const KEY_SECONDS = 8 * 60 * 60

/** A few worlds go to a limit of the engine. These are large and slow. */
function asRare(profile: Profile, random: Random): Profile {
  if (!random.chance(0.01)) return profile
  const usual = { waiting: undefined, expiring: undefined, limited: false, patterned: false }
  return (random.chance(0.4) ? asWide : asCrowded)({ ...profile, ...usual }, random)
}

/** All lanes are in use, and items come due that need another one. */
function asWide(profile: Profile, random: Random): Profile {
  return {
    ...profile,
    queues: [{ queue: 'q0' }],
    lanes: 1_000,
    priorities: [5_000],
    writers: random.between(1, 2),
    concurrency: 1,
    bulkItems: [2, 4],
    itemBytes: [50],
    thinkMaxMs: random.pick([100, 300]),
    linger: undefined,
    // Each write of such a record takes a hundred units.
    throttle: undefined,
    later: { seconds: random.pick([2, 4]), odds: 1 },
    eras: [{ mix: { push: 40, move: 2, scheduled: 8, returnExpiredLocks: 12 }, restMs: 0 }],
  }
}

/** As many items are in flight as may be, and most of them die there. */
function asCrowded(profile: Profile, random: Random): Profile {
  const taking = { pop: 40, housekeep: 1, returnExpiredLocks: 1, acknowledge: 1 }
  return {
    ...profile,
    queues: [{ queue: 'q0', maxDeliveries: 1 }],
    priorities: [0],
    bulkItems: [800, 1_000],
    itemBytes: [0],
    itemsMax: 3_500,
    popCounts: [100],
    competing: 1,
    combined: 0,
    ttlSeconds: [30],
    thinkMaxMs: random.pick([5, 300]),
    later: undefined,
    eras: [
      { mix: { bulkPush: 1 }, restMs: 0 },
      { mix: taking, restMs: 120_000 },
    ],
  }
}
