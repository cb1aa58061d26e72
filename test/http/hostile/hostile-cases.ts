// Requests that are wrong, each in one way, and the error each must get. They need a queue with
// items, a configuration at revision 0 and a live lock, and leave it as it was.

import { bodyCases } from './bodies.ts'
import type { HostileCase } from './hostile-case.ts'
import { idCases } from './ids.ts'
import { otherCases } from './others.ts'
import { parameterCases } from './parameters.ts'
import { rateCases } from './rates.ts'

export const hostileCases: readonly HostileCase[] = [
  ...idCases,
  ...bodyCases,
  ...parameterCases,
  ...rateCases,
  ...otherCases,
]
