import { randomBytes } from 'node:crypto'
import { QueueError } from '../../core/errors.ts'
import type { Dynamo } from '../../store/dynamo.ts'
import { SECRET_BYTES } from '../core/bounds.ts'
import { secretKey } from '../core/keys.ts'
import { checkSecret } from '../core/ticket.ts'
import { decodeSecret, encodeSecret } from '../store/secret-item.ts'

/** Where the secret that signs tickets comes from; it is asked for when a first ticket needs it. */
export type SecretSource = Uint8Array | (() => Promise<Uint8Array>)

/** The one that signs, and after it those that may have signed. */
export type Secrets = readonly [Uint8Array, ...Uint8Array[]]

/** Read once by each process, by whoever needs them first. */
export class SecretsReader {
  readonly #source: SecretSource
  readonly #former: readonly Uint8Array[]
  #reading: Promise<Secrets> | undefined

  constructor(source: SecretSource, former: readonly Uint8Array[]) {
    this.#source = source
    this.#former = former
    for (const each of typeof source === 'function' ? former : [source, ...former]) {
      checkSecret(each)
    }
  }

  get(): Promise<Secrets> {
    if (this.#reading !== undefined) return this.#reading
    const reading = this.#read()
    this.#reading = reading
    // What failed is told to those who wait for it, and read again by the next.
    reading.catch(() => {
      if (this.#reading === reading) this.#reading = undefined
    })
    return reading
  }

  async #read(): Promise<Secrets> {
    const source = this.#source
    const secret = typeof source === 'function' ? await source() : source
    checkSecret(secret)
    return [secret, ...this.#former]
  }
}

/** Nobody makes another while one is there, so a second look finds the winner's. */
const ATTEMPTS_MAX = 3

/**
 * The table's own secret, made by whoever needs it first: a row costs nothing while nothing happens,
 * and who may read it may write the limits themselves.
 */
export async function tableSecret(dynamo: Dynamo): Promise<Uint8Array> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const found = decodeSecret(await dynamo.get(secretKey, true))
    if (found !== undefined) return found
    const secret = randomBytes(SECRET_BYTES)
    const written = await dynamo.put({
      Item: encodeSecret(secret),
      ConditionExpression: 'attribute_not_exists(pk)',
    })
    if (written.kind === 'done') return secret
    // Another was first, or the answer was lost: whichever is there now is everybody's.
  }
  throw new QueueError(
    'STORE_UNAVAILABLE',
    'The store is busy or out of reach; try again in a moment',
  )
}
