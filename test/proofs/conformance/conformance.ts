import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Network } from '../../../testing/simulated/network.ts'
import { excuseOf } from './excuses.ts'
import { outcomeOf, Place } from './place.ts'
import { type OpenStore, openSimulated, openStore, type StoreName, storeNames } from './stores.ts'

/** Runs a table of cases against every store, and shows that the table can fail. */

export interface Case {
  /** A sentence that is true of DynamoDB (or S3). */
  readonly says: string
  readonly check: Check
  readonly differs?: Differs | undefined
}

export type Check = (place: Place) => Promise<void>

/** Why a store is excused: it differs from what AWS documents. */
export type Differs = Partial<Record<StoreName, string>>

export const check = (says: string, check: Check, differs?: Differs): Case => ({
  says,
  check,
  differs,
})

/** The request ends with this error, or with `ok`. */
export const ends =
  (outcome: string) =>
  (says: string, request: (place: Place) => Promise<unknown>, differs?: Differs): Case =>
    check(says, async (place) => expect(await outcomeOf(request(place))).toBe(outcome), differs)

export const accepts = ends('ok')
export const refuses = ends('ValidationException')

/** A simulated store broken on purpose, and the case that must notice. */
export interface Broken {
  readonly by: string
  readonly network: Network
  readonly noticedBy: string
}

export function conformance(
  concept: string,
  cases: readonly Case[],
  broken: readonly Broken[] = [],
): void {
  for (const name of storeNames) {
    describe(`${concept}, ${name}`, () => {
      let store: OpenStore | undefined
      beforeAll(async () => {
        store = await openStore(name)
      })
      afterAll(() => store?.close())

      for (const { says, check, differs } of cases) {
        // A store differs by whatever client one reaches it.
        const reason = differs?.[name.replace(', lean', '') as StoreName]
        if (reason !== undefined) {
          test.skip(`${says} (not here: ${reason})`)
          continue
        }
        const run = async () => {
          if (store === undefined) throw new Error('The store has not opened')
          const place = new Place(store)
          try {
            await check(place)
          } finally {
            await place.clean()
          }
        }
        const excuse = excuseOf(says)
        if (excuse === undefined) test(says, run)
        else test.fails(`${says} (not here: ${excuse})`, run)
      }
    })
  }

  test(`${concept}: no two cases say the same`, () => {
    const sentences = cases.map(({ says }) => says)
    expect(sentences).toEqual([...new Set(sentences)])
  })

  for (const { by, network, noticedBy } of broken) {
    test(`${concept}: a store that ${by} is noticed`, async () => {
      const noticing = cases.find(({ says }) => says === noticedBy)
      if (noticing === undefined) throw new Error(`No case says "${noticedBy}"`)
      await expect(noticing.check(new Place(openSimulated(network)))).rejects.toThrow()
    })
  }
}

/** A network that changes requests on their way, for breaking a store on purpose. */
export function tampering(tamper: (input: Record<string, unknown>) => void): Network {
  return {
    async deliver(request, apply) {
      tamper(request.input as Record<string, unknown>)
      return apply()
    },
  }
}
