import { createHash, createHmac } from 'node:crypto'
import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Signer } from '../../../lambdas/foundation/lean/signature.ts'

/** As the SDK takes it. */
class Sha256 {
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

const text = fc.string({ minLength: 1, unit: 'grapheme-ascii' }).filter((one) => one.trim() === one)
const aTime = fc.date({
  min: new Date('2020-01-01'),
  max: new Date('2099-01-01'),
  noInvalidDate: true,
})

it('A signature is the one that the SDK makes, whatever was signed before with the same signer.', async () => {
  const signers = new Map<string, Signer>()
  const signerFor = (region: string, host: string, path: string): Signer => {
    const known = signers.get(region) ?? new Signer(region, host, path)
    signers.set(region, known)
    return known
  }
  const [host, path] = ['localhost:8001', '/some where/%20/']
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('us-east-1', 'eu-central-1'),
      fc.constantFrom('secret', 'another'),
      fc.option(fc.constantFrom('token'), { nil: undefined }),
      aTime,
      fc.string({ unit: 'grapheme' }),
      text,
      async (region, secretAccessKey, sessionToken, at, body, accessKeyId) => {
        const credentials = { accessKeyId, secretAccessKey, sessionToken }
        const ours = signerFor(region, host, path).headers('T.Op', body, credentials, at.getTime())
        const { authorization, 'content-length': length, 'user-agent': agent, ...signed } = ours
        expect(length).toBe(String(Buffer.byteLength(body)))
        expect(agent).toBe('pushpop')
        const { 'x-amz-date': _date, 'x-amz-security-token': _token, ...headers } = signed
        const theirs = await new SignatureV4({
          service: 'dynamodb',
          region,
          credentials:
            sessionToken === undefined
              ? { accessKeyId, secretAccessKey }
              : { accessKeyId, secretAccessKey, sessionToken },
          sha256: Sha256 as never,
          applyChecksum: false,
        }).sign(
          {
            method: 'POST',
            protocol: 'http:',
            hostname: 'localhost',
            path,
            headers,
            body,
          } as never,
          { signingDate: at },
        )
        expect({ ...signed, authorization }).toEqual(
          (theirs as unknown as { headers: object }).headers,
        )
      },
    ),
  )
})
