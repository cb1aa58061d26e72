// Requests that are wrong, each in one way, and the error each must get. They need a queue with
// items, a configuration at revision 0 and a live lock, and leave it as it was.

import { errorTable } from '../../../../lambdas/http/answer.ts'
import type { Call } from '../call.ts'
import { bodyCases } from './bodies.ts'
import type { HostileCase } from './hostile-case.ts'
import { idCases } from './ids.ts'
import { otherCases } from './others.ts'
import { parameterCases } from './parameters.ts'
import { rateCases } from './rates.ts'

/** What is wrong with the answers to all of them, or to one in so many; nothing should be. */
export async function surprisesOf(call: Call, queue: string, oneIn = 1): Promise<string[]> {
  const surprises: string[] = []
  const cases = hostileCases.filter((_, n) => n % oneIn === 0)
  for (const { name, method, path, options, code, names = '' } of cases) {
    const { status, text } = await call(method, path(queue), options)
    const { error_code, message, field = '' } = JSON.parse(text)
    const isRight = error_code === code && status === errorTable[code].status
    const told = `${name}: ${status} ${text.slice(0, 200)}`
    if (!isRight || !`${field} ${message}`.includes(names)) surprises.push(told)
    if (text.includes('canary')) surprises.push(`${name}: tells an item`)
    if (text.length > 1_000) surprises.push(`${name}: a long answer`)
  }
  return surprises
}

export const hostileCases: readonly HostileCase[] = [
  ...idCases,
  ...bodyCases,
  ...parameterCases,
  ...rateCases,
  ...otherCases,
]
