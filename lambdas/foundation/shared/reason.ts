// The reason that goes with a dead letter. The client holds this file too, so it imports nothing: both
// consumers make the same of a reason.

/** A reason stays in the record until its items have moved. */
export const REASON_CHARACTERS_MAX = 256

/**
 * What the service takes of whatever a handler gives: a caller in JavaScript may give an error, or nothing.
 * Half a character, alone or left by the cut, is refused, and an item whose reason is refused would come
 * back for ever.
 */
export const shortenedReason = (reason: unknown, characters = REASON_CHARACTERS_MAX): string =>
  String(reason ?? '')
    .toWellFormed()
    .slice(0, characters)
    .replace(/[\uD800-\uDBFF]$/, '')
