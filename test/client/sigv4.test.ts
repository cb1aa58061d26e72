// Held against AWS's published test suite and against AWS's own signer.

import { SignatureV4 } from '@smithy/signature-v4'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { authoriser, signedHeaders } from '../../client/auth.ts'
import { Sha256 } from '../aws/lean/sha256.ts'

const credentials = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
}

describe('the published request', () => {
  const vectors: [string, string, string, string][] = [
    ['get-vanilla', 'GET', '/', '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    [
      'post-vanilla',
      'POST',
      '/',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    [
      'get-vanilla-query-order-key-case',
      'GET',
      '/?Param2=value2&Param1=value1',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
  ]
  test.each(vectors)('%s gets the published signature', async (_, method, path, signature) => {
    const { authorization } = await signedHeaders({
      method,
      url: new URL(`https://example.amazonaws.com${path}`),
      headers: {},
      body: undefined,
      credentials,
      region: 'us-east-1',
      service: 'service',
      nowMs: Date.UTC(2015, 7, 30, 12, 36, 0),
    })
    expect(authorization).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    )
  })
})

test('AWS’s own signer comes to the same, whatever is signed', async () => {
  const header = fc.string({ unit: fc.constantFrom('a', 'B', ' ', ';', '7'), minLength: 1 })
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT'),
    segments: fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { maxLength: 3 }),
    query: fc.dictionary(
      fc.string({ minLength: 1, unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
    ),
    key: header.filter((it) => it.trim() !== ''),
    body: fc.option(fc.string({ unit: 'grapheme' }), { nil: undefined }),
    sessionToken: fc.option(fc.constant('TOKEN=='), { nil: undefined }),
    nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  })
  await fc.assert(
    fc.asyncProperty(
      request,
      async ({ method, segments, query, key, body, sessionToken, nowMs }) => {
        const path = segments.filter((it) => it !== '.' && it !== '..').map(encodeURIComponent)
        const url = new URL(`https://abc.execute-api.eu-west-1.amazonaws.com/${path.join('/')}`)
        for (const [name, value] of Object.entries(query)) {
          // Behind a letter of ours: AWS's signer leaves out `x-amz-signature` and `__proto__`.
          url.searchParams.set(`n${name}`, value)
        }
        const headers = { 'content-type': 'application/json', 'idempotency-key': key }
        const identity = { ...credentials, ...(sessionToken !== undefined && { sessionToken }) }
        const ours = await signedHeaders({
          method,
          url,
          headers,
          body,
          credentials: identity,
          region: 'eu-west-1',
          nowMs,
        })
        const signer = new SignatureV4({
          service: 'execute-api',
          region: 'eu-west-1',
          credentials: identity,
          sha256: Sha256 as never,
          applyChecksum: false,
        })
        const theirs = (await signer.sign(
          {
            method,
            protocol: 'https:',
            hostname: url.hostname,
            path: url.pathname,
            query: Object.fromEntries(url.searchParams),
            headers: { ...headers, host: url.host },
            body,
          } as never,
          { signingDate: new Date(nowMs) },
        )) as unknown as { headers: Record<string, string> }
        expect(ours.authorization).toBe(theirs.headers.authorization)
        expect(ours['x-amz-date']).toBe(theirs.headers['x-amz-date'])
      },
    ),
    { numRuns: 300 },
  )
})

describe('the region', () => {
  const sign = async (url: string, region?: string) => {
    const auth = { kind: 'iam', credentials, ...(region !== undefined && { region }) } as const
    const authorise = authoriser(auth, new URL(url), () => 0)
    const request = { method: 'GET', url: new URL(url), headers: {}, body: undefined }
    return (await authorise(request)).authorization
  }

  test.each([
    ['https://abc.execute-api.eu-west-1.amazonaws.com', 'eu-west-1'],
    ['https://abc.execute-api.cn-north-1.amazonaws.com.cn/x', 'cn-north-1'],
  ])('is in the name %s', async (url, region) => {
    expect(await sign(url)).toContain(`/${region}/execute-api/`)
  })

  test('is asked for if the name does not tell it', async () => {
    await expect(sign('https://queue.example.com')).rejects.toThrow('give auth.region')
    expect(await sign('https://queue.example.com', 'eu-west-1')).toContain('/eu-west-1/')
  })
})
