import type { Check } from './check.ts'
import { acknowledge } from './checks/acknowledge.ts'
import { authorisation } from './checks/authorisation.ts'
import { bounds } from './checks/bounds.ts'
import { competingConsumers } from './checks/competing.ts'
import { concurrency } from './checks/concurrency.ts'
import { configuration } from './checks/configuration.ts'
import { deadLetters } from './checks/dead-letters.ts'
import { events } from './checks/events.ts'
import { expiry } from './checks/expiry.ts'
import { idempotency } from './checks/idempotency.ts'
import { inbox } from './checks/inbox.ts'
import { input } from './checks/input.ts'
import { locks } from './checks/locks.ts'
import { longQueue } from './checks/long-queue.ts'
import { looking } from './checks/looking.ts'
import { order } from './checks/order.ts'
import { patterns } from './checks/patterns.ts'
import { purge } from './checks/purge.ts'
import { queueLimits } from './checks/queue-limits.ts'
import { rateLimits } from './checks/rate-limits.ts'
import { text } from './checks/text.ts'

/** In the order that reports and `--list` show. */
export const allChecks: readonly Check[] = [
  order,
  text,
  locks,
  competingConsumers,
  acknowledge,
  expiry,
  deadLetters,
  longQueue,
  idempotency,
  inbox,
  concurrency,
  bounds,
  input,
  configuration,
  patterns,
  queueLimits,
  rateLimits,
  purge,
  looking,
  authorisation,
  events,
]
