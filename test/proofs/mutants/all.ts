import { callerMutants } from './callers.ts'
import { fenceMutants } from './fence.ts'
import { housekeepingMutants } from './housekeeping.ts'
import { laterMutants } from './later.ts'
import { limitMutants } from './limits.ts'
import { lockMutants } from './locks.ts'
import { lostAnswerMutants } from './lost-answers.ts'
import type { Mutant } from './mutant.ts'
import { popMutants } from './pops.ts'
import { pushMutants } from './pushes.ts'
import { timerMutants } from './timers.ts'

/**
 * Some clauses are not here because nothing can tell them apart from their absence; each is the
 * second line behind another:
 *   claim: `born` (the lane's epoch is random, and of one birth); `K.x > now` of the lock it
 *     acknowledges once `checkAt > now` holds (kept, by the test of the clause itself)
 *   extend, hold: `born` (the lock's id is random)
 *   exclusive pop, purge: the count of claims (a claim moves a frontier that they set and compare,
 *     an extension an expiry that they compare)
 *   fenced pop: `i <= max` (only claims add to it beside the fence, from a frontier it compares)
 *   forget: `c` and `n` singly (the record has no lanes, so what comes makes one, and appends)
 *   trim: the object of the head's own segment (it is never offloaded)
 *   pointers: `trimmed` going back (it would only be trimmed again)
 *   a pop's or settle's mark used again when it is decided again (marks are compared by position)
 */
export const mutants: readonly Mutant[] = [
  ...fenceMutants,
  ...pushMutants,
  ...popMutants,
  ...lockMutants,
  ...housekeepingMutants,
  ...laterMutants,
  ...timerMutants,
  ...lostAnswerMutants,
  ...limitMutants,
  ...callerMutants,
]
