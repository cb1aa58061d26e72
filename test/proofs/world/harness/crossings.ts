import type { QueueRecord } from '../../../../engine/core/record.ts'
import type { PushItem } from '../../../../engine/queues.ts'
import type { Verb } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import { getOrMake } from './get-or-make.ts'
import type { Statistics } from './statistics.ts'

/** What may meet in a queue: who acts, by which way, and what the queue is like meanwhile. */
// biome-ignore format: a table
export const features = [
  'push', 'bulk push', 'push with a key', 'lingering push', 'push for later', 'transaction',
  'inbox', 'schedule', 'exclusive pop', 'competing pop', 'waiting pop', 'combined pop', 'consumer',
  'consumeMany', 'settling', 'delayed retry', 'dead letters', 'cancel', 'move', 'purge', 'redrive',
  'own settings', 'patterns', 'capacity', 'limits', 'expiry', 'S3', 'sweep', 'wake',
  'housekeeping', 'announcing', 'rate limits', 'crash', 'freeze', 'lost answer', 'deployment',
] as const

type Feature = (typeof features)[number]

/** A lock's or a timer's life, as most of them are: what was there so lately may still matter. */
const LIFE_MS = 30_000

/** Which features a seed has met in one queue within one lock's or timer's life. */
export class Crossings {
  readonly #nowMs: () => number
  readonly #seen = new Map<string, Float64Array>()
  readonly #pairs = new Set<number>()

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** `queue` empty: it is no queue's, and meets whatever is there. */
  note(queue: string, feature: Feature): void {
    const place = features.indexOf(feature)
    const nowMs = this.#nowMs()
    const its = this.#of(queue)
    its[place] = nowMs
    const others = queue === '' ? [...this.#seen.values()] : [its, this.#of('')]
    for (const seen of others) {
      for (let other = 0; other < features.length; other += 1) {
        if (nowMs - (seen[other] as number) > LIFE_MS || other === place) continue
        this.#pairs.add(Math.min(place, other) * features.length + Math.max(place, other))
      }
    }
  }

  *met(): Generator<string> {
    for (const pair of this.#pairs) {
      const [a, b] = [Math.floor(pair / features.length), pair % features.length]
      yield crossingOf(features[a] as Feature, features[b] as Feature)
    }
  }

  #of(queue: string): Float64Array {
    const make = () => new Float64Array(features.length).fill(Number.NEGATIVE_INFINITY)
    return getOrMake(this.#seen, queue, make)
  }
}

const crossingOf = (a: Feature, b: Feature): string => `met ${a} × ${b}`

// biome-ignore format: a table
const byVerb: Readonly<Partial<Record<Verb, Feature>>> = {
  pushTransactItem: 'transaction', transact: 'transaction', apply: 'inbox',
  acknowledge: 'settling', acknowledgeMany: 'settling', extend: 'settling', deadLetter: 'settling',
  configure: 'own settings', unconfigure: 'own settings', configurePatterns: 'patterns',
  deploySchedules: 'deployment', deployPatterns: 'deployment',
  returnExpiredLocks: 'sweep', housekeep: 'housekeeping', announceWaiting: 'announcing',
  cancel: 'cancel', move: 'move', purge: 'purge', redrive: 'redrive', wake: 'wake',
}

/** By what an operation is: its verb, how it is asked, and by which process. */
export function featuresOf({ command, writer, together }: Operation): readonly Feature[] {
  const found: Feature[] = []
  if (writer.startsWith('run')) found.push('consumer')
  if (writer.startsWith('many')) found.push('consumeMany')
  const plain = byVerb[command.verb]
  if (plain !== undefined) found.push(plain)
  if (command.verb === 'push') {
    const { items, idempotencyKey } = command.request
    found.push(items.length > 1 ? 'bulk push' : 'push')
    if (idempotencyKey !== undefined) found.push('push with a key')
    if (together !== undefined) found.push('lingering push')
    if (items.some(expires)) found.push('expiry')
    if (items.some(isForLater)) found.push('push for later')
  } else if (command.verb === 'pop') {
    const { competing, waitSeconds, acknowledge } = command.request
    found.push(competing ? 'competing pop' : 'exclusive pop')
    if (waitSeconds !== undefined) found.push('waiting pop')
    if (acknowledge !== undefined) found.push('combined pop')
  } else if (command.verb === 'release') {
    found.push((command.request.delaySeconds ?? 0) > 0 ? 'delayed retry' : 'settling')
  }
  return found
}

/** What the queue itself is like. */
export function featuresIn({ configuration, lanes, scheduled }: QueueRecord): readonly Feature[] {
  const found: Feature[] = []
  const { capacity, pushLimit, popLimit, itemTtlSeconds, source } = configuration
  if (capacity !== undefined) found.push('capacity')
  if (pushLimit !== undefined || popLimit !== undefined) found.push('limits')
  if (itemTtlSeconds !== undefined) found.push('expiry')
  if (source.from === 'pattern') found.push('patterns')
  if (scheduled.items > 0) found.push('push for later')
  for (const { dead, offloaded } of lanes.values()) {
    if (dead.length > 0) found.push('dead letters')
    if (offloaded.from < offloaded.to) found.push('S3')
  }
  return found
}

const expires = (item: PushItem) => (item.expiresAtMs ?? item.expiresInSeconds) !== undefined
const isForLater = (item: PushItem) => (item.deliverAtMs ?? item.delaySeconds) !== undefined

/** Every pair, and in how many seeds it met. Columns are numbered as the rows are. */
export function showMatrix(statistics: Statistics): string[] {
  const names = features.map((name, row) => `${String(row + 1).padStart(2)} ${name}`)
  const width = Math.max(...names.map(({ length }) => length)) + 1
  const cell = (value: number) => String(value).padStart(6)
  const head = features.map((_, column) => cell(column + 1)).join('')
  return [
    'Crossings: seeds in which two features met in one queue within a lock’s or a timer’s life',
    `${' '.repeat(width)}${head}`,
    ...features.map((a, row) => {
      const cells = features.slice(0, row).map((b) => statistics.get(crossingOf(b, a)))
      return `${names[row]?.padEnd(width)}${cells.map(cell).join('')}`
    }),
  ]
}

export const missingCrossings = (statistics: Statistics, least: number): string[] =>
  features
    .flatMap((a, index) => features.slice(index + 1).map((b) => crossingOf(a, b)))
    .filter((name) => statistics.get(name) < least)
    .map((name) => `${name}: ${statistics.get(name)} seeds, not ${least}`)
