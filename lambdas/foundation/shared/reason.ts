// The reason that goes with a dead letter. The client bundles this file too, so it imports nothing: both consumers
// shorten a reason in the same way.

/** A reason stays in the record until its items have moved. */
export const REASON_CHARACTERS_MAX = 256

/**
 * Makes a reason that the service accepts from whatever a handler gives: in JavaScript, that may be an error, or
 * nothing. The service refuses half a character, whether it was there or the cut left it, and an item whose reason
 * is refused would come back for ever.
 */
export const shortenedReason = (reason: unknown, characters = REASON_CHARACTERS_MAX): string =>
  String(reason ?? '')
    .toWellFormed()
    .slice(0, characters)
    .replace(/[\uD800-\uDBFF]$/, '')
