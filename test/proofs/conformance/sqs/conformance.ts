import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { excuseOf } from '../excuses.ts'
import { outcomeOf, Place } from './a-queue.ts'
import { openService, type Service, serviceNames } from './services.ts'

/** Runs a table of cases against every service. Each says a sentence that is true of SQS. */

export type Case = { readonly says: string; readonly check: (place: Place) => Promise<void> }

export const check = (says: string, check: Case['check']): Case => ({ says, check })

/** The request ends with this code, or with `ok`. */
export const ends = (
  outcome: string,
  says: string,
  request: (place: Place) => Promise<unknown>,
): Case => check(says, async (place) => expect(await outcomeOf(request(place))).toBe(outcome))

/** On any but the local SQS, a case waits for real seconds. */
const CASE_MS_MAX = 400_000

export function conformance(concept: string, cases: readonly Case[]): void {
  for (const name of serviceNames) {
    // Those of others wait for real seconds; each case has queues of its own.
    const group = name === 'local' ? describe : describe.concurrent
    group(`${concept}, ${name}`, () => {
      let service: Service | undefined
      beforeAll(async () => {
        service = await openService(name)
      })
      afterAll(() => service?.close())

      for (const { says, check } of cases) {
        const run = async () => {
          if (service === undefined) throw new Error('The service has not opened')
          const place = new Place(service)
          try {
            await check(place)
          } finally {
            await place.clean()
          }
        }
        const excuse = excuseOf(says)
        if (excuse === undefined) test(says, run, CASE_MS_MAX)
        else test.fails(`${says} (not here: ${excuse})`, run, CASE_MS_MAX)
      }
    })
  }

  test(`${concept}: no two cases say the same`, () => {
    const sentences = cases.map(({ says }) => says)
    expect(sentences).toEqual([...new Set(sentences)])
  })
}
