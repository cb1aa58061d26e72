import { createHash, createHmac } from 'node:crypto'

/** What the SDK's signer asks for, by Node's own. */
export class Sha256 {
  readonly #hash
  constructor(secret?: string | Uint8Array) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', secret)
  }
  update(data: string | Uint8Array) {
    this.#hash.update(data)
  }
  async digest(): Promise<Uint8Array> {
    return this.#hash.digest()
  }
  reset() {}
}
