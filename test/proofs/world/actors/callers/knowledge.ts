import type {
  PopRequest,
  PushRequest,
  Queues,
  ScheduledRequest,
} from '../../../../../engine/queues.ts'
import type { Random } from '../../../../../testing/random.ts'
import { locksNamedBy, type Verb } from './command.ts'
import type { Operation } from './operation.ts'

/** What callers have learnt from answers. They share it: any consumer may end any lock. */
export class Knowledge {
  readonly #locks: KnownLock[] = []
  readonly #ended: KnownLock[] = []
  readonly keyedPushes: { readonly queue: string; readonly request: PushRequest }[] = []
  readonly keyedPops: { readonly queue: string; readonly request: PopRequest }[] = []
  /** Where pages of what is scheduled ended. */
  readonly pages: Page[] = []
  readonly #ids = new Map<string, string[]>()
  texts = 0
  #keys = 0
  #pushKeys = 0

  learnLock(lock: KnownLock): void {
    this.#locks.push(lock)
    if (this.#locks.length > 60) this.#locks.shift()
  }

  /** Whole lock settled or given back: it is only good for repeating. */
  forgetLock(lockId: string): void {
    const at = this.#locks.findIndex((lock) => lock.lockId === lockId)
    if (at === -1) return
    this.#ended.push(...this.#locks.splice(at, 1))
    if (this.#ended.length > 30) this.#ended.shift()
  }

  lock(random: Random, queue?: string): KnownLock | undefined {
    const repeats = this.#ended.length > 0 && random.chance(0.07)
    const locks = repeats ? this.#ended : this.#locks
    const candidates = queue === undefined ? locks : locks.filter((one) => one.queue === queue)
    if (candidates.length === 0) return undefined
    // Mostly the oldest few, as consumers do; sometimes any.
    return random.chance(0.8)
      ? candidates[random.between(0, Math.min(2, candidates.length - 1))]
      : random.pick(candidates)
  }

  learnIds(queue: string, ids: readonly string[]): void {
    const known = this.#ids.get(queue) ?? []
    this.#ids.set(queue, [...known, ...ids].slice(-200))
  }

  /** Some of them: mostly the newest, sometimes one twice. None, if the callers know none. */
  someIds(random: Random, queue: string): string[] {
    const known = this.#ids.get(queue) ?? []
    const among = random.chance(0.7) ? known.slice(-20) : known
    if (among.length === 0) return []
    const count = random.pick([1, 1, 2, 3, 8, 40])
    return Array.from({ length: count }, () => random.pick(among))
  }

  /** An item's text: unique, so that it names the item wherever it turns up. */
  nextText(bytes: number): string {
    this.texts += 1
    const text = `"${this.texts}.`
    return `${text}${filler(this.texts, Math.max(0, bytes - text.length - 1))}"`
  }

  nextPushKey(): string {
    this.#pushKeys += 1
    return `push-${this.#pushKeys}`
  }

  /** Their time is over: they come again, with other items. */
  forgetPushKeys(): void {
    this.#pushKeys = 0
    this.keyedPushes.length = 0
  }

  nextKey(): string {
    this.#keys += 1
    return `key-${this.#keys}`
  }
}

/** Every world begins at 1, and making the fillers again took a tenth of its time. */
const fillers: string[] = []

/** Hardly compressible: most payloads compress only in part. */
function filler(seed: number, bytes: number): string {
  let text = fillers[seed] ?? ''
  if (text.length < bytes) {
    text = ''
    let state = Math.imul(seed, 0x9e3779b1)
    while (text.length < bytes) {
      state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5
      text += (state >>> 0).toString(36)
    }
    fillers[seed] = text
  }
  return text.slice(0, bytes)
}

type Page = { readonly queue: string; readonly request: ScheduledRequest; readonly afterId: string }
export type KnownLock = {
  readonly queue: string
  readonly lockId: string
  readonly ids: readonly string[]
}

export function learn(knowledge: Knowledge, { command, outcome }: Operation): void {
  if (outcome?.kind !== 'success') {
    // A lock that is refused for good is of no more use.
    const isOver = outcome?.kind === 'refused' && !outcome.error.retryable
    if (isOver && !/^(pop|extend)$/.test(command.verb)) forgetNamed(knowledge, command)
    return
  }
  const { queue, verb } = command
  if (verb === 'push') {
    knowledge.learnIds(queue, (outcome.value as ValueOf<'push'>).ids)
  } else if (verb === 'browse') {
    knowledge.learnIds(queue, idsOf(outcome.value as ValueOf<'browse'>))
  } else if (verb === 'scheduled') {
    const { items, cursor } = outcome.value as ValueOf<'scheduled'>
    knowledge.learnIds(queue, idsOf({ items }))
    const last = items.at(-1)
    if (cursor === undefined || last === undefined) return
    knowledge.pages.push({ queue, request: { ...command.request, cursor }, afterId: last.id })
  } else if (verb === 'move') {
    for (const one of outcome.value as ValueOf<'move'>) {
      const isNew = 'newId' in one && one.newId
      if (isNew) knowledge.learnIds(command.request.queue ?? queue, [isNew])
    }
  } else if (verb === 'pop') {
    const popped = outcome.value as ValueOf<'pop'>
    if (popped.kind !== 'locked') forgetNamed(knowledge, command)
    if (popped.kind !== 'items') return
    const ids = idsOf(popped)
    knowledge.learnIds(queue, ids)
    if (popped.lock === undefined) return
    knowledge.forgetLock(popped.lock.id)
    knowledge.learnLock({ queue, lockId: popped.lock.id, ids })
  } else if (verb !== 'extend') forgetNamed(knowledge, command)
}

type ValueOf<V extends Verb> = Awaited<ReturnType<Queues[V]>>

const idsOf = ({ items }: { readonly items: readonly { readonly id: string }[] }): string[] =>
  items.map(({ id }) => id)

function forgetNamed(knowledge: Knowledge, command: Operation['command']): void {
  // A part: the rest of the lock is still there to be used.
  if ('request' in command && command.request && 'ids' in command.request) return
  for (const lockId of locksNamedBy(command)) if (lockId) knowledge.forgetLock(lockId)
}
