import { checkSecret } from '../core/secrets.ts'
import type { Secrets, SecretsReader } from './limiter.ts'

/** Where the secret that signs tickets comes from. We ask for it when the first ticket needs it. */
export type SecretSource = Uint8Array | (() => Promise<Uint8Array>)

/** The caller's secret: each process asks for it once, when the first ticket needs it. */
export class GivenSecrets implements SecretsReader {
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
    // All calls that wait for this read fail with it; the next call reads again.
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
