import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Signer } from '../../../aws/signing.ts'
import { Sha256 } from './sha256.ts'

const text = fc.string({ minLength: 1, unit: 'grapheme-ascii' }).filter((one) => one.trim() === one)
const region = fc.constantFrom('us-east-1', 'eu-central-1', 'cn-north-1', 'us-gov-west-1')
const host = fc.constantFrom('dynamodb.eu-central-1.amazonaws.com', 'localhost:8001', '[::1]:80')
/** As an endpoint's path is: parts of it may be anything that a URL may have. */
const path = fc
  .array(fc.oneof(fc.webSegment(), fc.constantFrom('', '%20', "a(1)!*'", '~_-.')), { maxLength: 3 })
  .map((parts) => new URL(`http://x/${parts.join('/')}/`).pathname)
/** At any time, and within seconds of the end of a day. */
const aTime = fc.oneof(
  fc.date({ min: new Date('2020-01-01'), max: new Date('2099-01-01'), noInvalidDate: true }),
  fc.integer({ min: -2_000, max: 2_000 }).map((ms) => new Date(Date.UTC(2026, 11, 32) + ms)),
)
const request = fc.record({
  at: aTime,
  body: fc.string({ unit: 'grapheme' }),
  accessKeyId: text,
  secretAccessKey: fc.constantFrom('secret', 'another'),
  sessionToken: fc.constantFrom(undefined, '', 'token'),
})
type Request = typeof request extends fc.Arbitrary<infer One> ? One : never
type To = { readonly region: string; readonly host: string; readonly path: string }

/** The headers that the SDK's signer makes of ours. */
async function signedBySdk(to: To, { at, body, ...keys }: Request, headers: object) {
  const { sessionToken, ...withoutToken } = keys
  const signer = new SignatureV4({
    service: 'dynamodb',
    region: to.region,
    credentials: sessionToken ? { ...withoutToken, sessionToken } : withoutToken,
    sha256: Sha256 as never,
    applyChecksum: false,
  })
  const given = { method: 'POST', protocol: 'http:', hostname: 'x', path: to.path, headers, body }
  const signed = await signer.sign(given as never, { signingDate: at })
  return (signed as unknown as { headers: object }).headers
}

it('A signature is the one that the SDK makes, whatever was signed before with the same signer.', async () => {
  const to = fc.record({ region, host, path })
  await fc.assert(
    fc.asyncProperty(
      to,
      fc.array(request, { minLength: 1, maxLength: 6 }),
      async (to, requests) => {
        const signer = new Signer(to.region, to.host, to.path)
        for (const one of requests) {
          const ours = signer.headers('T.Op', one.body, one, one.at.getTime())
          const { authorization, 'content-length': length, 'user-agent': agent, ...signed } = ours
          expect(length).toBe(String(Buffer.byteLength(one.body)))
          expect(agent).toBe('pushpop')
          const { 'x-amz-date': _date, 'x-amz-security-token': _token, ...headers } = signed
          expect(headers.host).toBe(to.host)
          expect({ ...signed, authorization }).toEqual(await signedBySdk(to, one, headers))
        }
      },
    ),
    { numRuns: 300 },
  )
})
