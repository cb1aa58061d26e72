import type { Item } from '../../../../engine/core/item.ts'
import type { PushItem } from '../../../../engine/queues.ts'
import type { Command } from '../actors/callers/command.ts'
import type { Operation } from '../actors/callers/operation.ts'
import type { Model } from './model.ts'

/** One pushed item, by its text, through everything that becomes of it. */
export type ItemRecord = {
  readonly text: string
  readonly pushedBy: PushedBy
  /** Places where it is stored and not settled: never more than one. */
  live: number
  appended: boolean
  /** Where it was stored first, and when among all items. */
  first: { readonly at: number; readonly lane: string } | undefined
  fate: Fate | undefined
  settledAtCommit: number | undefined
}

export type Fate = 'acknowledged' | 'popped' | 'purged' | 'cancelled' | 'expired'

/** Calls that push the same items: one, or the repeats of one with the same key. */
export type PushedBy = {
  readonly texts: readonly string[]
  readonly key: string | undefined
  readonly keyLife: number
  readonly queue: string
  readonly operations: Operation[]
  /** Items appended so far: none or all. */
  appended: number
  appendedMs: number
  /** Its first place was among the dead letters. */
  isBuried: boolean
}

/** Items with one text cannot be told apart, so they are counted: as many have come as have left. */
type Occurrences = { came: number; left: number; readonly found: (item: Item) => void }

export class Ledger {
  /** One more whenever the time of all keys is over. */
  keyLife = 0
  readonly #items = new Map<string, ItemRecord>()
  readonly #pushes = new Map<string, PushedBy>()

  /** Before a push is sent. A repeat with the same key and the same body joins the first call. */
  announce(
    operation: Operation | undefined,
    queue: string,
    texts: readonly string[],
    key?: string,
  ): void {
    const first = texts[0] as string
    const operations = operation === undefined ? [] : [operation]
    const known = this.#pushes.get(first)
    if (known !== undefined) return void known.operations.push(...operations)
    const { keyLife } = this
    const fresh = { appended: 0, appendedMs: Number.POSITIVE_INFINITY, isBuried: false }
    const pushedBy = { texts, key, keyLife, queue, operations, ...fresh }
    this.#pushes.set(first, pushedBy)
    const none = { first: undefined, fate: undefined, settledAtCommit: undefined }
    for (const text of texts) {
      this.#items.set(text, { text, pushedBy, live: 0, appended: false, ...none })
    }
  }

  item(text: string): ItemRecord | undefined {
    return this.#items.get(text)
  }

  /** What schedules push, each text again and again; `found` hears of every occurrence. */
  readonly schedules = new Map<string, Occurrences>()

  /** Before a schedule is put that pushes this text. */
  announceSchedule(queue: string, text: string, found: (item: Item) => void): void {
    if (this.schedules.has(text)) return
    this.schedules.set(text, { came: 0, left: 0, found })
    this.announce(undefined, queue, [text])
  }

  items(): IterableIterator<ItemRecord> {
    return this.#items.values()
  }

  pushes(): IterableIterator<PushedBy> {
    return this.#pushes.values()
  }
}

export const isAnsweredWithSuccess = (pushedBy: PushedBy): boolean =>
  pushedBy.operations.some(
    // The inbox says of each message whether it was pushed.
    ({ command, outcome }) => command.verb !== 'apply' && outcome?.kind === 'success',
  )

/** Tells the model which items a call is about to push, before any request leaves. */
export function announcePush({ ledger }: Model, operation: Operation): void {
  const { command } = operation
  const key = command.verb === 'push' ? command.request.idempotencyKey : undefined
  for (const push of pushesIn(command)) {
    if (push.length === 0) continue
    const texts = push.map(({ text }) => text)
    ledger.announce(operation, command.queue, texts, key)
  }
}

function pushesIn(command: Command): readonly (readonly PushItem[])[] {
  if (command.verb === 'push') return [command.request.items]
  if (command.verb === 'transact') return [command.items]
  if (command.verb === 'pushTransactItem') return [[command.item]]
  return 'rest' in command ? (command.pushes ?? []) : []
}

/** Without a list of them all: it is asked for each item that arrives. */
export function itemIn(command: Command, text: string): PushItem | undefined {
  for (const push of pushesIn(command)) {
    const found = push.find((one) => one.text === text)
    if (found !== undefined) return found
  }
  return undefined
}

export const itemsIn = (command: Command): readonly PushItem[] => pushesIn(command).flat()
