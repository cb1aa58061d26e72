import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Network } from '../../../testing/simulated/simulated-client.ts'
import { Place } from './place.ts'
import { type OpenStore, openSimulated, openStore, type StoreName, storeNames } from './stores.ts'

/** Runs a table of cases against every store, and shows that the table can fail. */

export interface Case {
  /** A sentence that is true of DynamoDB (or S3). */
  readonly says: string
  /** Why a store is excused: it differs from what AWS documents. */
  readonly differs?: Partial<Record<StoreName, string>>
}

/** A simulated store broken on purpose, and the case that must notice. */
export interface Broken {
  readonly by: string
  readonly network: Network
  readonly noticedBy: string
}

export type Run<C extends Case> = (place: Place, one: C) => Promise<void>

export function conformance<C extends Case>(
  concept: string,
  cases: readonly C[],
  run: Run<C>,
  broken: readonly Broken[] = [],
): void {
  for (const name of storeNames) {
    describe(`${concept}, ${name}`, () => {
      let store: OpenStore | undefined
      beforeAll(async () => {
        store = await openStore(name)
      })
      afterAll(() => store?.close())

      for (const one of cases) {
        const reason = one.differs?.[name]
        if (reason !== undefined) {
          test.skip(`${one.says} (not here: ${reason})`)
          continue
        }
        test(one.says, async () => {
          if (store === undefined) throw new Error('The store has not opened')
          const place = new Place(store)
          try {
            await run(place, one)
          } finally {
            await place.clean()
          }
        })
      }
    })
  }

  test(`${concept}: no two cases say the same`, () => {
    const sentences = cases.map((one) => one.says)
    expect(sentences).toEqual([...new Set(sentences)])
  })

  for (const { by, network, noticedBy } of broken) {
    test(`${concept}: a store that ${by} is noticed`, async () => {
      const one = cases.find((candidate) => candidate.says === noticedBy)
      if (one === undefined) throw new Error(`No case says "${noticedBy}"`)
      await expect(run(new Place(openSimulated(network)), one)).rejects.toThrow()
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
