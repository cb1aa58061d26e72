import type { Intervention } from '../world/harness/world.ts'
import { type Point, runPoint } from './run-point.ts'
import type { Scenario } from './scenario.ts'

/** A read leaves nothing behind: its process dies at it, or goes on without its answer. */
const ofReads: readonly Intervention[] = ['die before', 'not applied, answer lost']
const ofWrites: readonly Intervention[] = [
  ...ofReads,
  'applied, die',
  'applied, answered, die',
  'applied, answer lost',
]

export type Coverage = {
  readonly requests: number
  readonly reads: number
  readonly points: number
  readonly failures: readonly { readonly point: Point | undefined; readonly why: string }[]
}

/** Every request of a scenario's subject, struck in every way that makes a difference. */
export async function coverPoints(scenario: Scenario): Promise<Coverage> {
  const failures: Coverage['failures'][number][] = []
  const clean = await runPoint(scenario, undefined)
  if (clean.violation !== undefined) {
    return { ...none, failures: [{ point: undefined, why: say(clean) }] }
  }
  if (clean.requests < scenario.requestsMin) {
    const why = `took ${clean.requests} requests, not its path of ${scenario.requestsMin}`
    return { ...none, failures: [{ point: undefined, why }] }
  }
  let points = 0
  for (let request = 1; request <= clean.requests; request += 1) {
    for (const how of clean.reads.has(request) ? ofReads : ofWrites) {
      const point = { request, how }
      const result = await runPoint(scenario, point, { rotation: points })
      points += 1
      if (result.violation !== undefined) failures.push({ point, why: say(result) })
    }
  }
  return { requests: clean.requests, reads: clean.reads.size, points, failures }
}

const none = { requests: 0, reads: 0, points: 0 }

function say({ violation }: Awaited<ReturnType<typeof runPoint>>): string {
  return `${violation?.rule}: ${violation?.explanation}`
}
