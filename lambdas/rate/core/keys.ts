import { ID_RULE, isQueueId } from '../../foundation/queue-id.ts'
import type { Key } from '../../foundation/table.ts'
import { invalid } from './settings.ts'

/** A rate limit's key is spelled like a queue id. */
export function checkRateKey(key: unknown): void {
  if (isQueueId(key)) return
  throw invalid('key', `it must be ${ID_RULE}`)
}

/** `push~orders`: the key that guards a queue's pushes. No caller can name it: ids have no `~`. */
export const guardKey = (verb: 'push' | 'pop', queue: string): string => `${verb}~${queue}`

/** `r#user-123#0` / `rate`: a key's row, or one shard's of it. */
export const rowKey = (key: string, shard: number): Key => ({ pk: `r#${key}#${shard}`, sk: 'rate' })

/** `r#` / `patterns`: the limits of prefixes, all in one item. No key is empty, so none is this. */
export const patternsKey: Key = { pk: 'r#', sk: 'patterns' }

/** `r#` / `secret`: what tickets are signed with. */
export const secretKey: Key = { pk: 'r#', sk: 'secret' }
