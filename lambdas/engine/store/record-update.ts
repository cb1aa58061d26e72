import { Expression } from '../../foundation/expression.ts'

/**
 * An update of a queue's record. Engines of different ages write the same records, because a consumer's engine
 * is as old as its last deployment. So every write, blind or fenced, refuses a record whose format it does not
 * know (docs/formats.md). The record that comes with the refusal says which format it has.
 */
export function recordUpdate(): Expression {
  const update = new Expression()
  update.condition(KNOWN_FORMAT)
  return update
}

/**
 * Records of format 2 have the attribute `fm`, which stops engines that know only format 1. Records of a later format
 * must have `fn` as well, which stops this engine. Checking for a name uses up no value of the expression, which has
 * few to spare.
 */
export const KNOWN_FORMAT = 'attribute_not_exists(fn)'
