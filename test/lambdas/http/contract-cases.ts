// Every row and rule of the API as cases that need nothing but a way to make a request: run here
// against the handlers, and over real HTTP against the stack on one machine.

import type { Cases } from './cases/actions.ts'
import { inspectCases } from './cases/inspect.ts'
import { laterCases } from './cases/later.ts'
import { manageCases } from './cases/manage.ts'
import { popCases } from './cases/pop.ts'
import { pushCases } from './cases/push.ts'
import { rateCases } from './cases/rates.ts'
import { requestCases } from './cases/requests.ts'
import { scheduleCases } from './cases/schedules.ts'
import { settleCases } from './cases/settle.ts'
import { sourceCases } from './cases/sources.ts'

export const contractCases: Readonly<Record<string, Cases>> = {
  'The sources': sourceCases,
  Push: pushCases,
  'Items for later': laterCases,
  Pop: popCases,
  'Settling a lock': settleCases,
  'Looking at queues': inspectCases,
  'Managing queues': manageCases,
  Schedules: scheduleCases,
  'Rate limits': rateCases,
  'Any request': requestCases,
}
