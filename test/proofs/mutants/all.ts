import { appendMutants } from './appends.ts'
import { batchMutants } from './batches.ts'
import { byIdMutants } from './by-id.ts'
import { consumerMutants } from './consumers.ts'
import { expiryMutants } from './expiry.ts'
import { fenceMutants } from './fence.ts'
import { flagMutants } from './flags.ts'
import { housekeepingMutants } from './housekeeping.ts'
import { inboxMutants } from './inbox.ts'
import { keyMutants } from './keys.ts'
import { laterMutants } from './later.ts'
import { leanMutants } from './lean.ts'
import { limitMutants } from './limits.ts'
import { lingerMutants } from './linger.ts'
import { lockMutants } from './locks.ts'
import { lostAnswerMutants } from './lost-answers.ts'
import type { Mutant } from './mutant.ts'
import { networkMutants } from './network.ts'
import { patternMutants } from './patterns.ts'
import { popMutants } from './pops.ts'
import { putOffMutants } from './put-off.ts'
import { queueLimitMutants } from './queue-limits.ts'
import { rateMutants } from './rate.ts'
import { reminderMutants } from './reminders.ts'
import { retryMutants } from './retries.ts'
import { scheduleMutants } from './schedules.ts'
import { sealMutants } from './seal.ts'
import { sweepMutants } from './sweep.ts'
import { toldLateMutants } from './told-late.ts'
import { waitMutants } from './waits.ts'
import { wakeMutants } from './wake.ts'

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
  ...appendMutants,
  ...lingerMutants,
  ...laterMutants,
  ...sealMutants,
  ...popMutants,
  ...waitMutants,
  ...expiryMutants,
  ...lockMutants,
  ...housekeepingMutants,
  ...batchMutants,
  ...byIdMutants,
  ...putOffMutants,
  ...lostAnswerMutants,
  ...toldLateMutants,
  ...keyMutants,
  ...flagMutants,
  ...limitMutants,
  ...queueLimitMutants,
  ...patternMutants,
  ...reminderMutants,
  ...retryMutants,
  ...sweepMutants,
  ...wakeMutants,
  ...scheduleMutants,
  ...inboxMutants,
  ...networkMutants,
  ...leanMutants,
  ...rateMutants,
  ...consumerMutants,
]
