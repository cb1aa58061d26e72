import type { Random } from '../../../../../testing/random.ts'
import type { PlainCallVerb, Verb } from './command.ts'

export type Mix = Readonly<Partial<Record<Drawn, number>>>

/** A verb, or a way to use one that has its own odds. */
// biome-ignore format: a table
export type Drawn =
  | Exclude<Verb, 'wake' | PlainCallVerb> | 'bulkPush' | 'idempotentPush' | 'popWithoutAck' | 'idempotentPop'
  | 'purgeByIds' | 'redriveByIds'

// biome-ignore format: a table
const rare: Mix = {
  inspect: 1, browse: 1, configuration: 0.3, configure: 0.5, list: 0.3, housekeep: 1,
  returnExpiredLocks: 1, announceWaiting: 0.3,
}

// biome-ignore format: a table
const mixes: Readonly<Record<string, Mix>> = {
  pushHeavy: { ...rare, push: 40, bulkPush: 6, idempotentPush: 3, pushTransactItem: 2, transact: 2, pop: 4 },
  popHeavy: { ...rare, push: 8, pop: 25, popWithoutAck: 8, acknowledge: 20, returnExpiredLocks: 3 },
  consumers: {
    ...rare, push: 12, bulkPush: 2, pop: 30, acknowledge: 25, acknowledgeMany: 2, cancel: 3, move: 1,
  },
  drain: { ...rare, pop: 25, popWithoutAck: 20, acknowledge: 20, housekeep: 6, returnExpiredLocks: 4 },
  settling: {
    ...rare, push: 12, bulkPush: 3, pop: 25, idempotentPop: 4, acknowledge: 14, acknowledgeMany: 3,
    release: 8, deadLetter: 6, extend: 6, redrive: 3, redriveByIds: 1, cancel: 2, move: 3,
    returnExpiredLocks: 4, housekeep: 4,
  },
  bulk: { ...rare, bulkPush: 20, push: 4, pop: 14, popWithoutAck: 6, acknowledge: 12, housekeep: 8 },
  everything: {
    ...rare, push: 14, bulkPush: 4, idempotentPush: 4, pushTransactItem: 3, transact: 3, pop: 16,
    popWithoutAck: 4, idempotentPop: 3, acknowledge: 12, acknowledgeMany: 3, extend: 3, release: 3,
    deadLetter: 3, purge: 1, purgeByIds: 1, cancel: 2, move: 2, redrive: 2, housekeep: 4,
    returnExpiredLocks: 3,
  },
  idempotent: { ...rare, idempotentPush: 25, idempotentPop: 15, acknowledge: 10, push: 5, pop: 5 },
  /** Keys come, and their notes go: with seals, with pops that cut the tail, before the queue is forgotten. */
  keyed: { ...rare, idempotentPush: 40, push: 6, bulkPush: 3, popWithoutAck: 8, pop: 4, housekeep: 4 },
  upheaval: {
    ...rare, push: 15, bulkPush: 4, pop: 10, popWithoutAck: 8, acknowledge: 6, purge: 5, purgeByIds: 2,
    cancel: 4, move: 4, configure: 4, housekeep: 8, redrive: 3, deadLetter: 3,
  },
}

/** Little at a time: the queue is empty again soon, at low versions that come back. */
// biome-ignore format: a table
export const sips: readonly Mix[] = [
  { push: 5, popWithoutAck: 10, returnExpiredLocks: 1 },
  { push: 5, popWithoutAck: 8, pop: 3, acknowledge: 3, cancel: 2, move: 1, returnExpiredLocks: 1 },
  { push: 4, bulkPush: 1, pop: 8, acknowledge: 8, release: 1, deadLetter: 1, redrive: 1, purge: 1 },
  { idempotentPush: 5, popWithoutAck: 10, returnExpiredLocks: 1 },
]

/** Pops that wait, and enough of everything else to come while they do. */
// biome-ignore format: a table
export const waiting: Mix = {
  ...rare, push: 16, bulkPush: 1, transact: 4, pop: 14, popWithoutAck: 6, idempotentPop: 4,
  acknowledge: 14, release: 3, extend: 1, deadLetter: 1, redrive: 1, purge: 0.5, returnExpiredLocks: 2,
}

// biome-ignore format: a table
const orders: readonly (readonly string[])[] = [
  ['pushHeavy', 'popHeavy'], ['pushHeavy', 'drain', 'pushHeavy'],
  ['consumers', 'drain', 'consumers', 'drain'], ['settling', 'drain', 'idempotent'],
  ['bulk', 'drain', 'everything'], ['consumers'], ['pushHeavy', 'consumers', 'drain'], ['settling'],
  ['pushHeavy', 'settling', 'drain'], ['everything'], ['idempotent', 'drain', 'idempotent'], ['upheaval'],
  ['bulk', 'settling'], ['pushHeavy', 'upheaval'], ['keyed'], ['keyed', 'drain', 'keyed'],
]

export function drawMixes(random: Random): Mix[] {
  return random.pick(orders).map((name) => mixes[name] as Mix)
}
