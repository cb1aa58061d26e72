import type { Expression } from '../../foundation/expression.ts'
import type { Pass } from '../core/limit-pass.ts'
import { encodeLimit } from '../core/stored-configuration.ts'

/**
 * The condition of a blind write under a queue's limit (`pl` of pushes, `ol` of pops). The limit may be one that this
 * process has never seen, or another than the one of which the call has taken its slot: then the write fails, and
 * returns the record with the limit.
 */
export function limitAsKnown(update: Expression, attribute: 'pl' | 'ol', pass: Pass): void {
  if (pass === 'free') return
  const limit = `cfg.${attribute}`
  const none = `attribute_not_exists(${limit})`
  update.condition(
    pass === undefined ? none : `(${none} OR ${limit}=${update.value(encodeLimit(pass))})`,
  )
}
