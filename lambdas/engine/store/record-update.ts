import { Expression } from '../../foundation/expression.ts'

/**
 * An update of a queue's record. Engines of different ages write the same records, because a consumer's
 * is as old as its last deployment: so every write, blind or fenced, refuses a record whose format it
 * does not know (docs/formats.md). The record that comes with the refusal says which it is.
 */
export function recordUpdate(): Expression {
  const update = new Expression()
  update.condition(KNOWN_FORMAT)
  return update
}

export const KNOWN_FORMAT = 'attribute_not_exists(fm)'
