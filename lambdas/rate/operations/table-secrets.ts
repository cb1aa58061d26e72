import { randomBytes } from 'node:crypto'
import type { Clock, Dynamo } from '../../foundation/dynamo.ts'
import { QueueError } from '../../foundation/errors.ts'
import { SECRET_BYTES, SECRETS_KEPT_MS } from '../core/bounds.ts'
import { secretKey } from '../core/keys.ts'
import { firstSecrets, secretsAt, type TicketSecrets } from '../core/secrets.ts'
import { decodeSecrets, encodeSecrets } from '../store/secret-item.ts'
import { attempts, done } from './attempts.ts'
import type { Secrets, SecretsReader } from './limiter.ts'

type Reading = { readonly startedMs: number; readonly secrets: Promise<TicketSecrets> }

/** One process's copy of the table's secrets, read when a ticket needs them, and again after a while. */
export class TableSecrets implements SecretsReader {
  readonly #dynamo: Dynamo
  readonly #clock: Clock
  readonly #former: readonly Uint8Array[]
  #reading: Reading | undefined

  constructor(dynamo: Dynamo, clock: Clock, former: readonly Uint8Array[]) {
    this.#dynamo = dynamo
    this.#clock = clock
    this.#former = former
  }

  async get(): Promise<Secrets> {
    const nowMs = this.#clock.nowMs()
    const known = this.#reading
    // If somebody has set the clock back, we must not keep them for ever.
    const isFresh = known !== undefined && Math.abs(nowMs - known.startedMs) <= SECRETS_KEPT_MS
    const { secrets } = isFresh ? known : this.#read(nowMs)
    return [...secretsAt(await secrets, this.#clock.nowMs()), ...this.#former]
  }

  #read(startedMs: number): Reading {
    const secrets = readOrMake(this.#dynamo)
    const reading = { startedMs, secrets }
    this.#reading = reading
    // If a read fails, all calls that wait for it fail. The next call reads again.
    secrets.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }
}

/** Only one process can make the row, so a second look finds it. */
const ATTEMPTS_MAX = 3

/**
 * The first process that needs a secret makes it. While idle, the row costs nothing, and a role that may read it may
 * change the limits anyway.
 */
const readOrMake = (dynamo: Dynamo): Promise<TicketSecrets> =>
  attempts<TicketSecrets>(
    ATTEMPTS_MAX,
    async () => {
      const found = decodeSecrets(await dynamo.get(secretKey, true))
      if (found !== undefined) return done(found)
      const made = firstSecrets(randomBytes(SECRET_BYTES))
      const written = await dynamo.put({
        Item: encodeSecrets(made),
        ConditionExpression: 'attribute_not_exists(pk)',
      })
      // Another process was first, or the answer was lost: use the secret that is there now.
      return written.kind === 'done' ? done(made) : { kind: 'again' }
    },
    outOfReach,
  )

export const outOfReach = (): QueueError =>
  new QueueError('STORE_UNAVAILABLE', 'The store is busy or out of reach; try again in a moment')
