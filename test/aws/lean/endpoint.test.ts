import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { describe, expect, it } from 'vitest'
import { createLeanDynamodb } from '../../../aws/lean-client.ts'
import { endpointOf } from '../../../aws/signing.ts'
import { setEnvironment } from '../../support/environment.ts'

/** Of every partition, and some that there are not yet. */
const regions = [
  'us-east-1',
  'us-west-2',
  'eu-central-1',
  'ap-southeast-5',
  'mx-central-1',
  'me-south-1',
  'il-central-1',
  'us-gov-west-1',
  'us-gov-east-1',
  'us-gov-south-9',
  'cn-north-1',
  'cn-northwest-1',
  'eusc-de-east-1',
  'us-iso-east-1',
  'us-isob-east-1',
  'eu-isoe-west-1',
  'us-isof-south-1',
  'xx-nowhere-1',
]

describe('DynamoDB', () => {
  const client = new DynamoDBClient({ region: 'us-east-1' })
  const sdk = (parameters: object): string =>
    client.config.endpointProvider(parameters as never, {}).url.href

  it.each(regions)('is where the SDK says it is: %s.', (region) => {
    for (const fips of [false, true]) {
      for (const dualStack of [false, true]) {
        const ours = endpointOf(region, {
          AWS_USE_FIPS_ENDPOINT: String(fips),
          ...(dualStack && { AWS_USE_DUALSTACK_ENDPOINT: 'true' }),
        })
        const theirs = sdk({ Region: region, UseFIPS: fips, UseDualStack: dualStack })
        expect([fips, dualStack, ours.url.href]).toEqual([fips, dualStack, theirs])
        expect(ours.region).toBe(region)
      }
    }
  })

  it.each([
    [
      'for DynamoDB alone',
      { AWS_ENDPOINT_URL_DYNAMODB: 'http://a', AWS_ENDPOINT_URL: 'http://b' },
      'http://a/',
    ],
    ['for every service', { AWS_ENDPOINT_URL: 'http://b:1/c' }, 'http://b:1/c'],
    [
      'and is ignored if that is said',
      { AWS_ENDPOINT_URL: 'http://b', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      'https://dynamodb.us-east-1.amazonaws.com/',
    ],
    [
      'and is ignored where it is empty',
      { AWS_ENDPOINT_URL: '' },
      'https://dynamodb.us-east-1.amazonaws.com/',
    ],
  ] as const)('is where the environment says, %s.', (_, environment, endpoint) => {
    expect(endpointOf('us-east-1', environment).url.href).toBe(endpoint)
  })

  it.each([
    ['an endpoint and FIPS', { AWS_ENDPOINT_URL: 'http://b', AWS_USE_FIPS_ENDPOINT: 'true' }],
    [
      'an endpoint and dual-stack',
      { AWS_ENDPOINT_URL: 'http://b', AWS_USE_DUALSTACK_ENDPOINT: 'true' },
    ],
    ['neither true nor false', { AWS_USE_FIPS_ENDPOINT: 'yes' }],
    ['endpoints of accounts alone', { AWS_ACCOUNT_ID_ENDPOINT_MODE: 'required' }],
  ] as const)('is nowhere if the environment says what cannot be: %s.', (_, environment) => {
    expect(() => endpointOf('us-east-1', environment)).toThrow('Cannot tell where DynamoDB is')
  })

  it('is on this machine, signed for the region that the SDK signs for, where the region is "local".', () => {
    const client = new DynamoDBClient({ region: 'local' })
    const { url, properties } = client.config.endpointProvider({ Region: 'local' } as never, {})
    const [scheme] = (properties?.authSchemes ?? []) as { signingRegion: string }[]
    expect(endpointOf('local', {})).toEqual({ url, region: scheme?.signingRegion })
    // With an endpoint it is a region like any other, and so it is for the SDK.
    expect(endpointOf('local', {}, 'http://localhost:1/').region).toBe('local')
  })

  it.each(['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT'])(
    'is not on this machine with %s, here and by the SDK.',
    (name) => {
      expect(() => endpointOf('local', { [name]: 'true' })).toThrow('"local"')
      const parameters = name.includes('FIPS') ? { UseFIPS: true } : { UseDualStack: true }
      expect(() => sdk({ Region: 'local', ...parameters })).toThrow('local')
    },
  )

  it.each(['us-east-1-fips', 'fips-us-gov-west-1', 'fips-eu-central-1'])(
    'has its FIPS endpoint for %s, as the SDK has it, and its real region signs.',
    async (named) => {
      const { config } = new DynamoDBClient({ region: named })
      const [region, fips] = [await config.region(), await config.useFipsEndpoint()]
      const { url, region: ours } = endpointOf(named, {})
      expect(fips).toBe(true)
      expect([url.href, ours]).toEqual([sdk({ Region: region, UseFIPS: fips }), region])
    },
  )

  it.each(['localhost:8000', 'ftp://x', 'http://', '', '/path'])(
    'is nowhere if the endpoint is no URL of http: "%s".',
    (endpoint) => {
      expect(() => createLeanDynamodb({ region: 'us-east-1', endpoint })).toThrow(
        `the endpoint "${endpoint}" is no URL such as`,
      )
    },
  )

  it('is nowhere if the environment’s endpoint is no URL of http.', () => {
    const environment = { AWS_ENDPOINT_URL_DYNAMODB: 'localhost:8000' }
    expect(() => endpointOf('us-east-1', environment)).toThrow('the endpoint "localhost:8000"')
  })

  it('is not where the option says if the environment asks for FIPS, because one of the two is wrong.', () => {
    setEnvironment({ AWS_USE_FIPS_ENDPOINT: 'true' })
    const endpoint = 'https://dynamodb.us-east-1.amazonaws.com'
    expect(() => createLeanDynamodb({ region: 'us-east-1', endpoint })).toThrow('FIPS')
  })

  it('is not reached by an option that is misspelt, which would send to AWS itself.', () => {
    const options = { region: 'us-east-1', endPoint: 'http://localhost:8000' }
    expect(() => createLeanDynamodb(options as never)).toThrow(
      'Unknown option "endPoint": it is endpoint',
    )
    expect(() => createLeanDynamodb({ maxAttempts: 1 } as never)).toThrow('Unknown option')
  })

  it('is in no region that would be another host.', () => {
    expect(() => endpointOf('evil.example/', {})).toThrow('no region')
  })
})
