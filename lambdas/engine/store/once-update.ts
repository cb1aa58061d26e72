import type { Expression } from '../../foundation/expression.ts'
import { TOKENS_MAX } from '../core/limits.ts'
import type { QueueRecord } from '../core/record.ts'
import { recordUpdate } from './record-update.ts'

// We hand an update out for somebody else to send; it may pass only once.

export type OnceOnly = {
  readonly token: string
  /** The record when this one was made. */
  readonly seen: QueueRecord
}

/**
 * The record remembers the tokens of the last such updates in the order in which they came, and how many it
 * has forgotten. This token comes after those that were there when we made it: so as long as the record has
 * forgotten no more than those, the list contains the token if the update was carried out.
 */
export function passOnce(update: Expression, { token, seen }: OnceOnly): void {
  const { kept, forgotten } = seen.tokens
  const [none, own] = [update.value([]), update.value([token])]
  // A queue that was forgotten and made again knows of no tokens.
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`(attribute_not_exists(ux) OR ux<=${update.value(kept + forgotten)})`)
  update.condition(`NOT contains(u,${update.value(token)})`)
  // The record itself keeps the bound: one process cannot know how many entries others handed out.
  update.condition(`(attribute_not_exists(u) OR size(u)<${update.value(TOKENS_MAX)})`)
  update.sets.push(`u=list_append(if_not_exists(u,${none}),${own})`)
}

/** Forgets the first tokens. Meanwhile others may come at the end of the list, but none may go. */
export function forgetTokensUpdate(
  seen: QueueRecord,
  tokens: number,
): ReturnType<Expression['build']> {
  const update = recordUpdate()
  const { forgotten } = seen.tokens
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(forgotten === 0 ? 'attribute_not_exists(ux)' : `ux=${update.value(forgotten)}`)
  for (let index = tokens - 1; index >= 0; index -= 1) update.removes.push(`u[${index}]`)
  update.set('ux', forgotten + tokens)
  return update.build()
}
