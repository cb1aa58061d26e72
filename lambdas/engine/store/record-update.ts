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

/**
 * Records of format 2 have the attribute `fm`, which stops the engines that know format 1 alone. Those of a later
 * format must have `fn` as well, which stops this one; a name takes no value of an expression that has few to spare.
 */
export const KNOWN_FORMAT = 'attribute_not_exists(fn)'
