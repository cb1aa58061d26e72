import { expect } from 'vitest'
import type { PopOutcome, PoppedItem, PopRequest, PushItem, Queues } from '../../engine/queues.ts'
import { PRIORITIES_PER_PUSH_MAX } from '../../shared/bounds.ts'
import { type ErrorCode, QueueError } from '../../shared/errors.ts'

/** What tests push, pop and expect over and over. */

/** `"a0"`, `"a1"`, …: JSON texts of one lane. */
export const named = (name: string, count: number, priority = 0, from = 0): PushItem[] =>
  Array.from({ length: count }, (_, index) => ({ text: `"${name}${from + index}"`, priority }))

const LETTERS = Buffer.from('0123456789abcdefghijklmnopqrstuv')

/** A JSON string of so many bytes that does not compress away, beginning with a name. */
export function bulky(name: string, bytes: number): string {
  let state = [...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) >>> 0
  const start = `"${name}:`.slice(0, bytes - 1)
  // Some tests make a hundred megabytes: a number's own digits would take seconds.
  const rest = Buffer.alloc(bytes - 1 - start.length)
  for (let at = 0; at < rest.length; at += 1) {
    if (at % 4 === 0) state = Math.imul(state, 1_664_525) + 1_013_904_223
    // Its upper bits: the lower ones repeat themselves.
    rest[at] = LETTERS[(state >>> (27 - 5 * (at % 4))) & 31] as number
  }
  return `${start}${rest.toString('latin1')}"`
}

export const push = (queues: Queues, queue: string, items: readonly PushItem[]) =>
  queues.push(queue, { items })

/** As few pushes as can bring items of so many priorities. */
export async function pushWide(
  queues: Queues,
  queue: string,
  items: readonly PushItem[],
): Promise<void> {
  for (let at = 0; at < items.length; at += PRIORITIES_PER_PUSH_MAX) {
    await push(queues, queue, items.slice(at, at + PRIORITIES_PER_PUSH_MAX))
  }
}

/** One call an item, so that they come to lie in the tail and its chunks. */
export async function pushOneByOne(
  queues: Queues,
  queue: string,
  items: readonly PushItem[],
): Promise<string[]> {
  const ids: string[] = []
  for (const item of items) ids.push(...(await queues.push(queue, { items: [item] })).ids)
  return ids
}

export type Popped = Extract<PopOutcome, { kind: 'items' }>
export type Locked = Popped & { readonly lock: NonNullable<Popped['lock']> }

export async function popItems(
  queues: Queues,
  queue: string,
  request: PopRequest = {},
): Promise<Popped> {
  const outcome = await queues.pop(queue, request)
  if (outcome.kind !== 'items') throw new Error(`Expected items, and got "${outcome.kind}"`)
  return outcome
}

export async function lockItems(
  queues: Queues,
  queue: string,
  request: PopRequest = {},
): Promise<Locked> {
  const outcome = await popItems(queues, queue, { ...request, requireAck: true })
  if (outcome.lock === undefined) throw new Error('Expected a lock')
  return { ...outcome, lock: outcome.lock }
}

export const textsOf = (items: readonly { readonly text: string }[]): string[] =>
  items.map(({ text }) => text)

export const idsOf = (items: readonly PoppedItem[]): string[] => items.map(({ id }) => id)

/** Everything that is left, in the order in which it comes. */
export async function drain(queues: Queues, queue: string, count = 100): Promise<PoppedItem[]> {
  const items: PoppedItem[] = []
  for (;;) {
    const outcome = await queues.pop(queue, { count })
    if (outcome.kind === 'locked') throw new Error('Cannot drain a queue that is locked')
    if (outcome.kind === 'empty') return items
    items.push(...outcome.items)
  }
}

/** Housekeeping until there is nothing left to do. */
export async function tidy(queues: Queues, queue: string, runsMax = 100): Promise<void> {
  for (let run = 1; run <= runsMax; run += 1) {
    const { finished } = await queues.housekeep(queue)
    if (finished) return
  }
  throw new Error(`Housekeeping of "${queue}" did not finish in ${runsMax} runs`)
}

/** The code that a call is refused with. */
export async function codeOf(call: Promise<unknown>): Promise<ErrorCode> {
  const error = await call.then(
    (answer) => new Error(`Expected a refusal, and got ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  )
  if (error instanceof QueueError) return error.code
  throw error
}

export const expectCode = async (call: Promise<unknown>, code: ErrorCode): Promise<void> => {
  expect(await codeOf(call)).toBe(code)
}
